"""Whether a machine is fit to measure on: decisions over texts as nvidia-smi prints them, and over disk and load."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.environment import Finding, Health, Sight, Wanted, judge_health, look_at_machine

HEALTHY = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
 <driver_version>571.10.03</driver_version><cuda_version>12.8</cuda_version><attached_gpus>2</attached_gpus>
 <gpu id="00000000:0A:00.0">
  <product_name>NVIDIA Example</product_name>
  <gpu_recovery_action>None</gpu_recovery_action>
  <clocks_event_reasons>
   <clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
   <clocks_event_reason_hw_thermal_slowdown>Not Active</clocks_event_reason_hw_thermal_slowdown>
  </clocks_event_reasons>
  <fb_memory_usage><total>80000 MiB</total><used>400 MiB</used></fb_memory_usage>
  <ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode>
  <ecc_errors><volatile><sram_uncorrectable>0</sram_uncorrectable><dram_correctable>2</dram_correctable></volatile>
   <aggregate><dram_uncorrectable>7</dram_uncorrectable></aggregate></ecc_errors>
  <remapped_rows><remapped_row_pending>No</remapped_row_pending>
   <remapped_row_failure>No</remapped_row_failure></remapped_rows>
  <temperature><gpu_temp>33 C</gpu_temp></temperature>
  <gpu_power_readings><current_power_limit>600.00 W</current_power_limit></gpu_power_readings>
  <applications_clocks><graphics_clock>1800 MHz</graphics_clock><mem_clock>2600 MHz</mem_clock></applications_clocks>
  <processes>
  </processes>
 </gpu>
 <gpu id="00000000:0B:00.0">
  <product_name>NVIDIA Example</product_name>
  <clocks_event_reasons>
   <clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
  </clocks_event_reasons>
  <fb_memory_usage><total>80000 MiB</total><used>401 MiB</used></fb_memory_usage>
  <ecc_mode><current_ecc>Disabled</current_ecc></ecc_mode>
  <retired_pages><pending_retirement>No</pending_retirement></retired_pages>
  <temperature><gpu_temp>35 C</gpu_temp></temperature>
  <gpu_power_readings><current_power_limit>600.00 W</current_power_limit></gpu_power_readings>
  <applications_clocks><graphics_clock>1800 MHz</graphics_clock><mem_clock>2600 MHz</mem_clock></applications_clocks>
  <processes></processes>
 </gpu>
</nvidia_smi_log>
"""
BARE = """<nvidia_smi_log><gpu id="1"><product_name>NVIDIA Example</product_name>
 <temperature><gpu_temp>N/A</gpu_temp></temperature><ecc_errors><volatile><dram_uncorrectable>N/A</dram_uncorrectable>
 </volatile></ecc_errors></gpu></nvidia_smi_log>"""
PROCESS = """<processes><process_info><pid>{pid}</pid><type>{kind}</type>
 <process_name>{name}</process_name><used_memory>512 MiB</used_memory></process_info></processes>"""
GB = 1_000_000_000


def see(smi: str = "", trouble: str = "", **more: object) -> Sight:
    seen = Sight(smi=smi, smi_trouble=trouble, free_bytes=50 * GB, load_1min=0.5, cores=2)
    return replace(seen, **more)  # type: ignore[arg-type]


def judge(smi: str, wanted: Wanted | None = None, *, gpus: int = 2, own_runs: int = 0) -> Health:
    return judge_health(see(smi), wanted or Wanted(), gpus=gpus, own_runs=own_runs)


def refused(health: Health) -> list[str]:
    return [one.words for one in health.refusals]


def finding(health: Health, name: str) -> Finding:
    (found,) = (one for one in health.findings if one.name == name)
    return found


def second_gpu(old: str, new: str) -> str:
    """Return the healthy answer with something else said of its second GPU."""
    first, mark, second = HEALTHY.rpartition("<gpu id")
    assert old in second
    return first + mark + second.replace(old, new, 1)


