"""Another machine, read from what the script prints; the script itself is run by the shell of this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from jobs.environment import capture_host, hardware_class, read_machine
from jobs.environment.remote import SCRIPT
from tests.fakes.nvidia_tools import host_nvidia_smi


def look(folder: Path, smi: str | None = None) -> str:
    """Return what the script prints in a shell that finds this nvidia-smi."""
    if smi is not None:
        (folder / "nvidia-smi").write_text(smi)
        (folder / "nvidia-smi").chmod(0o755)
    variables = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(folder)}
    return subprocess.run(["sh", "-s"], input=SCRIPT, capture_output=True, text=True, env=variables, check=True).stdout


def test_what_the_script_tells_of_a_machine_is_what_the_machine_tells_itself(tmp_path: Path) -> None:
    found, own = read_machine("Welcome\n" + look(tmp_path)).host, capture_host()
    names = ("system", "kernel", "machine", "cpu_model", "cores_physical", "cores_allowed", "memory_bytes", "turbo")
    assert [getattr(found, name) for name in names] == [getattr(own, name) for name in names]
    assert found.virtualised is own.virtualised


def test_gpus_disk_and_load_of_the_machine_are_told(tmp_path: Path) -> None:
    machine = read_machine(look(tmp_path, host_nvidia_smi(8)))
    assert hardware_class(machine.host) == ("8x-nvidia-b200", {"gpu": "NVIDIA B200", "gpu_count": 8})
    assert machine.is_whole
    assert machine.host.gpu_note == ""
    assert all((machine.sight.free_bytes, machine.sight.cores))
    assert machine.sight.load_1min is not None


def test_a_driver_that_does_not_answer_is_no_machine_without_gpus(tmp_path: Path) -> None:
    machine = read_machine(look(tmp_path, "#!/bin/sh\necho NVML: driver mismatch\nexit 18\n"))
    assert not machine.is_whole
    assert machine.sight.smi_trouble == "nvidia-smi ended with exit code 18: NVML: driver mismatch"
    cut = look(tmp_path, host_nvidia_smi(8)).rpartition("@@tracker@@ smi_code")[0]
    assert not read_machine(cut).is_whole


@given(st.text(), st.lists(st.sampled_from(["smi", "smi_code", "disk", "load", "memory", "cores", "end", "smi"])))
def test_whatever_a_machine_prints_is_read_or_unknown(text: str, names: list[str]) -> None:
    printed = text + "".join(f"\n@@tracker@@ {name}\n{text}" for name in names)
    machine = read_machine(printed)
    assert machine.host.gpus == ()


def test_absurd_numbers_are_unknown_and_odd_characters_are_blanks() -> None:
    huge = "9" * 5_000
    parts = {
        "kernel": "6.1\x00\x1b[31m\r" + "x" * 5_000,
        "cores": huge,
        "memory": f"MemTotal: {huge} kB",
        "disk": f"/dev/a {huge} 1 {huge} 1% /",
        "load": f"{huge}.0 1",
        "end": "",
    }
    machine = read_machine("".join(f"\n@@tracker@@ {name}\n{text}\n" for name, text in parts.items()))
    assert machine.host.kernel.startswith("6.1  [31m ")
    assert len(machine.host.kernel) == 300
    assert (machine.host.cores_allowed, machine.host.memory_bytes) == (None, None)
    assert (machine.sight.free_bytes, machine.sight.load_1min) == (None, None)


def test_an_absurd_amount_of_a_gpu_is_unknown_and_the_gpu_is_still_seen() -> None:
    total = f"<fb_memory_usage><total>{'9' * 5_000} MiB</total></fb_memory_usage>"
    smi = f'<nvidia_smi_log><gpu id="0"><product_name>H</product_name>{total}</gpu></nvidia_smi_log>'
    printed = "".join(f"\n@@tracker@@ {n}\n{t}\n" for n, t in {"smi": smi, "smi_code": "0", "end": ""}.items())
    (gpu,) = read_machine(printed).host.gpus
    assert (gpu.product, gpu.memory_bytes) == ("H", None)


def test_names_of_gpus_are_cut_and_hold_nothing_unseen_also_where_the_xml_writes_it_as_a_number() -> None:
    name = "H\u202e1\u200b&#x202e;&#8203;&#10;&#xE000;" + "x" * 10_000
    smi = f'<nvidia_smi_log><gpu id="0"><product_name>{name}</product_name></gpu></nvidia_smi_log>'
    parts = {"smi": smi, "smi_code": "0", "system": 'PRETTY_NAME="a\u2066b"', "end": ""}
    host = read_machine("".join(f"\n@@tracker@@ {n}\n{t}\n" for n, t in parts.items())).host
    assert host.gpus[0].product == ("H 1     " + "x" * 300)[:300]
    assert host.system == "a b"
