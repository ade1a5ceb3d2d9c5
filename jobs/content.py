"""One result file as parsers see it: decoded, cleaned of colours and progress bars, and never held whole if it is long.

A long log (over `WHOLE_BYTES`) is not read line by line: what stands around the parser's landmarks, and the head and
the tail, is all that a parser gets. Reading 500 MB so costs two passes of `bytes.find` and a few megabytes.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from jobs.errors import Cut, NoResult, Refused
from jobs.strict_json import decode, decode_start

WHOLE_BYTES = 4 * 2**20
"""A text up to this size is read whole."""
DOCUMENT_BYTES = 64 * 2**20
"""The largest JSON or CSV that is read; these cannot be read in part."""
PASSAGES_BYTES = 12 * 2**20
"""How much of a long log may stand around landmarks."""
SAMPLE_BYTES = 128 * 2**10
"""How much of the head, and of the tail, is looked at to recognise a tool."""
AROUND_BYTES = 32 * 2**10
"""How much is read before and after a landmark."""
_CHUNK_BYTES = 2**20
_BARE_ARRAYS_ABOVE_BYTES = 8 * 2**20

_ANSI = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_NUMBERS_ONLY = re.compile(rb"\[[-+0-9.eE,\s]{64,}\]")
_NUMBERS_ONLY_TEXT = re.compile(_NUMBERS_ONLY.pattern.decode())
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class Content:
    """The bytes of one result file with a name for messages; the name says nothing about what is inside."""

    def __init__(self, name: str, source: bytes | Path) -> None:
        self.name = name
        self._source = source

    @classmethod
    def of_text(cls, text: str, name: str = "result") -> Content:
        """Return the content of a text in memory."""
        return cls(name, text.encode("utf-8", "surrogatepass"))

    def open(self) -> BinaryIO:
        """Return the bytes as a file opened for reading; a small file is read from disk once."""
        if isinstance(self._source, Path):
            return self._source.open("rb") if self._small is None else io.BytesIO(self._small)
        return io.BytesIO(self._source)

    @cached_property
    def _small(self) -> bytes | None:
        """The bytes of a small file; None of a long one."""
        if not isinstance(self._source, Path) or self.size_bytes > WHOLE_BYTES:
            return None
        return self._source.read_bytes()

    @cached_property
    def size_bytes(self) -> int:
        """The number of bytes."""
        return self._source.stat().st_size if isinstance(self._source, Path) else len(self._source)

    @cached_property
    def _encoding(self) -> tuple[str, int]:
        start = self._read(0, 4)
        return next(((name, len(bom)) for bom, name in _BOMS if start.startswith(bom)), ("utf-8", 0))

    def _read(self, start: int, length: int) -> bytes:
        with self.open() as file:
            file.seek(start)
            return file.read(length)

    def _text(self, raw: bytes) -> str:
        text = raw.decode(self._encoding[0], "replace")
        text = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
        return _ANSI.sub("", text) if "\x1b" in text else text

    @property
    def is_long(self) -> bool:
        """Whether only parts of the text are read."""
        return self.size_bytes > WHOLE_BYTES and self._encoding[0] == "utf-8"

    @cached_property
    def sample(self) -> str:
        """The text, or of a long one the head and the tail, their lines perhaps cut: enough to tell who wrote it."""
        if not self.is_long:
            return self.whole()
        head, tail = self._read(0, SAMPLE_BYTES), self._read(self.size_bytes - SAMPLE_BYTES, SAMPLE_BYTES)
        return f"{self._text(head)}\n{self._text(tail)}"

    @cached_property
    def problem(self) -> str | None:
        """Why nothing can be read from it; None if something can."""
        if not self.size_bytes:
            return "the file is empty"
        if not self.sample.strip():
            return "the file is empty: nothing but blanks"
        odd = sum(self.sample.count(sign) for sign in "\0\ufffd")
        if "\0" in self.sample[:4096] or odd > len(self.sample) / 10:
            return "the file is binary, not text"
        return None

    def whole(self, limit_bytes: int = DOCUMENT_BYTES) -> str:
        """Return all of the text; raise Refused if it has more bytes than the limit."""
        if self.size_bytes > limit_bytes:
            raise Refused(f"the file has {self.size_bytes:,} bytes; at most {limit_bytes:,} of this kind are read")
        raw = self._read(self._encoding[1], self.size_bytes)
        if len(raw) > _BARE_ARRAYS_ABOVE_BYTES:
            raw = _NUMBERS_ONLY.sub(b"[]", raw)
        return self._text(raw)

    @cached_property
    def document(self) -> Any:
        """The JSON value in it, numbers as their digits; raises Refused or Cut.

        In a document of many megabytes, arrays of nothing but numbers are read as empty.
        """
        return decode(self.whole())

    @cached_property
    def outline(self) -> Any:
        """The JSON value, of a cut text what stands before its last comma; None where it is not JSON.

        For recognising a tool, never for values.
        """
        if self.sample.lstrip()[:1] not in ("{", "[") or (self.is_long and self._starts_with_a_record):
            return None
        try:
            return self.document
        except Cut:
            return decode_start(self.whole())
        except NoResult:
            return None

    @property
    def _starts_with_a_record(self) -> bool:
        """Whether the first line of a long text is a JSON value by itself: then it is JSON Lines, not one document."""
        first, line_end, _ = self.sample.lstrip().partition("\n")
        try:
            return bool(line_end) and len(first) < SAMPLE_BYTES // 2 and isinstance(decode(first), dict | list)
        except NoResult:
            return False

    @cached_property
    def first_record(self) -> dict[str, Any] | None:
        """The object that the text is, or that its first line is (JSON Lines); None where there is none.

        Of a cut line, what stands before its last comma. For recognising a tool, never for values.
        """
        if isinstance(self.outline, dict):
            return self.outline
        if not self.sample.lstrip().startswith("{"):
            return None
        first = self.sample.lstrip().partition("\n")[0]
        try:
            document = decode(first)
        except Cut:
            document = decode_start(first)
        except NoResult:
            return None
        return document if isinstance(document, dict) else None

    def lines(self, bare_arrays_above: int = _BARE_ARRAYS_ABOVE_BYTES) -> Iterator[str]:
        """Yield the lines one by one, however long the file is; a last one without an end is yielded too.

        In a line of more than `bare_arrays_above` characters, arrays of nothing but numbers are given as empty. Raises
        Refused for a line of more than `DOCUMENT_BYTES` characters.
        """
        with self.open() as file, io.TextIOWrapper(file, self._encoding[0], errors="replace") as text:
            while line := text.readline(DOCUMENT_BYTES):
                if len(line) == DOCUMENT_BYTES:
                    raise Refused(f"a line has {DOCUMENT_BYTES:,} characters or more; at most so many are read")
                if len(line) > bare_arrays_above:
                    line = _NUMBERS_ONLY_TEXT.sub("[]", line)
                yield line.rstrip("\n").lstrip("\ufeff")

    @property
    def broken_json(self) -> str | None:
        """What is wrong with a text that starts like JSON; None where it does not, or nothing is."""
        if self.sample.lstrip()[:1] not in ("{", "["):
            return None
        try:
            _ = self.document
        except NoResult as error:
            return str(error)
        return None

    def text(self, landmarks: Sequence[str] = ()) -> str:
        """Return the text; of a long one the head, the tail and what stands around `landmarks`, in order.

        Raises Refused when landmarks are so many that the parts come to more than `PASSAGES_BYTES`.
        """
        if not self.is_long:
            return self.sample
        spans = [(0, SAMPLE_BYTES), (self.size_bytes - SAMPLE_BYTES, self.size_bytes)]
        spans += [(p - AROUND_BYTES, p + 2 * AROUND_BYTES) for p in self._positions([m.encode() for m in landmarks])]
        merged = list(_merge(spans, self.size_bytes))
        if sum(end - start for start, end in merged) > PASSAGES_BYTES:
            raise Refused(f"too many results in one file: they take more than {PASSAGES_BYTES:,} bytes of the text")
        return self._join(merged)

    def _positions(self, landmarks: Sequence[bytes]) -> Iterator[int]:
        """Yield where landmarks stand, about once per `AROUND_BYTES` each; a match across chunks is not lost."""
        overlap = max(map(len, landmarks), default=0)
        with self.open() as file:
            start, kept = 0, b""
            while chunk := file.read(_CHUNK_BYTES):
                block = kept + chunk
                for landmark in landmarks:
                    at = block.find(landmark)
                    while at >= 0:
                        yield start - len(kept) + at
                        at = block.find(landmark, at + AROUND_BYTES)
                start += len(chunk)
                kept = block[-overlap:] if overlap else b""

    def _join(self, spans: Iterable[tuple[int, int]]) -> str:
        """Return the text of the spans, each widened inward to whole lines, with a line between them."""
        parts = []
        for start, end in spans:
            raw = self._read(start, end - start)
            if start > 0:
                raw = raw[raw.find(b"\n") + 1 :]
            if end < self.size_bytes:
                raw = raw[: raw.rfind(b"\n") + 1]
            parts.append(self._text(raw))
        return "".join(parts)


def _merge(spans: Iterable[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    """Yield the spans in order, cut to 0..size, those that touch made one."""
    start, end = 0, 0
    for low, high in sorted(spans):
        if low > end:
            yield start, end
            start = low
        end = max(end, min(high, size))
    yield start, end
