"""Releases in a folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from jobs.errors import UserError
from jobs.sources import folder
from jobs.sources.folder import create, digest_folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    release = tmp_path / "releases" / "v1.0.0" / "bin"
    release.mkdir(parents=True)
    (release / "server").write_bytes(b"\x7fELF one")
    return tmp_path / "releases"


def test_a_sub_folder_is_a_release_named_by_its_folder(home: Path) -> None:
    (build,) = create({"path": str(home)}).list_builds().builds
    assert (build.tag, build.kind, build.size_bytes) == ("v1.0.0", "folder", 8)
    assert build.location == str(home / "v1.0.0")


def test_a_wheel_is_a_release_named_by_its_version_and_the_fitting_one_is_taken(home: Path) -> None:
    (home / "demo-2.0.0-cp27-cp27m-win32.whl").write_bytes(b"old")
    (home / "demo-2.0.0-py3-none-any.whl").write_bytes(b"new")
    (home / "demo-2.1.0-cp27-cp27m-win32.whl").write_bytes(b"old")
    builds = [b for b in create({"path": str(home)}).list_builds().builds if b.kind == "wheel"]
    assert [(b.tag, b.platform, b.misfit is None) for b in builds] == [
        ("2.0.0", "py3-none-any", True),
        ("2.1.0", "cp27-cp27m-win32", False),
    ]
    assert builds[0].location == str(home / "demo-2.0.0-py3-none-any.whl")


def test_a_copy_has_the_same_digest_whatever_its_times(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / "v1.0.0", tmp_path / "copy")
    os.utime(tmp_path / "copy" / "bin" / "server", (0, 0))
    assert digest_folder(home / "v1.0.0") == digest_folder(tmp_path / "copy")


@pytest.mark.parametrize("change", ["content", "name", "added", "emptied", "linked"])
def test_any_change_of_content_changes_the_digest(home: Path, change: str) -> None:
    before = digest_folder(home / "v1.0.0")[0]
    server = home / "v1.0.0" / "bin" / "server"
    match change:
        case "content":
            server.write_bytes(b"\x7fELF two")
        case "name":
            server.rename(server.with_name("other"))
        case "added":
            (home / "v1.0.0" / "empty").mkdir()
        case "emptied":
            server.write_bytes(b"")
        case "linked":
            server.rename(server.with_name("other"))
            server.symlink_to("other")
    assert digest_folder(home / "v1.0.0")[0] != before


def test_links_are_not_followed_and_a_pipe_does_not_hang(home: Path) -> None:
    (home / "v1.0.0" / "loop").symlink_to(home)
    os.mkfifo(home / "v1.0.0" / "pipe")
    assert digest_folder(home / "v1.0.0")[1] == 8


def test_what_is_no_release_is_listed_with_the_reason_and_hidden_names_are_left_alone(home: Path) -> None:
    (home / "notes.txt").write_text("x")
    (home / "v2.0.0").mkdir()
    (home / "broken.whl").write_text("x")
    (home / ".git").mkdir()
    os.mkfifo(home / "demo-1.0.0-py3-none-any.whl")
    answer = create({"path": str(home)}).list_builds()
    assert [build.tag for build in answer.builds] == ["v1.0.0"]
    assert [name for name, _ in answer.unreadable] == [
        "broken.whl",
        "demo-1.0.0-py3-none-any.whl",
        "notes.txt",
        "v2.0.0",
    ]


def test_an_empty_folder_has_no_releases_yet(tmp_path: Path) -> None:
    assert create({"path": str(tmp_path)}).list_builds().builds == ()


@pytest.mark.parametrize("found", ["nothing", "a file"])
def test_a_path_that_is_no_folder_is_an_error_that_says_what_is_there(tmp_path: Path, found: str) -> None:
    if found == "a file":
        (tmp_path / "x").write_text("x")
    with pytest.raises(UserError, match=f"expected a folder of releases there, found {found}"):
        create({"path": str(tmp_path / "x")}).list_builds()


def test_wheels_of_several_packages_are_refused(tmp_path: Path) -> None:
    (tmp_path / "demo-1.0-py3-none-any.whl").write_bytes(b"x")
    (tmp_path / "numpy-2.0-py3-none-any.whl").write_bytes(b"x")
    with pytest.raises(UserError, match=r"several packages \(demo, numpy\)"):
        create({"path": str(tmp_path)}).list_builds()


def test_a_release_too_large_to_compare_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "RELEASE_LIMIT_BYTES", 7)
    with pytest.raises(UserError, match=r"release .*v1\.0\.0: more than"):
        create({"path": str(home)}).list_builds()


def test_a_release_whose_name_is_no_text_is_listed_as_unreadable(home: Path) -> None:
    os.rename(home / "v1.0.0", os.fsencode(home) + b"/v1.0.1\xff")
    answer = create({"path": str(home)}).list_builds()
    assert answer.builds == ()
    assert answer.unreadable == (("v1.0.1\ufffd", "its name holds the unusable character U+DCFF"),)
