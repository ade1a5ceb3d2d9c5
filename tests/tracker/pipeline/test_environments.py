"""What an attempt captured of where it ran is kept, whatever a benchmark made of the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.protocols import JobOutput
from tracker.pipeline.environments import LARGEST_BYTES, keep_environment
from tracker.store.engine import Store, open_store


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
