"""Index, manifest and config become plain facts, or say what is wrong with them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.sources._registry_client import BadEntry
from jobs.sources._registry_images import (
    CONFIG_TYPES,
    IMAGE_TYPES,
    INDEX_TYPES,
    Manifest,
    Part,
    choose_part,
    read_config,
    read_manifest,
)

A, B = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)
KEYS = st.sampled_from(
    ["schemaVersion", "mediaType", "manifests", "config", "layers", "os", "architecture", "created", "Env", "Labels"]
)


def encode(document: object) -> bytes:
    return json.dumps(document).encode()


def entry(digest: str, platform: str, **more: object) -> dict[str, Any]:
    system, processor, *variant = platform.split("/")
    place = {"os": system, "architecture": processor, **({"variant": variant[0]} if variant else {})}
    return {"digest": digest, "platform": place, **more}


def image(**more: object) -> dict[str, Any]:
    config = {"mediaType": sorted(CONFIG_TYPES)[0], "digest": A, "size": 10}
    return {"schemaVersion": 2, "config": config, "layers": [{"size": 5}, {"size": 7}], **more}


def config(env: list[str] | None = None, labels: dict[str, str] | None = None, **more: object) -> bytes:
    return encode({"os": "linux", "architecture": "amd64", "config": {"Env": env, "Labels": labels}, **more})


@pytest.mark.parametrize("kind", [None, *INDEX_TYPES])
def test_an_index_gives_its_platforms_without_attestations(kind: str | None):
    parts = [entry(A, "linux/amd64"), entry(B, "linux/arm64/v8"), entry(B, "unknown/unknown"), {"digest": B}]
    document = {"schemaVersion": 2, "manifests": parts, **({"mediaType": kind} if kind else {})}
    assert read_manifest(encode(document)) == (
        Part(digest=A, platform="linux/amd64"),
        Part(digest=B, platform="linux/arm64"),
    )


@pytest.mark.parametrize("kind", [None, *IMAGE_TYPES])
def test_a_manifest_gives_its_config_and_its_size(kind: str | None):
    document = image(**({"mediaType": kind} if kind else {}))
    assert read_manifest(encode(document)) == Manifest(config_digest=A, size_bytes=22)


def test_a_platform_is_found_in_its_plain_form_first():
    parts = (Part(digest=A, platform="linux/arm/v7"), Part(digest=B, platform="linux/arm"))
    assert choose_part(parts, "linux/arm") == parts[1]
    assert choose_part(parts, "linux/arm/v7") == parts[0]
    assert choose_part(parts, "linux/amd64") is None


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"schemaVersion": 1, "fsLayers": []}, "schema 1"),
        ({}, "neither an index nor an image"),
        ({**image(), "manifests": []}, "neither an index nor an image"),
        (image(mediaType=INDEX_TYPES[0]), "neither an index nor an image"),
        ({"manifests": [entry(A, "linux/amd64")], "mediaType": IMAGE_TYPES[0]}, "neither an index nor an image"),
        ({"manifests": []}, "names no image with a platform"),
        ({"manifests": {}}, "lists nothing"),
        ({"manifests": [{"digest": "md5:1"}]}, "without a sha256 digest"),
        ({"manifests": ["text"]}, "without a sha256 digest"),
        (
            image(config={"mediaType": "application/vnd.cncf.helm.config.v1+json"}),
            "not a container image: its config is",
        ),
        (image(config={"mediaType": sorted(CONFIG_TYPES)[0], "digest": "sha256:12"}), "no config with a sha256"),
        (image(layers=3), "or no layers"),
        ([], "not a JSON object"),
        ("text", "not a JSON object"),
    ],
)
def test_what_is_no_image_says_so(document: object, told: str):
    with pytest.raises(BadEntry, match=told):
        read_manifest(encode(document))


@pytest.mark.parametrize("body", [b"", b"<html>", b"[" * 100_000, b"\xff\xfe"])
def test_what_is_no_json_says_so(body: bytes):
    with pytest.raises(BadEntry, match="is not JSON"):
        read_manifest(body)
    with pytest.raises(BadEntry, match="is not JSON"):
        read_config(body)


def test_versions_and_origin_are_kept_and_nothing_that_may_be_secret():
    env = ["CUDA_VERSION=13.0.1", "PATH=/bin", "API_TOKEN=hush", "KEY_VERSION=not a version", "EMPTY_VERSION="]
    labels = {"org.opencontainers.image.revision": "0a1b2c3", "password": "hush"}
    found = read_config(config(env, labels))
    assert dict(found.facts) == {"CUDA_VERSION": "13.0.1", "org.opencontainers.image.revision": "0a1b2c3"}


def test_software_inside_is_named_by_its_component():
    env = ["TRT_LLM_VERSION=1.3.0rc4", "TRT_VERSION=10.14.1.48", "NVIDIA_TENSORRT_VERSION=26.07", "CUDA_VERSION=13.0.1"]
    assert dict(read_config(config(env)).contains) == {
        "tensorrt-llm": "1.3.0rc4",
        "tensorrt": "10.14.1.48",
        "tensorrt-container": "26.07",
        "cuda": "13.0.1",
    }


def test_a_variable_counts_more_than_a_label():
    labels = {"com.nvidia.cuda.version": "12.0", "com.nvidia.nccl.version": "2.30.1"}
    assert dict(read_config(config(["CUDA_VERSION=13.0"], labels)).contains) == {"cuda": "13.0", "nccl": "2.30.1"}


@pytest.mark.parametrize(
    ("created", "label", "expected"),
    [
        ("2026-01-02T03:04:05.123456789Z", None, datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)),
        ("2026-01-02T03:04:05+02:00", None, datetime(2026, 1, 2, 1, 4, 5, tzinfo=UTC)),
        ("1970-01-01T00:00:00Z", None, None),
        ("0001-01-01T00:00:00Z", "2026-03-04T00:00:00Z", datetime(2026, 3, 4, tzinfo=UTC)),
        ("2026-01-02T03:04:05", None, None),
        ("0001-01-01T00:00:00+14:00", None, None),
        ("yesterday", None, None),
        (17, None, None),
    ],
)
def test_a_time_of_creation_is_believed_where_it_can_be(created: object, label: str | None, expected: datetime | None):
    labels = {"org.opencontainers.image.created": label} if label else None
    assert read_config(config(labels=labels, created=created)).created_at == expected


@given(st.dictionaries(KEYS, ANYTHING, max_size=6) | ANYTHING)
def test_no_document_does_worse_than_to_be_refused(document: object):
    for read in (read_manifest, read_config):
        try:
            read(encode(document))
        except BadEntry:
            continue


@given(ANYTHING, ANYTHING)
def test_no_settings_of_an_image_are_too_odd(env: object, labels: object):
    body = encode({"os": "linux", "architecture": "amd64", "config": {"Env": env, "Labels": labels}})
    assert read_config(body).platform == "linux/amd64"
