"""What an attempt captured of where it ran is kept, whatever a benchmark made of the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from sqlmodel import select

from jobs.protocols import JobOutput
from tracker.pipeline.environments import LARGEST_BYTES, keep_environment, show_environments
from tracker.store.engine import Store, open_store
from tracker.store.tables import EnvironmentRow
from tracker.store.views.runs import Attempt, Output, RunDetail, RunItem


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'tracker.db'}")
    yield opened
    opened.close()


def _keep(store: Store, folder: Path, text: str, size_bytes: int | None = None) -> tuple[int | None, str]:
    path = folder / "environment.json"
    path.write_text(text, encoding="utf-8")
    size_bytes = path.stat().st_size if size_bytes is None else size_bytes
    output = JobOutput(kind="environment", name=path.name, path=path, size_bytes=size_bytes, sha256="0")
    with store.write() as session:
        return keep_environment(session, (output,))


def test_the_same_environment_is_one_row_and_its_flags_are_told(store: Store, tmp_path: Path) -> None:
    text = json.dumps({"fingerprint": "ab12", "pinned": False, "replayed": True})
    first, flags = _keep(store, tmp_path, text)
    assert first is not None
    assert flags == "unpinned,replayed"
    assert _keep(store, tmp_path, text) == (first, flags)


@pytest.mark.parametrize("text", ["", "[]", "5", "[" * 100_000, "{" + '"a":' + "9" * 5000 + "}"])
def test_what_is_no_record_is_marked_unreadable(store: Store, tmp_path: Path, text: str) -> None:
    assert _keep(store, tmp_path, text) == (None, "environment_unreadable")


def test_a_record_of_gigabytes_is_not_read(store: Store, tmp_path: Path) -> None:
    assert _keep(store, tmp_path, "{}", LARGEST_BYTES + 1) == (None, "environment_unreadable")


@pytest.mark.parametrize("name", ["\ud800", 5, ["x"], "", "a\0"])
def test_a_fingerprint_that_is_no_name_is_made_anew(store: Store, tmp_path: Path, name: object) -> None:
    row, _ = _keep(store, tmp_path, json.dumps({"fingerprint": name}))
    assert row is not None


def _detail(path: str, size_bytes: int) -> RunDetail:
    """Return a run of which only the attempt's environment and its file count."""
    output = Output(id=1, kind="environment", name="environment.json", path=path, size_bytes=size_bytes, sha256="0")
    attempt = Attempt(
        number=1,
        key="run-1-1",
        host="here",
        outcome="ok",
        detail="",
        exit_code=0,
        flags="",
        facts={},
        started_at=None,
        ended_at=None,
        environment={"shared": True},
        outputs=(output,),
        put_aside=(),
    )
    run = RunItem(**dict.fromkeys((field.name for field in fields(RunItem)), ""))
    build = {"build_tag": "", "build_kind": "", "build_digest": ""}
    return RunDetail(run=run, labels={}, **build, handed_in=False, attempts=(attempt,), values=())


def test_what_an_attempt_has_of_its_own_is_not_kept_as_the_environments(store: Store, tmp_path: Path) -> None:
    captured = {"fingerprint": "ab12", "host": {"kernel": "6"}, "packages": ["a==1"], "build": {"version": "1"}}
    _keep(store, tmp_path, json.dumps(captured))
    with store.read() as session:
        facts = json.loads(session.exec(select(EnvironmentRow.facts)).one())
    assert facts == {"fingerprint": "ab12", "host": {"kernel": "6"}}


def test_a_run_is_shown_with_what_its_attempt_captured(tmp_path: Path) -> None:
    (tmp_path / "environment.json").write_text('{"packages": ["a==2"]}')
    (one,) = show_environments(_detail("environment.json", 22), tmp_path).attempts
    assert one.environment == {"packages": ["a==2"]}


@pytest.mark.parametrize("path", ["gone.json", "../outside.json", "link.json", "damaged.json", ""])
def test_where_the_file_is_gone_or_not_ours_the_shared_facts_are_shown(tmp_path: Path, path: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "outside.json").write_text("{}")
    (home / "damaged.json").write_text("[")
    (home / "link.json").symlink_to(tmp_path / "outside.json")
    (one,) = show_environments(_detail(path, 2), home).attempts
    assert one.environment == {"shared": True}
