"""The host's facts, its class and its fingerprint."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.environment import (
    Gpu,
    Host,
    capture_gpus,
    capture_host,
    cores_physical,
    cpu_model,
    environment_fingerprint,
    environment_record,
    hardware_class,
    hardware_fingerprint,
    parse_gpus,
)

H200 = Gpu(product="NVIDIA H200", memory_bytes=143771 * 1024 * 1024, driver="575.57.08")
HOST = Host(
    system="Debian GNU/Linux 12 (bookworm)",
    kernel="6.1.0",
    machine="x86_64",
    cpu_model="AMD EPYC 9654 96-Core Processor",
    cores_logical=192,
    cores_physical=96,
    cores_allowed=192,
    memory_bytes=1 << 40,
    governor="performance",
    turbo=True,
    virtualised=False,
    load_1min=0.5,
    gpus=(),
    gpu_note="no GPU: nvidia-smi not found",
)


def _fake_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put an nvidia-smi of our own first on the PATH."""
    command = folder / "nvidia-smi"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_this_machine_is_captured_and_survives_json() -> None:
    host = capture_host()
    assert host.cores_logical == os.cpu_count()
    assert host.cpu_model
    assert host.kernel == os.uname().release
    assert host.memory_bytes is not None
    assert host.memory_bytes > 1 << 28
    assert json.loads(json.dumps(host.to_json()))["kernel"] == host.kernel


def test_no_nvidia_smi_means_no_gpu_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert capture_gpus() == ((), "no GPU: nvidia-smi not found")


def test_gpus_are_read_from_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "NVIDIA H200, 143771, 575.57.08"
    _fake_smi(tmp_path, monkeypatch, f"echo '{line}'; echo '{line}'")
    assert capture_gpus() == ((H200, H200), "")


@pytest.mark.parametrize(
    ("script", "note"),
    [
        ("echo 'NVIDIA-SMI has failed because it could not talk to the driver'; exit 9", "exit code 9: NVIDIA-SMI has"),
        ("exit 3", "exit code 3: it printed nothing"),
        ("true", "lists none"),
        ("echo garbage", "lists none"),
    ],
)
def test_an_nvidia_smi_that_fails_is_told_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, note: str
) -> None:
    _fake_smi(tmp_path, monkeypatch, script)
    gpus, said = capture_gpus()
    assert gpus == ()
    assert note in said


def test_a_memory_that_the_driver_does_not_know_is_none() -> None:
    assert parse_gpus("NVIDIA GB10, [N/A], 580.95") == (Gpu(product="NVIDIA GB10", memory_bytes=None, driver="580.95"),)


@given(st.text())
def test_any_text_of_nvidia_smi_is_read_without_an_error(text: str) -> None:
    assert all(isinstance(gpu, Gpu) for gpu in parse_gpus(text))


def test_the_class_of_a_machine_without_gpu_is_its_cpu_and_cores() -> None:
    assert hardware_class(HOST) == (
        "amd-epyc-9654-96-core-processor-192-cores",
        {"cpu": "AMD EPYC 9654 96-Core Processor", "cores": 192},
    )


def test_the_class_of_a_machine_with_gpus_is_product_and_count() -> None:
    slug, labels = hardware_class(replace(HOST, gpus=(H200,) * 8))
    assert (slug, labels) == ("8x-nvidia-h200", {"gpu": "NVIDIA H200", "gpu_count": 8})
    assert hardware_fingerprint(labels) != hardware_fingerprint({**labels, "gpu_count": 4})


@pytest.mark.parametrize("change", [{"load_1min": 9.0}, {"gpu_note": "other words"}])
def test_load_and_notes_do_not_change_the_fingerprint(change: dict[str, object]) -> None:
    assert environment_fingerprint(replace(HOST, **change), ()) == environment_fingerprint(HOST, ())


@pytest.mark.parametrize(
    "change",
    [
        {"kernel": "6.2.0"},
        {"governor": "powersave"},
        {"turbo": None},
        {"gpus": (H200,)},
        {"gpus": (replace(H200, driver="580.1"),)},
        {"cores_allowed": 4},
    ],
)
def test_what_may_change_results_changes_the_fingerprint(change: dict[str, object]) -> None:
    assert environment_fingerprint(replace(HOST, **change), ()) != environment_fingerprint(HOST, ())


def test_pinned_packages_change_the_fingerprint_in_any_order() -> None:
    one = environment_fingerprint(HOST, ("numpy==1.26.4", "onnx==1.17.0"))
    assert one == environment_fingerprint(HOST, ("onnx==1.17.0", "numpy==1.26.4"))
    assert one != environment_fingerprint(HOST, ("numpy==2.0.0", "onnx==1.17.0"))


def test_the_record_lists_all_packages_but_is_named_by_those_asked_for() -> None:
    one = environment_record(["b==1", "a==1"], asked=["a==1"])
    two = environment_record(["b==2", "a==1"], asked=["a==1"])
    assert one["packages"] == ["a==1", "b==1"]
    assert one["fingerprint"] == two["fingerprint"]


def test_cpuinfo_is_read_with_and_without_a_topology() -> None:
    block = "processor\t: {0}\nmodel name\t: Some  CPU @ 2GHz\nphysical id\t: 0\ncore id\t\t: {1}\n"
    text = "\n".join(block.format(number, number // 2) for number in range(4))
    assert (cpu_model(text), cores_physical(text)) == ("Some CPU @ 2GHz", 2)
    assert (cpu_model("processor\t: 0\nBogoMIPS\t: 50\n"), cores_physical("processor\t: 0\n")) == ("", None)
