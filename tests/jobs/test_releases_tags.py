"""What one published name says."""

from __future__ import annotations

import pytest

from jobs.releases import Tag, Track, read_tag

DIGEST = "sha256:" + "9e" * 32
COMMIT = "94c0ef300180f8fd1071d9cbe7270a8348155f94"

PLACED = [
    # name, version, track, variants
    ("1.26.0", "1.26.0", "stable", []),
    ("1.0.0rc4", "1.0.0rc4", "rc", []),
    ("1.2.0rc2.post2", "1.2.0rc2.post2", "rc", []),
    ("0.5.0.post1", "0.5.0.post1", "post", []),
    ("0.19.0.dev2025040800", "0.19.0.dev2025040800", "dev", []),
    ("2.9.0.dev20250801+cu128", "2.9.0.dev20250801", "dev", ["cu128"]),
    ("0.10.1.1", "0.10.1.1", "stable", []),
    ("1.2.0a3", "1.2.0a3", "rc", []),
    ("1!2.0", "1!2.0", "stable", []),
    ("2.5.1+cu124", "2.5.1", "stable", ["cu124"]),
    ("2.8.0a0+5228986c39.nv25.06", "2.8.0a0", "rc", ["nv25.06"]),
    ("0.11.0rc2.dev34+gd4d93a3f1.cu129", "0.11.0rc2.dev34", "dev", ["cu129"]),
    # SemVer: a dash before a mark means before the release
    ("1.1.0-dev.2", "1.1.0.dev2", "dev", []),
    ("0.5.1-rc0.pre3", "0.5.1rc0", "rc", ["pre3"]),
    ("2.4.0-rc1+build5", "2.4.0rc1", "rc", ["build5"]),
    ("1.0.0-alpha", "1.0.0a0", "rc", []),
    ("1.0.0-beta.2", "1.0.0b2", "rc", []),
    ("1.0.0-b1", "1.0.0b1", "rc", []),
    ("1.2.0-SNAPSHOT", "1.2.0.dev0", "dev", []),
    ("0.7.3-dev-20250801", "0.7.3.dev20250801", "dev", []),
    ("1.2.0-1", "1.2.0.post1", "post", []),
    ("1.2.0-hotfix2", "1.2.0.post2", "post", []),
    # variants
    ("v0.20.1-cu130", "0.20.1", "stable", ["cu130"]),
    ("v0.5.10rc0-cu129-amd64", "0.5.10rc0", "rc", ["cu129", "amd64"]),
    ("v0.5.5.post3-rocm700-mi35x", "0.5.5.post3", "post", ["rocm700", "mi35x"]),
    ("1.3.0-dev.1-cuda13", "1.3.0.dev1", "dev", ["cuda13"]),
    ("v1.2.0-cuda13-rc1", "1.2.0rc1", "rc", ["cuda13"]),
    ("v0.9.2-x86_64", "0.9.2", "stable", ["x86_64"]),
    ("1.2.3-ubuntu-22.04-cuda-12.4", "1.2.3", "stable", ["ubuntu-22.04", "cuda-12.4"]),
    ("2.5.1-cuda12.4-cudnn9-runtime", "2.5.1", "stable", ["cuda12.4", "cudnn9", "runtime"]),
    ("v0.5.6-cann8.3.rc2-910b", "0.5.6", "stable", ["cann8.3.rc2", "910b"]),
    ("0.7.4-r36.4.0-cu128", "0.7.4", "stable", ["r36.4.0", "cu128"]),
    ("v0.5.7-b200", "0.5.7", "stable", ["b200"]),
    ("v0.5.7-a100", "0.5.7", "stable", ["a100"]),
    ("3.0.1-intel-xpu", "3.0.1", "stable", ["intel", "xpu"]),
    ("3.3.6-llamacpp", "3.3.6", "stable", ["llamacpp"]),
    ("0.5.0-vllm-0.9.1", "0.5.0", "stable", ["vllm-0.9.1"]),
    ("cpu-1.5", "1.5", "stable", ["cpu"]),
    ("86-1.5", "1.5", "stable", ["86"]),
    ("rocm6.3.1_mi300_py3.12_vllm_0.6.6", "0.6.6", "stable", ["rocm6.3.1", "mi300", "py3.12"]),
    # calendars
    ("26.02-py3-igpu", "26.02", "stable", ["py3", "igpu"]),
    ("25.01-trtllm-python-py3", "25.01", "stable", ["trtllm", "python", "py3"]),
    ("24.05-py3-sdk", "24.05", "stable", ["py3", "sdk"]),
    ("24.05-rc1-py3", "24.05rc1", "rc", ["py3"]),
    ("24.03.framework", "24.03", "stable", ["framework"]),
    ("r24.08", "24.08", "stable", []),
    ("2026.10", "2026.10", "stable", []),
    # what may stand around a version
    ("release-1.2", "1.2", "stable", []),
    ("V0.5.0", "0.5.0", "stable", []),
    ("1.2.0RC1", "1.2.0rc1", "rc", []),
    (f"v0.20.1@{DIGEST}", "0.20.1", "stable", []),
    (" 1.26.0\t", "1.26.0", "stable", []),
    ("vllm-openai-0.9.0", "0.9.0", "stable", []),
    ("server-cuda-b5000", "5000", "stable", ["server", "cuda"]),
    ("12", "12", "stable", []),
]  # fmt: skip

