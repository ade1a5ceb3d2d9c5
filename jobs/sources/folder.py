"""Releases in a folder: each sub-folder is a release named by its folder, each wheel file one named by its version."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from packaging.version import Version

from jobs.errors import TryLater, UserError
from jobs.protocols import PublishedBuild, ReleaseSource, SourceAnswer
from jobs.sources._answers import check_options, make_answer
from jobs.sources._wheels import Wheel, choose_wheel, make_wheel_build, read_wheel_name, this_host

RELEASE_LIMIT_BYTES = 4 * 1024**3
RELEASE_LIMIT_FILES = 50_000
_CHUNK_BYTES = 1024 * 1024


def create(options: Mapping[str, object]) -> ReleaseSource:
    """Return the source for the folder `path`."""
    given = check_options("folder", options, {"path": True})
    return ReleaseFolder(Path(given["path"]).expanduser())


class ReleaseFolder:
    """A folder whose sub-folders and wheel files are releases; names that begin with a dot are left alone."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def list_builds(self) -> SourceAnswer:
        """Return a build for every sub-folder and, of the wheels of each version, for the one that fits best."""
        builds: list[PublishedBuild] = []
        unreadable: list[tuple[str, str]] = []
        wheels: dict[Version, list[Wheel]] = defaultdict(list)
        try:
            for entry in self._entries():
                if entry.is_dir():
                    self._add_folder(entry, builds, unreadable)
                elif entry.suffix == ".whl" and entry.is_file():
                    self._add_wheel(entry, wheels, unreadable)
                else:
                    unreadable.append((entry.name, "neither a folder nor a wheel"))
        except FileNotFoundError as error:
            raise TryLater(
                f"{error.filename} vanished while it was read; try again when nothing writes there"
            ) from error
        except OSError as error:
            raise UserError(
                f"release folder {self._path}: {error.filename} cannot be read: {error.strerror}"
            ) from error
        _check_one_package(self._path, wheels)
        for version in sorted(wheels):
            wheel, misfit = choose_wheel(wheels[version], this_host())
            builds.append(make_wheel_build(wheel, str(self._path.absolute() / wheel.filename), misfit))
        return make_answer(builds, unreadable)

    def _entries(self) -> list[Path]:
        """Return what lies in the folder, by name; raise UserError where there is no folder."""
        if not self._path.is_dir():
            found = "a file" if self._path.exists() else "nothing"
            raise UserError(f"release folder {self._path}: expected a folder of releases there, found {found}")
        return sorted(entry for entry in self._path.iterdir() if not entry.name.startswith("."))

    def _add_folder(self, entry: Path, builds: list[PublishedBuild], unreadable: list[tuple[str, str]]) -> None:
        digest, size_bytes = digest_folder(entry)
        if not size_bytes:
            unreadable.append((entry.name, "an empty folder"))
            return
        builds.append(
            PublishedBuild(
                tag=entry.name,
                kind="folder",
                digest=digest,
                platform="any",
                location=str(entry.absolute()),
                size_bytes=size_bytes,
            )
        )

    def _add_wheel(self, entry: Path, wheels: dict[Version, list[Wheel]], unreadable: list[tuple[str, str]]) -> None:
        try:
            name, version, build, tags = read_wheel_name(entry.name)
        except ValueError as error:
            unreadable.append((entry.name, str(error)))
            return
        content = hashlib.sha256()
        size_bytes = _hash_file(entry, content)
        wheels[version].append(
            Wheel(
                filename=entry.name,
                name=name,
                version=version,
                build=build,
                tags=tags,
                digest=f"sha256:{content.hexdigest()}",
                size_bytes=size_bytes,
            )
        )


def digest_folder(folder: Path) -> tuple[str, int]:
    """Return `sha256:<hex>` over names, kinds and contents below the folder, and the bytes of its files.

    Times, owners and permissions do not count, so a copy has the same digest; links count by where they point and are
    not followed. Raise UserError where the folder is too large to be read at every check.
    """
    total, size_bytes = hashlib.sha256(), 0
    for number, path in enumerate(_walk(folder)):
        mode = path.lstat().st_mode
        total.update(f"{path.relative_to(folder).as_posix()}\0{stat.S_IFMT(mode)}\0".encode("utf-8", "surrogateescape"))
        if stat.S_ISLNK(mode):
            total.update(os.fsencode(os.readlink(path)) + b"\0")
        elif stat.S_ISREG(mode):
            size_bytes += path.lstat().st_size
            _check_size(folder, number, size_bytes)
            content = hashlib.sha256()
            _hash_file(path, content)
            total.update(content.digest())
    return f"sha256:{total.hexdigest()}", size_bytes


def _walk(folder: Path) -> Iterator[Path]:
    """Yield all below the folder in one fixed order, without following links."""
    for path in sorted(folder.iterdir()):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)


def _hash_file(path: Path, into: hashlib._Hash) -> int:
    """Add a file's content to a hash and return its length."""
    size_bytes = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            into.update(chunk)
            size_bytes += len(chunk)
    return size_bytes


def _check_size(folder: Path, files: int, size_bytes: int) -> None:
    if size_bytes > RELEASE_LIMIT_BYTES or files > RELEASE_LIMIT_FILES:
        raise UserError(
            f"release {folder}: more than {RELEASE_LIMIT_BYTES >> 30} GiB or {RELEASE_LIMIT_FILES} files, too much to "
            "be compared at every check; keep only what is installed in it, or publish it as a wheel"
        )


def _check_one_package(path: Path, wheels: Mapping[Version, list[Wheel]]) -> None:
    """Raise UserError where wheels of several packages lie together: one folder is one component."""
    names = sorted({wheel.name for group in wheels.values() for wheel in group})
    if len(names) > 1:
        raise UserError(
            f"release folder {path}: wheels of several packages ({', '.join(names)}); give each its own folder"
        )
