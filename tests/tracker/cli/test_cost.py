"""Books and costs on the command line: editions, two views, and what to do where there is nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tracker.cli.conftest import Tracker
from tests.tracker.cli.sweeps import ingest_sweep
from tests.tracker.seed import Seeded

OUTPUT = "usd_per_m_output_tokens"
POINTS = """release,date,gpu,gpus,concurrency,output_tok_s,total_tok_s
1.0.0,2026-04-01,B200,8,64,20000,40000
1.1.0,2026-08-01,B200,8,64,20000,40000
1.10.0,2026-11-01,B200,8,64,40000,80000
"""
TEAM = """
kind = "price"
name = "team"
[[edition]]
name = "2026-10"
valid_from = 2026-10-01
source = "contract 12"
[edition.gpu]
B200 = { own = 1.00 }
"""


@pytest.fixture
def points(tmp_path: Path) -> Path:
    file = tmp_path / "points.csv"
    file.write_text(POINTS, encoding="utf-8")
    return file


def values(answer: object, view: str) -> list[float]:
    (item,) = answer.data["items"]  # type: ignore[attr-defined]
    return [one[view][OUTPUT]["value"] for one in item["releases"]]


def test_shipped_editions_are_listed_and_shown_with_their_source(tracker: Tracker) -> None:
    listed = tracker("books", "list", "--json").data["items"]
    assert {one["edition"] for one in listed} >= {"inferencex/2025-08", "inferencex/2026-07"}
    assert all(one["source"] and not one["own"] for one in listed)
    shown = tracker("books", "show", "inferencex/2026-07")
    assert "B200         1.73      2.07     3.7" in shown.out
    assert "source: InferenceX-app" in shown.out


def test_an_unknown_book_is_refused_with_the_known_ones(tracker: Tracker) -> None:
    answer = tracker("books", "show", "nonsense")
    assert answer.code == 2
    assert "expected a book or an edition; known: inferencex/2025-08" in answer.err


def test_a_book_is_checked_with_every_mistake_in_it(tracker: Tracker, tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(TEAM.replace("1.00", "0").replace('source = "contract 12"', ""), encoding="utf-8")
    answer = tracker("books", "check", str(file))
    assert answer.code == 2
    assert "edition[1].source: expected a text that is not empty, found nothing" in answer.err
    assert "edition[1].gpu.B200.own: expected a number above 0" in answer.err
    file.write_text(TEAM, encoding="utf-8")
    assert tracker("books", "check", str(file)).out.endswith("good, team/2026-10\n")
    file.write_text(TEAM.replace("1.00", "98"), encoding="utf-8")
    doubted = tracker("books", "check", str(file))
    assert (doubted.code, "doubtful, team/2026-10" in doubted.out) == (0, True)
    assert "B200.own is 98 USD/GPU-hour, other books say 1.73 to 3.7" in doubted.out
    assert "no book of your own to check" in tracker("books", "check").err


def test_a_team_cannot_take_the_name_of_a_shipped_book(tracker: Tracker, home: Path) -> None:
    (home / "books").mkdir(parents=True)
    (home / "books" / "mine.toml").write_text(TEAM.replace('"team"', '"inferencex"'), encoding="utf-8")
    answer = tracker("books", "list")
    assert answer.code == 2
    assert "mine.toml: name: expected a name of its own" in answer.err


def test_editing_a_book_moves_as_priced_only_and_says_since_which_edition(
    tracker: Tracker, home: Path, points: Path
) -> None:
    before = tracker("cost", str(points), "--json")
    assert values(before, "as_priced") == pytest.approx(
        [price / (rate * 3600 / 1e6) for price, rate in ((1.95, 2500), (1.73, 2500), (1.73, 5000))], rel=1e-12
    )
    (home / "books").mkdir(parents=True)
    (home / "books" / "team.toml").write_text(TEAM, encoding="utf-8")
    after = tracker("cost", str(points), "--json")
    assert values(after, "software_only") == values(before, "software_only")
    assert values(after, "as_priced")[:2] == values(before, "as_priced")[:2]
    assert values(after, "as_priced")[2] == pytest.approx(1.00 / (5000 * 3600 / 1e6), rel=1e-12)
    said = tracker("cost", str(points)).out
    assert "from 1.10.0: $1.73/GPU-hour, own, inferencex/2026-07 -> $1/GPU-hour, own, team/2026-10" in said
    assert "valid since 2026-10-01" in said
    assert "held (software only): $1.95/GPU-hour, own, inferencex/2025-08" in said


def test_stored_series_are_priced_release_by_release(tracker: Tracker, tmp_path: Path) -> None:
    ingest_sweep(tracker, tmp_path / "a", "1.0.0", "2026-04-01")
    ingest_sweep(tracker, tmp_path / "b", "1.1.0", "2026-08-01", gain=1.25)
    answer = tracker("cost", "--text", "concurrency 64", "--json")
    assert values(answer, "as_priced") == pytest.approx([1.95 / 20.16, 1.73 / 25.2], rel=1e-12)
    assert values(answer, "software_only") == pytest.approx([1.95 / 20.16, 1.95 / 25.2], rel=1e-12)
    assert "0.09673" in tracker("cost", "--text", "concurrency 64").out
    assert "no config with a throughput has each word" in tracker("cost", "--text", "nonsense").err


DISAGGREGATED = {
    "hw": "B200", "conc": 256, "model": "acme/tiny-120b", "infmax_model_prefix": "tiny", "framework": "dynamo-trt",
    "precision": "fp4", "isl": 1024, "osl": 1024, "is_multinode": True, "disagg": True, "image": "img:1.0.0",
    "prefill_tp": 4, "prefill_num_workers": 2, "decode_tp": 8, "decode_num_workers": 1, "num_prefill_gpu": 8,
    "num_decode_gpu": 8, "tput_per_gpu": 3000.0, "output_tput_per_gpu": 2000.0, "median_intvty": 50.0,
    "power_valid": True, "power_metric_schema_version": 2, "avg_power_w": 800.0,
}  # fmt: skip
"""16 GPUs give 48,000 tok/s, of which the 8 that decode give 16,000 of output."""


def test_disaggregated_serving_is_divided_by_all_its_gpus_and_measured_power_counts(
    tracker: Tracker, tmp_path: Path
) -> None:
    file = tmp_path / "disagg.json"
    file.write_text(json.dumps(DISAGGREGATED), encoding="utf-8")
    done = tracker(
        "ingest", str(file), "--component", "tensorrt-llm", "--release", "1.0.0", "--at", "2026-08-01T08:00:00Z"
    )
    assert done.code == 0, done.out + done.err
    (item,) = tracker("cost", "--json").data["items"]
    figures = item["releases"][0]["as_priced"]
    assert figures[OUTPUT]["value"] == pytest.approx(1.73 / (1000 * 3600 / 1e6), rel=1e-12)
    assert figures["usd_per_m_total_tokens"]["value"] == pytest.approx(1.73 / (3000 * 3600 / 1e6), rel=1e-12)
    assert figures["usd_per_m_input_tokens"]["value"] == pytest.approx(1.73 / (2000 * 3600 / 1e6), rel=1e-12)
    assert "8 prefill + 8 decode GPUs" in figures[OUTPUT]["how"]
    assert figures["j_per_output_token"]["value"] == pytest.approx(800 / 1000, rel=1e-12)
    assert figures["j_per_output_token"]["how"].startswith("measured power, 800 W/GPU (the GPU alone)")
    assert figures["j_per_output_token"]["editions"] == []


@pytest.mark.parametrize("name", ["cost.png", "cost.svg", "cost.html"])
def test_the_chart_is_a_file(tracker: Tracker, points: Path, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    answer = tracker("cost", str(points), "--chart", str(file))
    assert answer.code == 0, answer.err
    content = file.read_bytes()
    assert content.startswith({"png": b"\x89PNG", "svg": b"<svg", "html": b"<!doctype html>"}[name[5:]])
    assert name.endswith("png") or b"software only" in content


def test_without_a_throughput_it_says_what_is_there_and_what_to_do(tracker: Tracker, tmp_path: Path) -> None:
    assert "nothing has been measured yet" in tracker("cost").err
    run = {"labels": {"isl": 128}, "metrics": {"latency_p50_ms": {"value": 5.5, "unit": "ms"}}}
    (tmp_path / "one.json").write_text(json.dumps({"tool": "tiny", "runs": [run]}), encoding="utf-8")
    kept = tracker("ingest", str(tmp_path / "one.json"), "--component", "tiny", "--release", "1.0", "--tool", "generic")
    assert kept.code == 0, kept.err
    answer = tracker("cost")
    assert (answer.code, answer.out) == (0, "")
    assert "nothing measures tokens a second here; what is measured: latency_p50_ms" in answer.err
    assert "tracker ingest" in answer.err
    assert tracker("cost", "--json").data == {"items": [], "next": None}


def test_a_machine_that_no_book_knows_gets_a_price_from_a_book_of_ones_own(
    tracker: Tracker, home: Path, seeded: Seeded
) -> None:
    said = tracker("cost").out
    assert "no figure: edition inferencex/2026-07 does not know the GPU 'xeon-8488c-2c'" in said
    assert "add it to a book of your own" in said
    (home / "books").mkdir()
    text = TEAM.replace("B200", '"xeon-8488c-2c"').replace("2026-10-01", "2020-01-01")
    (home / "books" / "team.toml").write_text(text, encoding="utf-8")
    assert "team/2026-10 since 2020-01-01" in tracker("cost").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--tier", "spot"), "--tier: expected a column of a price book, found 'spot'; known: neocloud, own, rental"),
     (("--hold", "2024"), "--hold: '2024' is no edition of a price book; known: inferencex/2025-08"),
     (("--metric", "usd_per_m_output_token"), "did you mean usd_per_m_output_tokens?"),
     (("--chart", "cost.gif"), "--chart: expected a file that ends in .png, .svg or .html, found cost.gif"),
     (("--component", "nonsense"), "no component named 'nonsense'")],
)  # fmt: skip
def test_a_wrong_option_is_refused_with_what_was_expected(
    tracker: Tracker, arguments: tuple[str, ...], said: str
) -> None:
    answer = tracker("cost", *arguments)
    assert answer.code == 2
    assert said in answer.err


@pytest.mark.parametrize(
    ("text", "said"),
    [("release,gpu\n1.0,B200\n", "expected a column output_tok_s or total_tok_s"),
     ("gpu,output_tok_s\nB200,5\n", "line 2: expected a release, found none"),
     ("release,output_tok_s\n1.0,fast\n", "line 2, column output_tok_s: expected a number, found 'fast'"),
     ("release,output_tok_s\n1.0,0\n", "line 2, column output_tok_s: expected a number above 0, found 0"),
     ("release,output_tok_s,gpus\n1.0,5,two\n", "column gpu_count: expected a whole number above 0, found 'two'"),
     ("release,output_tok_s,date\n1.0,5,soon\n", "column date: expected a day such as 2026-07-01, found 'soon'"),
     ("release,output_tok_s,tpot_ms\n1.0,5,7\n", "column tpot_ms: expected a label, or a measurement as tpot_"),
     ("release,output_tok_s,power_kw\n1.0,5,7\n", "column power_kw: expected a label, or a measurement as power_w"),
     ("release,output_tok_s,tpot_p50_ms\n1.0,5,0.0125\n", "expected ms, found 0.0125 ms, which is 80,000 tokens"),
     ("release,output_tok_s,repeat\n1.0,5,1\n1.0,6,1\n", "line 3: expected each repeat once, found it in"),
     ("release;output_tok_s\n1.0;8000,5\n1.1;8.000\n", "line 3, column output_tok_s: expected one decimal sign"),
     ("release;output_tok_s\n1.0;8,000\n", "line 2, column output_tok_s: '8,000' may be 8.000 or 8000"),
     ("release,tok/s/gpu\n1.0,5\n", "found release, tok_s_per_gpu"),
     ("[{\"release\": \"1.0\", \"output_tok_s\": [1]}]", "item 1, output_tok_s: expected a number or a text"),
     ('[{"release": 1.10, "output_tok_s": 5}]', "item 1: expected the release in quotes, found 1.1; a number loses"),
     ("[3]", "item 1: expected an object"), ("{}", "expected a list of objects"), ("[", "is not JSON")],
)  # fmt: skip
def test_a_malformed_file_is_refused_with_its_place(tracker: Tracker, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "points.csv"
    file.write_text(text, encoding="utf-8")
    answer = tracker("cost", str(file), "--gpu", "B200")
    assert answer.code == 2
    assert said in answer.err


def test_json_is_read_like_csv(tracker: Tracker, tmp_path: Path) -> None:
    file = tmp_path / "points.json"
    file.write_text('[{"release": "1.0", "gpu_count": 1, "output_tok_s": 500, "date": "2026-08-01"}]', encoding="utf-8")
    assert values(tracker("cost", str(file), "--gpu", "B200", "--json"), "as_priced") == pytest.approx([1.73 / 1.8])
    assert "it is not known on which GPU it ran" in tracker("cost", str(file)).out


def test_a_column_of_another_measurement_makes_no_configs(tracker: Tracker, tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    head = "release,gpu_count,output_tok_s,ttft_p50_ms,e2e_latency,accuracy,note"
    file.write_text(f"{head}\n1.0,1,500,100,7,0.9,a\n1.1,1,600,101,8,0.8,a\n", encoding="utf-8")
    (item,) = tracker("cost", str(file), "--gpu", "B200", "--json").data["items"]
    assert item["labels"] == {"gpu_count": 1, "note": "a"}
    assert [one["release"] for one in item["releases"]] == ["1.0", "1.1"]
