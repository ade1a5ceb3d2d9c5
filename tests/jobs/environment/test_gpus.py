"""GPUs as nvidia-smi describes them, of old and new schemas; an nvidia-smi of our own answers."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.environment import GpuState, capture_gpus, count_links, parse_gpus
from jobs.errors import Refused

OLD = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v11.dtd">
<nvidia_smi_log>
 <driver_version>515.10.01</driver_version><cuda_version>11.7</cuda_version><attached_gpus>1</attached_gpus>
 <gpu id="00000000:1E:00.0">
  <product_name>NVIDIA Example A</product_name><persistence_mode>Enabled</persistence_mode>
  <product_architecture>Ampere</product_architecture>
  <mig_mode><current_mig>N/A</current_mig></mig_mode><uuid>GPU-1</uuid><vbios_version>94.00.01</vbios_version>
  <performance_state>P0</performance_state>
  <clocks_throttle_reasons>
   <clocks_throttle_reason_gpu_idle>Not Active</clocks_throttle_reason_gpu_idle>
   <clocks_throttle_reason_sw_power_cap>Active</clocks_throttle_reason_sw_power_cap>
  </clocks_throttle_reasons>
  <fb_memory_usage><total>24000 MiB</total><used>100 MiB</used></fb_memory_usage>
  <compute_mode>Default</compute_mode><utilization><gpu_util>97 %</gpu_util></utilization>
  <ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode>
  <ecc_errors><volatile><dram_correctable>3</dram_correctable><dram_uncorrectable>0</dram_uncorrectable></volatile>
   <aggregate><sram_correctable>N/A</sram_correctable></aggregate></ecc_errors>
  <temperature><gpu_temp>71 C</gpu_temp></temperature>
  <power_readings><power_draw>295.50 W</power_draw><power_limit>310.00 W</power_limit>
   <enforced_power_limit>300.00 W</enforced_power_limit></power_readings>
  <clocks><sm_clock>1500 MHz</sm_clock><mem_clock>6000 MHz</mem_clock></clocks>
  <applications_clocks><graphics_clock>1710 MHz</graphics_clock><mem_clock>6250 MHz</mem_clock></applications_clocks>
  <max_clocks><graphics_clock>1720 MHz</graphics_clock><mem_clock>6260 MHz</mem_clock></max_clocks>
 </gpu>
</nvidia_smi_log>
"""
NEW = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">
<nvidia_smi_log>
 <driver_version>Deprecated, see kmd_version</driver_version><kmd_version>611.22.03</kmd_version>
 <cuda_umd_version>13.3</cuda_umd_version>
 <gpu id="00000000:01:00.0">
  <product_name>NVIDIA Example B</product_name><uuid>GPU-2</uuid>
  <mig_mode><current_mig>Enabled</current_mig></mig_mode>
  <mig_devices>
   <mig_device><index>0</index><fb_memory_usage><total>1000 MiB</total></fb_memory_usage></mig_device>
   <mig_device><index>1</index><fb_memory_usage><total>2000 MiB</total></fb_memory_usage></mig_device>
  </mig_devices>
  <clocks_event_reasons>
   <clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
  </clocks_event_reasons>
  <clocks_event_reasons_counters>
   <clocks_event_reasons_counters_sync_boost>0 us</clocks_event_reasons_counters_sync_boost>
  </clocks_event_reasons_counters>
  <fb_memory_usage><total>96000 MiB</total><used>Unknown Error</used></fb_memory_usage>
  <gpu_power_readings><average_power_draw>80.00 W</average_power_draw><instant_power_draw>90.00 W</instant_power_draw>
   <current_power_limit>1000.00 W</current_power_limit></gpu_power_readings>
  <module_power_readings><instant_power_draw>400.00 W</instant_power_draw></module_power_readings>
  <applications_clocks>
   <graphics_clock>Requested functionality has been deprecated</graphics_clock></applications_clocks>
 </gpu>
</nvidia_smi_log>
"""
TOPOLOGY = """\
\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV18\tSYS\tPIX\t0-47\t0
GPU1\tNV18\t X \tSYS\tSYS\t0-47\t0
GPU2\tSYS\tSYS\t X \tSYS\t48-95\t1
NIC0\tPIX\tSYS\tSYS\t X