def test_a_healthy_machine_is_fit_and_says_what_was_seen():
    health = judge(HEALTHY)

    assert (health.state, health.driver, health.gpus) == ("ok", "571.10.03", 2)
    assert finding(health, "temperature").words == "temperature: GPU 0: 33 C; GPU 1: 35 C"
    assert finding(health, "clocks held down").found == "gpu_idle"
    assert finding(health, "ECC errors").words == "ECC errors: GPU 0: dram_correctable 2; GPU 1: ECC is off"


@pytest.mark.parametrize(
    ("old", "new", "words", "lasting"),
    [
        ("35 C", "81 C", "temperature: GPU 1: 81 C, wanted at most 65 C", False),
        (
            "<clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>",
            "<clocks_event_reason_hw_slowdown>Active</clocks_event_reason_hw_slowdown>",
            "clocks held down: GPU 1: hw_slowdown",
            False,
        ),
        (
            "<current_ecc>Disabled</current_ecc></ecc_mode>",
            "<current_ecc>Enabled</current_ecc></ecc_mode><ecc_errors><volatile>"
            "<dram_uncorrectable>1</dram_uncorrectable></volatile></ecc_errors>",
            "ECC errors: GPU 1: dram_uncorrectable 1, wanted no uncorrectable ones",
            True,
        ),
        (
            "<current_ecc>Disabled</current_ecc></ecc_mode>",
            "<current_ecc>Enabled</current_ecc></ecc_mode><ecc_errors><volatile><double_bit><total>4</total>"
            "</double_bit></volatile></ecc_errors>",
            "ECC errors: GPU 1: double_bit.total 4, wanted no uncorrectable ones",
            True,
        ),
        (
            "<pending_retirement>No<",
            "<pending_retirement>Yes<",
            "memory repairs: GPU 1: memory pages wait to be retired; reset the GPU",
            True,
        ),
        ("401 MiB", "70000 MiB", "memory in use: GPU 1: 73.4 GB, wanted at most 2 GB", False),
        ("35 C", "GPU is lost", "GPU state: GPU 1: GPU is lost", True),
        (
            "<processes></processes>",
            PROCESS.format(pid=4242, kind="C", name="train & <x>"),
            "other programs: GPU 1: 4242 train & <x>, wanted none that compute",
            False,
        ),
    ],
)
def test_what_stands_against_measuring_names_the_gpu_the_value_and_what_is_wanted(
    old: str, new: str, words: str, lasting: bool
):
    health = judge(second_gpu(old, new))

    assert refused(health) == [words]
    assert (health.state, health.lasting) == ("refused", lasting)


def test_a_gpu_that_asks_to_be_reset_is_refused():
    health = judge(HEALTHY.replace("<gpu_recovery_action>None<", "<gpu_recovery_action>Reboot<"))

    assert refused(health) == ["GPU state: GPU 0: the driver asks for: Reboot"]


def test_what_the_driver_does_not_state_is_unknown_and_neither_fine_nor_refused():
    health = judge(BARE, Wanted(power_limit_w=600, graphics_clock_mhz=1800, driver="571"), gpus=1)

    assert health.refusals == ()
    assert health.state == "unknown"
    assert {one.name for one in health.unknown} == {
        "temperature", "clocks held down", "ECC errors", "memory repairs", "other programs", "memory in use",
        "power limit", "graphics clock", "driver",
    }  # fmt: skip


def test_clocks_power_limit_and_driver_are_looked_at_where_something_is_wanted():
    assert "power limit" not in {one.name for one in judge(HEALTHY).findings}

    right = Wanted(power_limit_w=600, graphics_clock_mhz=1800, memory_clock_mhz=2600, driver="571.10")
    assert judge(HEALTHY, right).state == "ok"

    wrong = judge(HEALTHY, Wanted(power_limit_w=700, graphics_clock_mhz=1980, memory_clock_mhz=2619, driver="57"))
    assert refused(wrong) == [
        "power limit: 600 W, wanted 700 W",
        "graphics clock: 1800 MHz, wanted 1980 MHz",
        "memory clock: 2600 MHz, wanted 2619 MHz",
        "driver: 571.10.03, wanted 57",
    ]
    assert wrong.lasting


