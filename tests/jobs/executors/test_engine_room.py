"""The room for images is that of the engine's machine, and unknown where nobody can look; never guessed, never 0."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from jobs.executors._engine_client import EngineAddress
from jobs.executors._engine_options import EngineOptions
from jobs.executors._engine_room import _DF, look_at_room


def at(url: str) -> EngineOptions:
    return EngineOptions(address=EngineAddress(url=url))


def test_an_engine_here_has_the_room_of_the_disk_that_it_names(tmp_path: Path) -> None:
    room = look_at_room(at("unix:///run/docker.sock"), {"DockerRootDir": str(tmp_path)})
    assert room.free_bytes == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.05)
    assert room.folder == str(tmp_path)


@pytest.mark.parametrize("info", [{}, {"DockerRootDir": "/nonexistent/docker"}, {"DockerRootDir": None}])
def test_an_engine_here_that_names_no_folder_of_this_machine_has_unknown_room(info: dict[str, object]) -> None:
    room = look_at_room(at("unix:///run/docker.sock"), info)
    assert room.free_bytes is None
    assert "not on this machine" in room.unknown


def test_over_tls_the_room_is_unknown_though_this_machine_has_such_a_folder(tmp_path: Path) -> None:
    room = look_at_room(at("tcp://gpu-box:2376"), {"DockerRootDir": str(tmp_path)})
    assert room.free_bytes is None
    assert "by ssh only" in room.unknown


def test_by_ssh_an_engine_that_names_no_folder_is_not_asked_about() -> None:
    room = look_at_room(at("ssh://gpu-box"), {})
    assert room.free_bytes is None
    assert "does not say where it keeps images" in room.unknown


@pytest.mark.parametrize(
    ("printed", "kib"),
    [
        ("Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 1000 400 600 40% /var/lib\n", "600"),
        ("Welcome to gpu-box, 3 users\nFilesystem ...\nmy pool/a b 1000 1000 0 100% /data with space\n", "0"),
        ("Filesystem 1024-blocks Used Available Capacity Mounted on\n", None),
        ("This account is currently not available.\n", None),
    ],
)
def test_only_a_line_of_df_counts(printed: str, kib: str | None) -> None:
    found = _DF.search(printed)
    assert (found["available_kib"] if found else None) == kib