UNPLACED = [
    # name, version, track, variants, a word of the reason
    ("latest", None, "other", [], "moving"),
    ("LATEST", None, "other", [], "moving"),
    ("latest-cu12", None, "other", ["cu12"], "moving"),
    ("v0.9-latest", None, "other", [], "moving"),
    ("1.2.x", None, "other", [], "moving"),
    ("main", None, "other", [], "moving"),
    ("gpt-oss-dev", None, "dev", [], "moving"),
    ("dev-cu13", None, "dev", ["cu13"], "moving"),
    ("cuda12.4-devel", None, "other", ["cuda12.4", "devel"], "no version"),
    ("b200-cu129", None, "other", ["b200", "cu129"], "no version"),
    ("buildcache", None, "other", [], "no version"),
    ("pr-1234", None, "other", [], "no version"),
    ("deepseek-v4-blackwell", None, "other", [], "no version"),
    ("deepseekv4-cu130", None, "other", [], "no version"),
    ("glm5-hopper", None, "other", [], "no version"),
    ("minimax-m3-0618-x86_64-cu130", None, "other", [], "no version"),
    ("sha-abc1234", None, "other", [], "commit"),
    (COMMIT, None, "other", [], "commit"),
    ("minimax-m3-perf-arm64-13.0.1-7a67223", None, "other", [], "commit"),
    ("vllm-x86_64-cu13-0.25.1-7a33ba9", None, "other", ["x86_64", "cu13"], "not the release 0.25.1"),
    ("v0.5.10-a1b2c3d", None, "other", [], "not the release 0.5.10"),
    ("v1.2.0-rc1-5-gabcdef1", None, "other", [], "commit"),
    ("1.3.0-deepseek-v4-dev.1", "1.3.0.dev1", "dev", ["deepseek-v4"], "branch"),
    ("1.3.0-foo-rc1", "1.3.0rc1", "other", ["foo"], "branch"),
    ("v0.11.0-qwen3", "0.11.0", "other", ["qwen3"], "branch"),
    ("v0.10.1-gptoss", "0.10.1", "other", ["gptoss"], "branch"),
    ("v0.5.9-rocm720-mi35x-0813", None, "other", ["rocm720", "mi35x"], "month and day"),
    (f"nightly-{COMMIT}", None, "nightly", [], "commit"),
    ("nightly-dev-x86_64-cu13.0.1-426e59f", None, "nightly", ["x86_64", "cu13.0.1"], "commit"),
    ("nightly-aarch64", None, "nightly", ["aarch64"], "moving"),
    ("dev-nightly-0820", None, "nightly", [], "month and day"),
    ("sha256-" + "5a" * 32 + ".sig", None, "other", [], "signature"),
    ("sha256-" + "5a" * 32 + ".att", None, "other", [], "attestation"),
    ("sha256-" + "5a" * 32, None, "other", [], "digest"),
    ("1.2.0.sbom", None, "other", [], "attestation"),
    ("0820", None, "other", [], "no version"),
    ("1..2", None, "other", ["1", "2"], "no version"),
    ("café", None, "other", [], "not a tag name"),
    ("a/b", None, "other", [], "not a tag name"),
    ("١.٢.٣", None, "other", [], "not a tag name"),
    ("v1.0@", None, "other", [], "not a tag name"),
    ("x" * 129, None, "other", [], "not a tag name"),
    ("", None, "other", [], "not a tag name"),
]  # fmt: skip