def test_programs_that_only_draw_do_not_stand_against_measuring():
    health = judge(second_gpu("<processes></processes>", PROCESS.format(pid=7, kind="G", name="/usr/bin/Xorg")))

    assert (
        finding(health, "other programs").words == "other programs: GPU 0: none listed; GPU 1: only programs that draw"
    )
    assert health.state == "ok"


def test_processes_that_the_driver_does_not_list_are_unknown():
    health = judge(second_gpu("<processes></processes>", "<processes>N/A</processes>"))

    assert finding(health, "other programs").state == "unknown"


def test_while_runs_of_our_own_are_on_it_heat_and_programs_cannot_be_told_from_theirs():
    hot = second_gpu("35 C", "81 C").replace("401 MiB", "70000 MiB")

    health = judge(hot, own_runs=1)

    assert health.refusals == ()
    assert (
        finding(health, "temperature").found
        == "GPU 0: 33 C, with 1 of our own at work; GPU 1: 81 C, with 1 of our own at work"
    )


def test_fewer_gpus_than_the_host_has_are_refused_until_somebody_looks():
    health = judge(HEALTHY, gpus=8)

    assert refused(health) == ["GPUs: 2 answer, wanted the 8 of this host"]
    assert health.lasting


@pytest.mark.parametrize(
    ("smi", "trouble", "gpus", "state"),
    [
        ("", "nvidia-smi not found", 0, "ok"),
        ("", "nvidia-smi not found", 1, "refused"),
        ("", "nvidia-smi ended with exit code 9: no driver", 0, "unknown"),
        ("", "nvidia-smi ended with exit code 18: version mismatch", 1, "refused"),
        ("<nvidia_smi_log><gpu id='1'></wrong></nvidia_smi_log>", "", 1, "refused"),
        ("what?", "", 1, "refused"),
    ],
)
def test_a_driver_that_does_not_answer_is_refused_only_where_gpus_are_known_to_be(
    smi: str, trouble: str, gpus: int, state: str
):
    health = judge_health(see(smi, trouble), Wanted(), gpus=gpus)

    assert finding(health, "GPUs").state == state
    assert not health.lasting


def test_disk_and_load_are_looked_at_without_a_gpu():
    here = see("", "nvidia-smi not found", free_bytes=GB // 2, load_1min=3.0)

    health = judge_health(here, Wanted(max_load_per_core=1.0))

    assert refused(health) == ["disk: 0.5 GB free, wanted at least 1 GB", "load: 1.50 a core, wanted at most 1"]
    assert judge_health(here, Wanted(min_free_bytes=None)).state == "ok"


def test_a_system_that_does_not_say_how_much_is_free_or_how_busy_it_is_is_unknown():
    here = see("", "nvidia-smi not found", free_bytes=None, load_1min=None)

    health = judge_health(here, Wanted(max_load_per_core=1.0))

    assert [one.name for one in health.unknown] == ["disk", "load"]
    assert health.refusals == ()


def test_this_machine_can_be_looked_at(tmp_path: Path):
    sight = look_at_machine(tmp_path)

    assert sight.free_bytes is None or sight.free_bytes > 0
    assert look_at_machine(tmp_path / "gone").free_bytes is None


@given(cut=st.integers(0, len(HEALTHY)))
def test_an_answer_that_is_cut_anywhere_is_judged_and_never_taken_for_more_than_it_says(cut: int):
    health = judge(HEALTHY[:cut])

    json.dumps(health.to_json())
    if health.gpus < 2:
        assert health.state == "refused"


@given(junk=st.text(max_size=30), place=st.integers(0, len(HEALTHY)))
def test_no_text_of_the_driver_breaks_the_judgement(junk: str, place: int):
    json.dumps(judge(HEALTHY[:place] + junk + HEALTHY[place:]).to_json())
