"""The class of a machine, and the fingerprint of what may change results."""

from __future__ import annotations

import json
import platform
from dataclasses import replace

import pytest

from jobs.environment import (
    Gpu,
    GpuState,
    Host,
    Library,
    environment_fingerprint,
    environment_record,
    hardware_class,
    hardware_fingerprint,
)
from jobs.fingerprint import fingerprint

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


def test_a_machine_without_gpus_keeps_the_fingerprint_it_had_before_gpus_were_looked_at() -> None:
    new = {"gpu_topology", "gpu_links", "load_1min", "gpu_note"}
    facts = {"host": {key: value for key, value in HOST.to_json().items() if key not in new}}
    python = f"{platform.python_implementation()} {platform.python_version()}"
    text = json.dumps({**facts, "python": python, "packages": ["numpy==1.26.4"]}, sort_keys=True)
    system = Library(name="cuda", version="12.9", source="/usr/local/cuda/version.json")
    assert environment_fingerprint(HOST, ["numpy==1.26.4"], [system]) == fingerprint("environment", text)


@pytest.mark.parametrize(
    "change",
    [
        {"uuid": "GPU-2"},
        {"bus_id": "00000000:2A:00.0"},
        {"state": GpuState(temperature_c=80.0, sm_clock_mhz=1200.0, held_down_by=("sw_power_cap",))},
    ],
)
def test_what_names_a_gpu_or_passes_does_not_change_the_fingerprint(change: dict[str, object]) -> None:
    one, two = (replace(HOST, gpus=(gpu,)) for gpu in (H200, replace(H200, **change)))
    assert environment_fingerprint(one, ()) == environment_fingerprint(two, ())


@pytest.mark.parametrize(
    "change",
    [{"power_limit_w": 500.0}, {"vbios": "96.00.99"}, {"mig": "Enabled"}, {"application_clocks_mhz": (1500.0, 2600.0)}],
)
def test_how_a_gpu_is_set_changes_the_fingerprint(change: dict[str, object]) -> None:
    one, two = (replace(HOST, gpus=(gpu,)) for gpu in (H200, replace(H200, **change)))
    assert environment_fingerprint(one, ()) != environment_fingerprint(two, ())


def test_links_and_the_machines_own_libraries_change_the_fingerprint_of_a_machine_with_gpus() -> None:
    host = replace(HOST, gpus=(H200, H200), gpu_links={"NV18": 1})
    system = Library(name="cuda", version="12.9", source="/usr/local/cuda/version.json")
    with_pip = Library(name="torch", version="2.9", source="pip torch")
    names = {
        environment_fingerprint(host, ()),
        environment_fingerprint(replace(host, gpu_links={"SYS": 1}), ()),
        environment_fingerprint(host, (), [system]),
    }
    assert len(names) == 3
    assert environment_fingerprint(host, (), [with_pip]) == environment_fingerprint(host, ()), "it is the release's"


def test_the_record_is_plain_json_and_names_the_image_where_one_is_under_test() -> None:
    record = json.loads(json.dumps(environment_record(["torch==2.9"], asked=[], image="sha256:00")))
    assert record["software"]["image"] == "sha256:00"
    assert {"name": "torch", "version": "2.9", "source": "pip torch"} in record["software"]["libraries"]
    assert record["host"]["gpus"] or record["host"]["gpu_note"].startswith("no GPU")
