"""What is installed where a benchmark runs: the system's packages, and the libraries that make a model fast."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_ANSWER_WITHIN_S = 20.0
_PACKAGES: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "cuda": r"nvidia-cuda-runtime(-cu\d+)?|cuda-(cudart|runtime)-\d+-\d+|cuda-toolkit",
        "cudnn": r"nvidia-cudnn(-cu\d+)?|(lib)?cudnn\d+(-cuda-\d+)?",
        "nccl": r"nvidia-nccl(-cu\d+)?|libnccl2",
        "cublas": r"nvidia-cublas(-cu\d+)?|libcublas-\d+-\d+",
        "torch": r"torch",
        "triton": r"triton|pytorch-triton",
        "flashinfer": r"flashinfer(-python)?",
        "flash-attn": r"flash-attn",
        "tensorrt": r"tensorrt(-cu\d+)?|libnvinfer\d+",
        "tensorrt-llm": r"tensorrt-llm",
        "onnxruntime": r"onnxruntime(-gpu)?",
        "vllm": r"vllm",
        "sglang": r"sglang",
        "transformers": r"transformers",
        "numpy": r"numpy",
    }.items()
}
_VARIABLES = {
    "CUDA_VERSION": "cuda",
    "CUDNN_VERSION": "cudnn",
    "NCCL_VERSION": "nccl",
    "NV_LIBNCCL_PACKAGE_VERSION": "nccl",
    "NV_CUDNN_VERSION": "cudnn",
    "PYTORCH_VERSION": "torch",
    "TRT_VERSION": "tensorrt",
    "TENSORRT_VERSION": "tensorrt",
}
"""Set by the makers of container images, with the version of what is inside."""
_HEADERS = {
    "cudnn": ("usr/include/cudnn_version.h", "usr/include/x86_64-linux-gnu/cudnn_version.h"),
    "nccl": ("usr/include/nccl.h", "usr/local/cuda/include/nccl.h"),
    "tensorrt": ("usr/include/x86_64-linux-gnu/NvInferVersion.h", "usr/include/NvInferVersion.h"),
}
_HEADER_PARTS = {
    "cudnn": ("CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL"),
    "nccl": ("NCCL_MAJOR", "NCCL_MINOR", "NCCL_PATCH"),
    "tensorrt": ("NV_TENSORRT_MAJOR", "NV_TENSORRT_MINOR", "NV_TENSORRT_PATCH"),
}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Library:
    """A library that decides how fast a model is, and where its version was read."""

    name: str
    version: str
    source: str
    """`pip nvidia-cudnn-cu12`, `dpkg libnccl2`, `/usr/local/cuda/version.json`, `$CUDA_VERSION`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """The bill of materials of the software under test, beside its Python packages."""

    libraries: tuple[Library, ...]
    system_packages: tuple[str, ...]
    """What dpkg has installed, as `name==version`, sorted."""
    system_note: str
    """Why there are none; empty where there are some."""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return asdict(self)


def capture_software(
    packages: Sequence[str], *, root: Path = Path("/"), variables: Mapping[str, str] | None = None
) -> Software:
    """Return what is installed beside `packages` (`name==version`) of the benchmark's Python; never fails."""
    system, note = capture_dpkg()
    found = {
        *_in_packages("pip", packages),
        *_in_packages("dpkg", system),
        *_in_files(root),
        *_in_variables(os.environ if variables is None else variables),
    }
    return Software(libraries=tuple(sorted(found)), system_packages=system, system_note=note)


def capture_dpkg() -> tuple[tuple[str, ...], str]:
    """Return the packages of Debian's package manager as `name==version`, and why there are none."""
    command = shutil.which("dpkg-query")
    if command is None:
        return (), "no dpkg-query on this system"
    words = [command, "-W", "-f", "${db:Status-Abbrev}\t${Package}==${Version}\n"]
    try:
        answer = subprocess.run(words, capture_output=True, text=True, timeout=_ANSWER_WITHIN_S, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return (), f"dpkg-query did not answer: {error}"
    rows = (line.split("\t") for line in answer.stdout.splitlines())
    installed = sorted({row[1] for row in rows if len(row) == 2 and row[0].startswith("ii")})
    return tuple(installed), "" if installed else "dpkg-query lists nothing"


def _in_packages(manager: str, packages: Sequence[str]) -> Iterator[Library]:
    for package in packages:
        own_name, _, version = package.partition("==")
        plain = re.sub(r"[-_.]+", "-", own_name).lower()
        for name, pattern in _PACKAGES.items():
            if version and pattern.fullmatch(plain):
                yield Library(name=name, version=version, source=f"{manager} {own_name}")


def _in_variables(variables: Mapping[str, str]) -> Iterator[Library]:
    for variable, name in _VARIABLES.items():
        if re.fullmatch(r"\d[\w.+~-]{0,60}", value := variables.get(variable, "")):
            yield Library(name=name, version=value, source=f"${variable}")


def _in_files(root: Path) -> Iterator[Library]:
    """Yield what the CUDA toolkit and the headers of the libraries say."""
    for path in sorted(root.glob("usr/local/cuda*/version.json")):
        if version := _toolkit_version(_read(path)):
            yield Library(name="cuda", version=version, source=f"/{path.relative_to(root)}")
    for path in sorted(root.glob("usr/local/cuda*/version.txt")):
        if match := re.search(r"CUDA Version (\d[\d.]*)", _read(path)):
            yield Library(name="cuda", version=match[1], source=f"/{path.relative_to(root)}")
    for name, places in _HEADERS.items():
        for place in places:
            text = _read(root / place)
            parts = [re.search(rf"^#define {part} (\d+)", text, re.MULTILINE) for part in _HEADER_PARTS[name]]
            if numbers := [part[1] for part in parts if part]:
                yield Library(name=name, version=".".join(numbers), source=f"/{place}")


def _toolkit_version(text: str) -> str | None:
    try:
        version = json.loads(text)["cuda"]["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return version if isinstance(version, str) else None


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(256 * 1024)
    except OSError:
        return ""
