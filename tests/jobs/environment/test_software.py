"""What is installed: versions from package lists, files and variables, each with its source."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jobs.environment import Library, capture_container, capture_software


def _write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _found(packages: list[str], root: Path, variables: dict[str, str] | None = None) -> set[Library]:
    software = capture_software(packages, root=root, variables=variables or {})
    return {library for library in software.libraries if not library.source.startswith("dpkg ")}


def test_python_packages_name_the_libraries_they_carry(tmp_path: Path) -> None:
    packages = [
        "Torch==2.9.0+cu129",
        "flashinfer_python==0.4.1",
        "nvidia-cudnn-cu12==9.10.2.21",
        "nvidia-nccl-cu12==2.27.5",
        "nvidia-cuda-runtime-cu12==12.9.79",
        "tensorrt_cu12==10.13.3.9",
        "triton==3.5.0",
        "torchvision==0.24",
    ]
    names = {library.name: library.version for library in _found(packages, tmp_path)}
    assert names == {
        "torch": "2.9.0+cu129",
        "flashinfer": "0.4.1",
        "cudnn": "9.10.2.21",
        "nccl": "2.27.5",
        "cuda": "12.9.79",
        "tensorrt": "10.13.3.9",
        "triton": "3.5.0",
    }


def test_files_of_the_toolkit_and_headers_are_read(tmp_path: Path) -> None:
    _write(tmp_path, "usr/local/cuda-12.9/version.json", '{"cuda": {"name": "CUDA SDK", "version": "12.9.1"}}')
    _write(tmp_path, "usr/local/cuda-10.2/version.txt", "CUDA Version 10.2.89\n")
    _write(tmp_path, "usr/local/cuda-broken/version.json", "[")
    header = "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 10\n#define CUDNN_PATCHLEVEL 2\n"
    _write(tmp_path, "usr/include/cudnn_version.h", header)
    assert _found([], tmp_path) == {
        Library(name="cuda", version="12.9.1", source="/usr/local/cuda-12.9/version.json"),
        Library(name="cuda", version="10.2.89", source="/usr/local/cuda-10.2/version.txt"),
        Library(name="cudnn", version="9.10.2", source="/usr/include/cudnn_version.h"),
    }


def test_variables_of_an_image_are_read_where_they_hold_a_version(tmp_path: Path) -> None:
    variables = {"CUDA_VERSION": "13.0.1.012", "TRT_VERSION": "not set", "NCCL_VERSION": "2.28.3"}
    assert {(one.name, one.version) for one in _found([], tmp_path, variables)} == {
        ("cuda", "13.0.1.012"),
        ("nccl", "2.28.3"),
    }


def test_without_debians_package_manager_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    software = capture_software([], root=tmp_path, variables={})
    assert (software.system_packages, software.system_note) == ((), "no dpkg-query on this system")


def test_only_packages_that_are_installed_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "dpkg-query"
    lines = r"ii \tlibnccl2==2.27.5-1+cuda12.9\nrc \tlibcudnn8==8.9\nii \tzlib1g==1:1.2\n"
    command.write_text(f"#!/bin/sh\nprintf '{lines}'\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    software = capture_software([], root=tmp_path, variables={})
    assert software.system_packages == ("libnccl2==2.27.5-1+cuda12.9", "zlib1g==1:1.2")
    assert software.libraries == (Library(name="nccl", version="2.27.5-1+cuda12.9", source="dpkg libnccl2"),)


@pytest.mark.parametrize(
    ("file", "text", "variables", "inside"),
    [
        (".dockerenv", "", {}, ("docker",)),
        ("run/.containerenv", "", {"container": "podman"}, ("podman",)),
        ("proc/1/cgroup", "0::/kubepods.slice/cri-containerd-1\n", {}, ("kubernetes", "containerd")),
        ("proc/1/cgroup", "0::/init.scope\n", {}, ()),
        ("proc/1/cgroup", "0::/\n", {"APPTAINER_CONTAINER": "/image.sif"}, ("apptainer",)),
    ],
)
def test_a_container_is_known_by_its_signs(
    tmp_path: Path, file: str, text: str, variables: dict[str, str], inside: tuple[str, ...]
) -> None:
    _write(tmp_path, file, text)
    assert capture_container(root=tmp_path, variables=variables).inside == inside


def test_container_tools_are_listed_with_their_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, script in {"docker": "echo 'Docker version 28.1, build 0'", "enroot": "exit 1"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert capture_container(root=tmp_path, variables={}).tools == {
        "docker": "Docker version 28.1, build 0",
        "enroot": "unknown",
    }
