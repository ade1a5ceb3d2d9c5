"""Reading what a registry keeps of an image: index, manifest and config, into plain facts. No I/O.

An OCI document and the Docker one it came from are read alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from jobs.characters import find_unstorable
from jobs.sources._registry_client import BadEntry

INDEX_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
IMAGE_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
CONFIG_TYPES = frozenset({"application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"})
EARLIEST_YEAR = 2013
"""Before there were such images: a date below was set by hand, so that the same image can be built again."""
LONGEST_FACT = 200
MOST_FACTS = 60
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_VERSION_NAME = re.compile(r"[A-Z][A-Z0-9_]*_(?:VERSION|VER)")
_VERSION = re.compile(r"v?[0-9][A-Za-z0-9.+~_-]*")
_LABELS = ("org.opencontainers.image.version", "org.opencontainers.image.revision", "org.opencontainers.image.source")

# What an image's variables call the software inside. NVIDIA's `NVIDIA_X_VERSION` is the container's own year.month.
VARIABLES = {
    "TRT_LLM_VERSION": "tensorrt-llm",
    "TENSORRT_LLM_VERSION": "tensorrt-llm",
    "TENSORRT_VERSION": "tensorrt",
    "TRT_VERSION": "tensorrt",
    "TRITON_SERVER_VERSION": "triton",
    "VLLM_VERSION": "vllm",
    "SGLANG_VERSION": "sglang",
    "SGL_VERSION": "sglang",
    "PYTORCH_VERSION": "pytorch",
    "CUDA_VERSION": "cuda",
    "CUDNN_VERSION": "cudnn",
    "NCCL_VERSION": "nccl",
    "CUBLAS_VERSION": "cublas",
    "NVIDIA_TENSORRT_VERSION": "tensorrt-container",
    "NVIDIA_TRITON_SERVER_VERSION": "triton-container",
    "NVIDIA_PYTORCH_VERSION": "pytorch-container",
}
_LABEL_OF = re.compile(r"com\.nvidia\.(tensorrt-llm|tensorrt|cuda|cudnn|nccl|cublas)\.version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One entry of an index: the image of one platform."""

    digest: str
    platform: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One image: where its config is, and how much is pulled."""

    config_digest: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What an image says of itself."""

    platform: str
    created_at: datetime | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    """Versions by the name of their variable, and labels: what it was built from."""
    contains: Mapping[str, str] = field(default_factory=dict)
    """Component -> its version, for software inside that the image names."""


def read_manifest(body: bytes) -> tuple[Part, ...] | Manifest:
    """Return the parts of an index, or the one image of a manifest; BadEntry for anything else."""
    document = _read_object(body, "its manifest")
    if document.get("schemaVersion") == 1:
        raise BadEntry("an image in the format of 2014 (schema 1), which has no config")
    has_parts, has_layers = "manifests" in document, "config" in document or "layers" in document
    kind = document.get("mediaType")
    if has_parts == has_layers or (kind is not None and kind not in (INDEX_TYPES if has_parts else IMAGE_TYPES)):
        raise BadEntry("its manifest is neither an index nor an image")
    return _read_index(document) if has_parts else _read_image(document)


def choose_part(parts: tuple[Part, ...], platform: str) -> Part | None:
    """Return the part of a platform; `linux/arm64` means any variant of it, the plain one first."""
    fitting = [part for part in parts if part.platform == platform or part.platform.startswith(f"{platform}/")]
    return min(fitting, key=lambda part: len(part.platform), default=None)


def read_config(body: bytes) -> Config:
    """Return what an image's config says; BadEntry where it is none."""
    document = _read_object(body, "its config")
    settings = document.get("config")
    settings = settings if isinstance(settings, dict) else {}
    variables = _read_variables(settings.get("Env"))
    labels = _texts(settings.get("Labels"))
    created = labels.get("org.opencontainers.image.created", "")
    return Config(
        platform=_platform_of(document),
        created_at=_read_time(document.get("created")) or _read_time(created),
        facts=_choose_facts(variables, labels),
        contains=_find_inside(variables, labels),
    )


