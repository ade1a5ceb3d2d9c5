"""Opens what people hand in: files, folders, patterns, standard input, gzip and zip; bounded, and one after another.

What is packed is told by its first bytes, not by its name. Names inside an archive are only shown, never used as paths.
"""

from __future__ import annotations

import glob
import gzip
import lzma
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol

from jobs.content import Content
from jobs.errors import UserError

STDIN = "-"
LARGEST_FILE_BYTES = 2**30
"""The largest result, unpacked."""
LARGEST_ARCHIVE_BYTES = 2**31
"""What all members of one archive may come to, unpacked."""
MOST_MEMBERS = 20_000
_COPY_BYTES = 2**20
TOO_LARGE = f"has more than {LARGEST_FILE_BYTES:,} bytes, unpacked"
UNPACKING_FAILS = (
    *(zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, NotImplementedError, RuntimeError, ValueError, OverflowError),
)
"""What the standard library raises for a damaged, cut, encrypted or unknown kind of archive."""
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One thing handed in: its content, or why there is none."""

    name: str
    """Its own name, or its path below the folder or in the archive: what identifies it."""
    shown: str
    """The same as it was named on the command line."""
    content: Content | None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """A file that was named or found, and the name it goes by: its own, or its path below the folder named."""

    path: Path
    name: str
    shown: str

    def arrival(self, content: Content | None, problem: str = "", member: str = "") -> Arrival:
        """Return what it, or a member of it, holds."""
        inner = f"/{member}" if member else ""
        return Arrival(name=self.name + inner, shown=self.shown + inner, content=content, problem=problem)


def find_files(named: Sequence[str]) -> list[Handed]:
    """Return the files behind paths, folders and patterns, in order, each once; UserError for what leads nowhere."""
    found: dict[Path, Handed] = {}
    for text in named:
        for handed in _behind(text):
            found.setdefault(handed.path, handed)
    return list(found.values())


def _behind(text: str) -> Iterator[Handed]:
    if text == STDIN:
        yield Handed(path=Path(STDIN), name="stdin", shown="stdin")
        return
    path = Path(text)
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file() and not _is_hidden(p.relative_to(path)))
        if not files:
            raise UserError(f"{text}: the folder holds no files")
        yield from (_found(p, p.relative_to(path).as_posix()) for p in files)
    elif path.exists():
        yield Handed(path=path, name=path.name, shown=text)
    else:
        matches = sorted(match for match in glob.glob(text, recursive=True) if match != text)
        if not matches:
            raise UserError(f"{text}: no such file, folder or pattern")
        for match in matches:
            yield from (
                _behind(match)
                if Path(match).is_dir()
                else [Handed(path=Path(match), name=Path(match).name, shown=match)]
            )


def _found(path: Path, below: str) -> Handed:
    return Handed(path=path, name=below, shown=below)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def arrivals(files: Iterable[Handed], stdin: BinaryIO | None = None) -> Generator[Arrival]:
    """Yield what each file holds, members of archives one by one; a temporary copy lives until the next one."""
    with tempfile.TemporaryDirectory(prefix="tracker-intake-") as folder:
        scratch = Path(folder) / "member"
        for handed in files:
            try:
                yield from _open(handed, scratch, stdin)
            except OSError as error:
                yield handed.arrival(None, f"cannot be read: {error.strerror or error}")


def _open(handed: Handed, scratch: Path, stdin: BinaryIO | None) -> Iterator[Arrival]:
    path = handed.path
    if path == Path(STDIN):
        if stdin is None:
            raise UserError("standard input cannot be read here")
        path = scratch.with_name("stdin")
        if _copy(stdin, path, LARGEST_FILE_BYTES) is None:
            yield handed.arrival(None, TOO_LARGE)
            return
    elif not path.is_file():
        yield handed.arrival(None, "not a regular file")
        return
    with path.open("rb") as file:
        start = file.read(4)
    if start.startswith(_GZIP):
        yield _unzip(handed, path, scratch)
    elif start == _ZIP:
        yield from _members(handed, path, scratch)
    elif path.stat().st_size > LARGEST_FILE_BYTES:
        yield handed.arrival(None, TOO_LARGE)
    else:
        yield handed.arrival(Content(handed.name, path))


class Readable(Protocol):
    """Something to read bytes from."""

    def read(self, size: int, /) -> bytes: ...


def _copy(source: Readable, target: Path, limit_bytes: int) -> int | None:
    """Copy at most `limit_bytes`; return how many were copied, None if there were more."""
    copied = 0
    with target.open("wb") as file:
        while chunk := source.read(_COPY_BYTES):
            copied += len(chunk)
            if copied > limit_bytes:
                return None
            file.write(chunk)
    return copied


def _unzip(handed: Handed, path: Path, scratch: Path) -> Arrival:
    try:
        with gzip.open(path) as packed:
            copied = _copy(packed, scratch, LARGEST_FILE_BYTES)
    except UNPACKING_FAILS as error:
        return handed.arrival(None, f"the gzip file is damaged or cut: {error}")
    if copied is None:
        return handed.arrival(None, TOO_LARGE)
    return handed.arrival(Content(handed.name.removesuffix(".gz"), scratch))


def _members(handed: Handed, path: Path, scratch: Path) -> Iterator[Arrival]:
    try:
        archive = zipfile.ZipFile(path)
    except UNPACKING_FAILS as error:
        yield handed.arrival(None, f"the zip file is damaged or cut: {error}")
        return
    left = LARGEST_ARCHIVE_BYTES
    with archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) > MOST_MEMBERS:
            yield handed.arrival(None, f"has {len(members):,} members; at most {MOST_MEMBERS:,} are read")
            return
        for member in members:
            copied, problem = _unpack(archive, member, scratch, min(left, LARGEST_FILE_BYTES))
            left -= copied
            content = None if problem else Content(member.filename, scratch)
            yield handed.arrival(content, problem, member.filename)


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, scratch: Path, limit_bytes: int) -> tuple[int, str]:
    """Return how many bytes were unpacked, and why it could not be (empty if it could)."""
    if problem := _unsafe(member):
        return 0, problem
    try:
        with archive.open(member) as packed:
            copied = _copy(packed, scratch, limit_bytes)
    except UNPACKING_FAILS as error:
        return 0, f"cannot be unpacked: {error}"
    if copied is None:
        return limit_bytes, "the archive unpacks to more than is read: given up"
    return copied, ""


def _unsafe(member: zipfile.ZipInfo) -> str | None:
    path = PurePosixPath(member.filename.replace("\\", "/"))
    if not path.parts or path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
        return "its name leads out of the archive"
    return "it is encrypted" if member.flag_bits & 0x1 else None
