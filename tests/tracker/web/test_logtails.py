"""The end of a log: bounded, and never out of the service's folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.web.logtails import LIMIT_BYTES, read_tail, resolve_output


def test_a_long_log_is_cut_at_its_beginning(tmp_path: Path) -> None:
    file = tmp_path / "run.log"
    file.write_bytes(b"a" * LIMIT_BYTES + b"end")
    tail = read_tail(file, None)
    assert tail is not None
    assert (len(tail.text), tail.skipped_bytes, tail.next) == (LIMIT_BYTES, 3, LIMIT_BYTES + 3)
    assert tail.text.endswith("end")


def test_reading_on_gives_what_was_added(tmp_path: Path) -> None:
    file = tmp_path / "run.log"
    file.write_text("one\n")
    first = read_tail(file, None)
    assert first is not None
    file.write_text("one\ntwo\n")
    second = read_tail(file, first.next)
    assert second is not None
    assert second.text == "two\n"


def test_a_log_that_began_again_is_read_from_its_end(tmp_path: Path) -> None:
    file = tmp_path / "run.log"
    file.write_text("new")
    tail = read_tail(file, 4000)
    assert tail is not None
    assert tail.text == "new"


def test_no_file_is_no_log(tmp_path: Path) -> None:
    assert read_tail(tmp_path / "run.log", None) is None


@given(raw=st.binary(max_size=300))
def test_any_bytes_become_text_without_control_characters(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    file = tmp_path_factory.mktemp("log") / "run.log"
    file.write_bytes(raw)
    tail = read_tail(file, None)
    assert tail is not None
    assert not set(tail.text) & {chr(code) for code in range(32) if chr(code) not in "\n\t"}


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a/../../secret", "link", "missing", "."])
def test_an_output_cannot_lead_out_of_the_folder(tmp_path: Path, path: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "secret").write_text("x")
    (home / "link").symlink_to(tmp_path / "secret")
    assert resolve_output(home, path) is None


def test_a_link_is_no_output_even_inside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "tracker.toml").write_text("token")
    (tmp_path / "run.log").symlink_to(tmp_path / "tracker.toml")
    assert resolve_output(tmp_path, "run.log") is None


def test_an_output_in_the_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "run.log").write_text("x")
    assert resolve_output(tmp_path, "a/run.log") == (tmp_path / "a" / "run.log").resolve()