def _read_index(document: Mapping[str, Any]) -> tuple[Part, ...]:
    """Return the images of an index; attestations and signatures stored beside them are none."""
    entries = document["manifests"]
    if not isinstance(entries, list):
        raise BadEntry("its index lists nothing")
    parts = []
    for entry in entries:
        digest, platform = (entry.get("digest"), entry.get("platform")) if isinstance(entry, dict) else (None, None)
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise BadEntry("its index has an entry without a sha256 digest")
        name = _platform_of(platform if isinstance(platform, dict) else {})
        if "unknown" not in name:
            parts.append(Part(digest=digest, platform=name))
    if not parts:
        raise BadEntry("its index names no image with a platform")
    return tuple(parts)


def _read_image(document: Mapping[str, Any]) -> Manifest:
    config, layers = document.get("config"), document.get("layers")
    config = config if isinstance(config, dict) else {}
    digest, kind = config.get("digest"), config.get("mediaType")
    if kind not in CONFIG_TYPES:
        raise BadEntry(f"not a container image: its config is {_short(str(kind))}")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest) or not isinstance(layers, list):
        raise BadEntry("its manifest has no config with a sha256 digest, or no layers")
    sizes = [part.get("size") for part in (config, *layers) if isinstance(part, dict)]
    known = [size for size in sizes if isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**53]
    return Manifest(config_digest=digest, size_bytes=min(sum(known), 2**53))


def _read_object(body: bytes, what: str) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise BadEntry(f"{what} is not JSON") from None
    if not isinstance(document, dict):
        raise BadEntry(f"{what} is not a JSON object")
    return document


def _platform_of(document: Mapping[str, Any]) -> str:
    """Return `os/architecture[/variant]`, with `unknown` for what is not said."""
    names = [document.get("os"), document.get("architecture"), document.get("variant")]
    texts = [name if isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_.-]{1,40}", name) else None for name in names]
    system, processor, variant = texts
    plain = f"{system or 'unknown'}/{processor or 'unknown'}"
    return f"{plain}/{variant}" if variant and not (processor == "arm64" and variant == "v8") else plain


def _read_variables(value: object) -> dict[str, str]:
    """Return the environment of an image."""
    lines = value if isinstance(value, list) else []
    pairs = (line.partition("=") for line in lines if isinstance(line, str))
    return {name: text for name, equals, text in pairs if equals}


def _texts(value: object) -> dict[str, str]:
    return {k: v for k, v in value.items() if isinstance(v, str)} if isinstance(value, dict) else {}


def _choose_facts(variables: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, str]:
    """Return what helps to tell two images apart: only versions and origins, since variables may hold secrets."""
    versions = {name: text for name, text in variables.items() if _VERSION_NAME.fullmatch(name)}
    facts = {name: text for name, text in versions.items() if _is_version(text)}
    facts |= {name: labels[name] for name in _LABELS if labels.get(name)}
    facts |= {name: text for name, text in labels.items() if _LABEL_OF.fullmatch(name) and _is_version(text)}
    kept = {name: text for name, text in sorted(facts.items()) if len(name) + len(text) <= LONGEST_FACT}
    return dict([(k, v) for k, v in kept.items() if not find_unstorable([k, v])][:MOST_FACTS])


def _find_inside(variables: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, str]:
    """Return component -> version; a variable counts more than a label, the first of several names most."""
    found: dict[str, str] = {}
    for name, component in VARIABLES.items():
        if _is_version(variables.get(name, "")):
            found.setdefault(component, variables[name])
    for name, text in sorted(labels.items()):
        if (match := _LABEL_OF.fullmatch(name)) and _is_version(text):
            found.setdefault(match[1], text)
    return found


def _is_version(text: str) -> bool:
    return len(text) <= 80 and _VERSION.fullmatch(text) is not None


def _read_time(value: object) -> datetime | None:
    """Return a time with its zone; None for none, and for one that stands for "no time"."""
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
        if time is None or time.tzinfo is None:
            return None
        time = time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return time if time.year >= EARLIEST_YEAR else None


def _short(text: str) -> str:
    plain = "".join(c if c.isprintable() else "?" for c in text)
    return plain if len(plain) <= 60 else f"{plain[:57]}..."
