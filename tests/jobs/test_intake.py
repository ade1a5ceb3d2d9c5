"""What is handed in is opened one after another, bounded, whatever it is packed in."""

from __future__ import annotations

import gzip
import io
import random
import zipfile
from pathlib import Path

import pytest

from jobs import intake
from jobs.errors import UserError
from jobs.intake import Arrival, arrivals, find_files


def open_all(*named: str, stdin: bytes | None = None) -> list[Arrival]:
    return list(arrivals(find_files(named), None if stdin is None else io.BytesIO(stdin)))


def zipped(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_a_folder_is_read_in_order_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b.txt", "a/c.txt", ".hidden", ".git/x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [one.name for one in open_all(str(tmp_path))] == ["a/c.txt", "b.txt"]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x")
    assert [one.name for one in open_all(str(file), str(tmp_path / "*.txt"))] == ["a.txt"]


def test_what_leads_nowhere_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file, folder or pattern"):
        find_files([str(tmp_path / "*.json")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no files"):
        find_files([str(tmp_path / "empty")])


def test_a_bomb_is_given_up_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "LARGEST_FILE_BYTES", 2**20)
    monkeypatch.setattr(intake, "LARGEST_ARCHIVE_BYTES", 2**20)
    packed = tmp_path / "a.gz"
    packed.write_bytes(gzip.compress(bytes(2**22)))
    (one,) = open_all(str(packed))
    assert (one.content, "bytes, unpacked" in one.problem) == (None, True)
    archive = zipped(tmp_path / "a.zip", small=b"x", large=bytes(2**22), later=b"y")
    assert [bool(one.problem) for one in open_all(str(archive))] == [False, True, True]


@pytest.mark.parametrize("name", ["../a", "/a", "C:\\a", "..\\a", "."])
def test_a_name_that_leads_out_of_the_archive_is_refused(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as target:
        target.writestr(zipfile.ZipInfo(name), "x")
    (one,) = open_all(str(archive))
    assert (one.content, "leads out" in one.problem) == (None, True)


def test_damaged_archives_never_crash(tmp_path: Path) -> None:
    generator = random.Random(5)
    whole = {
        "a.zip": zipped(tmp_path / "whole.zip", one=b"x" * 300, two=b"y" * 50).read_bytes(),
        "a.gz": gzip.compress(b"x" * 300),
    }
    for name, raw in whole.items():
        for _ in range(300):
            damaged = bytearray(raw[: generator.randrange(4, len(raw) + 1)])
            damaged[generator.randrange(4, len(damaged) + 1) - 1] ^= 1 << generator.randrange(8)
            (tmp_path / name).write_bytes(bytes(damaged))
            assert all(one.content or one.problem for one in open_all(str(tmp_path / name)))


def test_standard_input_may_be_packed() -> None:
    seen = [one.content.sample for one in arrivals(find_files(["-"]), io.BytesIO(gzip.compress(b"x\n"))) if one.content]
    assert seen == ["x\n"]