DATED = [
    ("nightly-20250801", "20250801000000000", []),
    ("nightly-dev-cu13-20260610-f332e526", "20260610000000000", ["cu13"]),
    ("nightly_202605130853", "20260513085300000", []),
    ("nightly-2025-08-01", "20250801000000000", []),
    ("nightly-20250801T123000Z", "20250801123000000", []),
    ("20250801", "20250801000000000", []),
    ("20250801.2", "20250801000000002", []),
    ("main-20250801", "20250801000000000", []),
    ("v0.5.12-rocm720-mi35x-20260517", "20260517000000000", ["rocm720", "mi35x"]),
]


@pytest.mark.parametrize(("name", "version", "track", "variant"), PLACED)
def test_a_release_has_its_version_its_track_and_its_variants(
    name: str, version: str, track: str, variant: list[str]
) -> None:
    tag = read_tag(name)
    assert (tag.version, tag.track, list(tag.variant), tag.reason) == (version, track, variant, None)
    assert tag.sort_key is not None
    assert tag.sort_key.isdigit()


@pytest.mark.parametrize(("name", "version", "track", "variant", "reason"), UNPLACED)
def test_a_name_without_a_place_says_why(
    name: str, version: str | None, track: str, variant: list[str], reason: str
) -> None:
    tag = read_tag(name)
    assert (tag.version, tag.track, list(tag.variant)) == (version, track, variant)
    assert (tag.sort_key, tag.nightly_key) == (None, None)
    assert reason in (tag.reason or "")


@pytest.mark.parametrize(("name", "key", "variant"), DATED)
def test_a_dated_build_has_a_place_among_nightlies_only(name: str, key: str, variant: list[str]) -> None:
    tag = read_tag(name)
    assert (tag.nightly_key, tag.sort_key, tag.version, tag.track) == (key, None, None, Track.NIGHTLY)
    assert list(tag.variant) == variant


@pytest.mark.parametrize(
    "names",
    [
        ("v0.20.1", "0.20.1", "v0.20.1-cu130", f"v0.20.1@{DIGEST}", "0.20.1+cu130", "V0.20.1"),
        ("26.02-py3", "26.02-py3-igpu", "26.02", "r26.02"),
        ("1.0", "1.0.0", "1", "v1.0.0.0"),
        ("1.2.0-rc.1", "1.2.0rc1", "1.2.0.rc1", "1.2.0rc01"),
        ("nightly-20250801-cu128", "nightly-20250801", "20250801"),
        ("nightly-dev-arm64-cu13.0.1-426e59f", "nightly-dev-x86_64-cu13.0.1-426e59f"),
    ],
)
def test_variants_digests_and_spellings_of_one_release_share_its_identity(names: tuple[str, ...]) -> None:
    assert len({read_tag(name).identity for name in names}) == 1


@pytest.mark.parametrize("name", ["1.26.0", "26.02", "2026.10", "0.10.1.1", "1.3.0rc22.post1", "0.8.0.dev2024011601"])
def test_the_identity_of_a_plainly_spelled_release_is_its_name(name: str) -> None:
    assert read_tag(name).identity == name


@pytest.mark.parametrize("name", ["v0.20.1-cu130", "26.02-py3", "1.0", "nightly-20250801-1230", "4.0rc1", "b5000"])
def test_reading_an_identity_again_gives_the_same_identity(name: str) -> None:
    identity = read_tag(name).identity
    assert read_tag(identity).identity == identity


def test_the_components_own_name_may_stand_before_the_version() -> None:
    assert read_tag("tensorrt-llm-1.0.0", "tensorrt-llm").version == "1.0.0"
    assert read_tag("tensorrt_llm-1.0.0", "tensorrt-llm").version == "1.0.0"
    assert read_tag("tensorrt-llm-1.0.0").version is None


def test_a_tag_cannot_have_both_a_place_and_a_reason_for_having_none() -> None:
    with pytest.raises(ValueError, match="never both"):
        Tag(tag="1", identity="1", display="1", track=Track.STABLE, sort_key="1", reason="moving")