Legend:
  X    = Self
"""


def _fake_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put an nvidia-smi of our own first on the PATH."""
    command = folder / "nvidia-smi"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_no_nvidia_smi_means_no_gpu_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = capture_gpus()
    assert (found.gpus, found.note) == ((), "no GPU: nvidia-smi not found")


def test_gpus_and_their_links_are_read_from_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "answer.xml").write_text(OLD.replace("</nvidia_smi_log>", OLD[OLD.index(" <gpu") :]))
    (tmp_path / "topology.txt").write_text(TOPOLOGY)
    script = f'case "$1" in topo) cat {tmp_path}/topology.txt;; *) cat {tmp_path}/answer.xml;; esac'
    _fake_smi(tmp_path, monkeypatch, script)
    found = capture_gpus()
    assert [gpu.product for gpu in found.gpus] == ["NVIDIA Example A", "NVIDIA Example A"]
    assert found.note == ""
    assert found.topology == TOPOLOGY
    assert found.links == {"NV18": 1, "SYS": 2}


@pytest.mark.parametrize(
    ("script", "note"),
    [
        ("echo 'NVIDIA-SMI has failed because it could not talk to the driver'; exit 9", "exit code 9: NVIDIA-SMI has"),
        ("exit 3", "exit code 3: it printed nothing"),
        ("true", "lists none"),
        ("echo garbage", "lists none"),
        ("echo '<nvidia_smi_log><gpu></a></nvidia_smi_log>'", "cannot be read: the XML is damaged at line 1"),
    ],
)
def test_an_nvidia_smi_that_fails_is_told_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, note: str
) -> None:
    _fake_smi(tmp_path, monkeypatch, script)
    found = capture_gpus()
    assert found.gpus == ()
    assert note in found.note


def test_an_old_schema_is_read_with_limits_clocks_and_state() -> None:
    (gpu,) = parse_gpus(OLD)
    assert (gpu.product, gpu.driver, gpu.cuda, gpu.vbios) == ("NVIDIA Example A", "515.10.01", "11.7", "94.00.01")
    assert (gpu.memory_bytes, gpu.power_limit_w) == (24000 * 2**20, 300.0)
    assert (gpu.application_clocks_mhz, gpu.max_clocks_mhz) == ((1710.0, 6250.0), (1720.0, 6260.0))
    assert (gpu.persistence, gpu.ecc, gpu.mig, gpu.uuid) == ("Enabled", "Enabled", None, "GPU-1")
    assert gpu.state == GpuState(
        power_w=295.5,
        temperature_c=71.0,
        memory_used_bytes=100 * 2**20,
        utilisation_percent=97.0,
        performance_state="P0",
        sm_clock_mhz=1500.0,
        memory_clock_mhz=6000.0,
        held_down_by=("sw_power_cap",),
        ecc_errors={"volatile.dram_correctable": 3},
    )


def test_a_new_schema_is_read_with_its_moved_names_and_mig_devices() -> None:
    (gpu,) = parse_gpus(NEW)
    assert (gpu.driver, gpu.cuda, gpu.power_limit_w) == ("611.22.03", "13.3", 1000.0)
    assert (gpu.mig, gpu.mig_memory_bytes) == ("Enabled", (1000 * 2**20, 2000 * 2**20))
    assert gpu.application_clocks_mhz == (None, None)
    assert gpu.state == GpuState(power_w=90.0, held_down_by=("gpu_idle",))


def test_what_is_not_stated_is_unknown() -> None:
    (gpu,) = parse_gpus("<nvidia_smi_log><gpu></gpu></nvidia_smi_log>")
    assert gpu == replace(gpu, product="unknown", driver="unknown", memory_bytes=None, bus_id=None, state=GpuState())


@given(st.text() | st.text("<>/gpu&;nvidia_sml ").map("<nvidia_smi_log>{}</nvidia_smi_log>".format))
def test_any_text_of_nvidia_smi_is_read_or_refused(text: str) -> None:
    with suppress(Refused):
        assert all(gpu.product for gpu in parse_gpus(text))


@given(st.text() | st.text("GPU01 X\t\nNVSY"))
def test_any_matrix_is_counted_without_an_error(text: str) -> None:
    links = count_links(text)
    assert links is None or all(count > 0 for count in links.values())
