"""GPU tools: what is no reading of one moment, and what only looks like one."""

from __future__ import annotations

import pytest

from jobs.content import Content
from jobs.measurements import ParseOutcome
from jobs.reading import read_result

CSV = """index, uuid, power.draw [W]
0, GPU-11111111-2222-3333-4444-555555555555, 100.00 W
0, GPU-11111111-2222-3333-4444-555555555555, 110.00 W
"""
ROWS = """timestamp, power.draw [W], utilization.gpu [%]
2026/03/02 10:00:01.000, 100.00 W, 5 %
2026/03/02 10:00:02.000, 100.00 W, 5 %
2026/03/02 10:00:03.000, 100.00 W, 5 %
"""
DMON = "#Entity   POWER\nID        W\nGPU 0     100.0\nGPU 0     120.0\n"
SCRAPE = 'DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-1"} 100\n'
ANSWER = """<?xml version="1.0" ?>
<nvidia_smi_log><driver_version>575.57.08</driver_version><gpu id="00000000:1A:00.0"><product_name>X</product_name>
<uuid>GPU-1</uuid><power_readings><power_draw>{} W</power_draw></power_readings></gpu></nvidia_smi_log>
"""


@pytest.mark.parametrize(
    "text",
    [CSV, ROWS, DMON, SCRAPE + SCRAPE.replace(" 100", " 101"), ANSWER.format("1.5") + ANSWER.format("2.5")],
    ids=["csv", "csv without names", "dmon", "two scrapes", "two answers"],
)
def test_a_gpu_read_again_and_again_is_a_time_series_and_refused(text: str) -> None:
    result = read_result(Content.of_text(text))
    assert result.outcome is ParseOutcome.REFUSED
    assert "time series" in result.reason


@pytest.mark.parametrize(
    "text", [DMON.replace("120", "100"), SCRAPE * 2, ANSWER.format("1.5") * 2], ids=["dmon", "scrape", "xml"]
)
def test_the_same_reading_printed_twice_is_one_run(text: str) -> None:
    result = read_result(Content.of_text(text))
    assert result.outcome is ParseOutcome.OK
    assert len(result.runs) == 1


def test_a_unit_that_contradicts_the_header_is_set_aside() -> None:
    result = read_result(Content.of_text("uuid, memory.used [MiB]\nGPU-1, 2 GiB\n"))
    assert result.runs[0].metrics == {}
    assert "unit_doubtful" in result.runs[0].flags
    assert result.runs[0].rejected[0].reason == "the header says MiB, the cell GiB"


def test_a_number_without_any_unit_is_set_aside() -> None:
    result = read_result(Content.of_text("uuid, memory.used\nGPU-1, 2\n"))
    assert result.runs[0].metrics == {}
    assert result.runs[0].rejected[0].reason == "expected a unit such as MiB"


def test_a_column_that_nobody_knows_is_set_aside_and_words_are_told() -> None:
    text = "uuid, power.draw [W], novel_rate\nGPU-1, [GPU is lost], 5\n"
    (run,) = read_result(Content.of_text(text)).runs
    assert {aside.key for aside in run.rejected} == {"power.draw [W]", "novel_rate"}


@pytest.mark.parametrize(
    "body", ["<a>" * 200_000, "<gpu>&undefined;</gpu>", "<gpu><a></b></gpu>", "<gpu>" * 50], ids=lambda text: text[:12]
)
def test_hostile_or_damaged_xml_is_refused(body: str) -> None:
    result = read_result(Content.of_text(f"<nvidia_smi_log>{body}</nvidia_smi_log>"))
    assert result.outcome is ParseOutcome.REFUSED


def test_no_answer_of_any_gpu_is_a_failure() -> None:
    lost = ANSWER.replace("X<", "GPU is lost<").replace("GPU-1", "GPU is lost").replace("{} W", "GPU is lost")
    assert read_result(Content.of_text(lost)).outcome is ParseOutcome.FAILED
    assert read_result(Content.of_text("<nvidia_smi_log></nvidia_smi_log>\n")).outcome is ParseOutcome.FAILED


def test_another_tools_table_of_processes_is_not_claimed() -> None:
    result = read_result(Content.of_text("pid, process_name, used_gpu_memory [MiB]\n1, python, 5 MiB\n"))
    assert result.outcome is ParseOutcome.REFUSED


def test_energy_since_the_driver_was_loaded_is_set_aside_and_what_is_not_available_is_not() -> None:
    text = "#Entity   POWER   TOTEC\nID        W       mJ\nGPU 0     N/A     5000\nGPU 1     N/A     N/A\n"
    one, two = read_result(Content.of_text(text)).runs
    assert [(aside.key, aside.unit) for aside in one.rejected] == [("TOTEC", "mJ")]
    assert two.rejected == ()
