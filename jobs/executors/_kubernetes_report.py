"""What came back in the log of a pod: the program's own output, how it ended, its result file, what the node is."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime

_STARTED = re.compile(rb"started (\S+)")
_ENDED = re.compile(rb"ended (\S+) (\d{1,3})")
_RESULT = re.compile(rb"result (\d+) ([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The log of one pod, taken apart. None: not said."""

    log: bytes
    """What the program printed."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    exit_code: int | None = None
    result: bytes | None = None
    odd_result: bool = False
    """The result is there and is no plain file."""
    kernel: str = ""
    gpus: tuple[tuple[str, str], ...] = ()
    """Product and driver of each GPU that the container sees."""
    whole: bool = False
    """All of it is here, and the result has the size and hash that the node wrote down."""


def read_report(text: bytes, mark: str) -> Report:
    """Return the report in a pod's log. What the program prints cannot be taken for ours: the last end counts."""
    prefix = mark.encode() + b" "
    body, at, rest = text.rpartition(b"\n" + prefix + b"ended ")
    if not at:
        return Report(log=_without_start(text, prefix)[0], started_at=_without_start(text, prefix)[1])
    log, started_at = _without_start(body, prefix)
    lines = (b"ended " + rest).split(b"\n")
    ended = _ENDED.fullmatch(lines[0].rstrip())
    ours = [line.removeprefix(prefix) for line in lines[1:] if line.startswith(prefix)]
    encoded = b"".join(line for line in lines[1:] if not line.startswith(prefix))
    promise = next((match for line in ours if (match := _RESULT.fullmatch(line.rstrip()))), None)
    result = _decode(encoded) if promise else None
    kept = result is not None and promise is not None and _fits(result, promise)
    return Report(
        log=log,
        started_at=started_at,
        ended_at=_moment(ended.group(1)) if ended else None,
        exit_code=int(ended.group(2)) if ended else None,
        result=result if kept else None,
        odd_result=b"odd" in ours,
        kernel=next((_text(line[7:]) for line in ours if line.startswith(b"kernel ")), ""),
        gpus=tuple(_gpu(line[4:]) for line in ours if line.startswith(b"gpu ")),
        whole=ended is not None and b"end" in ours and (promise is None or kept),
    )


def _without_start(text: bytes, prefix: bytes) -> tuple[bytes, datetime | None]:
    """Return a log without our first line, and the time in that; a log cut at its start has none."""
    first, _, rest = text.partition(b"\n")
    match = _STARTED.fullmatch(first.removeprefix(prefix).rstrip()) if first.startswith(prefix) else None
    return (rest, _moment(match.group(1))) if match else (text, None)


def _moment(text: bytes) -> datetime | None:
    try:
        return datetime.strptime(text.decode("ascii"), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def _decode(encoded: bytes) -> bytes | None:
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error:
        return None


def _fits(result: bytes, promise: re.Match[bytes]) -> bool:
    return len(result) == int(promise.group(1)) and hashlib.sha256(result).hexdigest() == promise.group(2).decode()


def _gpu(line: bytes) -> tuple[str, str]:
    product, _, driver = _text(line).rpartition(",")
    return product.strip(), driver.strip()


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace").strip()
