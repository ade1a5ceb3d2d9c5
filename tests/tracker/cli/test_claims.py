"""Claims on the command line: a measured change in its parts, and stated ones checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tracker.cli.conftest import Tracker
from tests.tracker.cli.sweeps import ingest_sweep

TEXT = ("--text", "concurrency 64")


@pytest.fixture
def measured(tracker: Tracker, tmp_path: Path) -> Tracker:
    """Three releases: the second brings 25 %, and a new edition of the prices holds from before the third."""
    ingest_sweep(tracker, tmp_path / "a", "1.0.0", "2026-04-01")
    ingest_sweep(tracker, tmp_path / "b", "1.1.0", "2026-06-01", gain=1.25)
    ingest_sweep(tracker, tmp_path / "c", "1.2.0", "2026-08-01", gain=1.25)
    return tracker


def test_a_change_is_taken_apart_into_software_and_price(measured: Tracker) -> None:
    (item,) = measured("claims", "show", "1.0.0", "1.2.0", *TEXT, "--json").data["items"]
    parts = {part["source"]: part["ratio"] for part in item["parts"]}
    assert parts == {
        "software": pytest.approx(1.25, rel=1e-9), "price": pytest.approx(1.95 / 1.73, rel=1e-12), "workload": 1.0,
    }  # fmt: skip
    assert item["times_better"] == pytest.approx(1.25 * 1.95 / 1.73, rel=1e-9)
    assert item["before"] == pytest.approx(1.95 / (5600 * 3600 / 1e6), rel=1e-12)
    assert item["low"] < item["times_better"] < item["high"]
    assert not item["software_only"]
    assert [(one["release"], one["verdict"]) for one in item["releases"]] == [("1.1.0", "improved"), ("1.2.0", "same")]


def test_people_read_the_parts_and_the_releases_that_brought_it(measured: Tracker) -> None:
    said = measured("claims", "show", "1.0.0", "tensorrt-llm/1.2.0", *TEXT).out
    assert "1.0.0 (2026-04-01) to 1.2.0 (2026-08-01)" in said
    assert "a claim of software and price; of software alone only as held" in said
    assert "held (software only): 0.09673 -> 0.07738 USD/M tokens, 1.25 times better" in said
    assert "1.1.0    1.0.0     1.25" in said
    assert "the other releases, 1.2.0: 1 together, none beyond the noise" in said


def test_a_change_at_one_price_is_a_claim_of_software_alone(measured: Tracker) -> None:
    (item,) = measured("claims", "show", "1.0.0", "1.1.0", *TEXT, "--json").data["items"]
    assert item["software_only"]
    assert item["kind"] == "a claim of software alone: price, power, workload and hardware were the same"


def test_days_stand_for_the_newest_release_until_then(measured: Tracker) -> None:
    (item,) = measured("claims", "show", "2026-04-30", "2026-12-31", *TEXT, "--json").data["items"]
    assert (item["from"]["release"], item["to"]["release"]) == ("1.0.0", "1.2.0")


def test_energy_is_taken_apart_into_software_and_power(measured: Tracker) -> None:
    asked = ("claims", "show", "1.0.0", "1.2.0", *TEXT, "--metric", "output_tok_s_per_mw", "--json")
    (item,) = measured(*asked).data["items"]
    parts = {part["source"]: part["ratio"] for part in item["parts"]}
    assert parts["power"] == pytest.approx(2.17 / 1.71, rel=1e-12)
    assert item["times_better"] == pytest.approx(1.25 * 2.17 / 1.71, rel=1e-9)


@pytest.mark.parametrize("kind", ["png", "svg", "html"])
def test_charts_are_files(measured: Tracker, tmp_path: Path, kind: str) -> None:
    start = {"png": b"\x89PNG", "svg": b"<svg", "html": b"<!doctype html>"}[kind]
    parts, claims = tmp_path / f"parts.{kind}", tmp_path / f"claims.{kind}"
    assert measured("claims", "show", "1.0.0", "1.2.0", *TEXT, "--chart", str(parts)).code == 0
    assert measured("claims", "check", "--chart", str(claims)).code == 0
    assert parts.read_bytes().startswith(start)
    assert claims.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("1.0.0", "9.9"), "1.0.0 to 9.9: expected two releases, or days, at which one config was measured"),
     (("1.2.0", "1.0.0"), "expected the earlier release first, found 1.2.0 and 1.0.0; 1.0.0 comes before 1.2.0"),
     (("1.0.0", "1.0.0"), "expected two different releases"), (("2020-01-01", "1.1.0"), "measured: 1.0.0, 1.1.0"),
     (("1.0.0", "2026-13-45"), "expected a release or a day such as 2026-07-01, found '2026-13-45'"),
     (("1.0.0", "1.1.0", "--metric", "cost"), "--metric: expected a derived figure, found 'cost'"),
     (("1.0.0", "1.1.0", "--metric", "interactivity_tok_s_user"), "--metric: expected a cost or an energy"),
     (("1.0.0", "1.1.0", "--tier", "spot"), "--tier: expected a column of a price book")],
)  # fmt: skip
def test_wrong_input_is_refused_with_what_was_expected(
    measured: Tracker, arguments: tuple[str, ...], said: str
) -> None:
    answer = measured("claims", "show", *arguments)
    assert answer.code == 2
    assert said in answer.err


def test_without_measurements_it_says_what_to_do(tracker: Tracker) -> None:
    answer = tracker("claims", "show", "1.0.0", "1.1.0")
    assert answer.code == 0
    assert "nothing has been measured yet" in answer.err


def test_shipped_claims_are_checked_with_their_source(tracker: Tracker) -> None:
    found = {one["claim"]: one for one in tracker("claims", "check", "--json").data["items"]}
    assert {name: (one["outcome"], one["kind"]) for name, one in found.items()} == {
        "b200-gpt-oss-120b-cost": ("holds if the price is held", "software"),
        "gb200-tokens-4x": ("holds", "software"),
        "gb300-level": ("cannot be told", "level"),
        "gb300-against-hopper": ("holds", "hardware"),
    }
    assert all(one["source"] for one in found.values())
    said = tracker("claims", "check").out
    assert "usd_per_m_tokens: 1/5.5 (1/7.667 to 1/4.2 by the printed digits)" in said
    assert "H100 against GB300 NVL72: another GPU, so no claim of software" in said


def test_a_file_of_ones_own_is_checked_and_its_mistakes_are_told(tracker: Tracker, tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    file.write_text('[[claim]]\nname = "a"\nsays = "twice"\nstated = { tok_s_per_gpu = 0 }\n', encoding="utf-8")
    answer = tracker("claims", "check", str(file))
    assert answer.code == 2
    assert f"{file}: claim[1].source: expected a text that is not empty, found nothing" in answer.err
    assert "claim[1].stated.tok_s_per_gpu: expected a number above 0" in answer.err
    assert "cannot be read" in tracker("claims", "check", str(tmp_path / "nowhere.toml")).err
