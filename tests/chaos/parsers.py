"""Damages result files for as long as asked, and looks for a parser that breaks: `python -m tests.chaos.parsers`."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path

from jobs.content import Content
from jobs.reading import FAULT, read_result, result_json

CASES = Path(__file__).parent.parent / "jobs" / "parsers" / "cases"
TOKENS = (
    *(b"NaN", b"Infinity", b"-1", b"1e999", b"1e-400", b"null", b"true", b"[]", b"{}", b'"', b",", b" ", b"1,5", b"-0"),
    *(b"\r", b"\n\n", b"\0", b"\x1b[31m", b"\xff\xfe", b"9" * 500, b'"\\ud800"'),
)
LARGEST_BYTES = 200_000


def damage(whole: bytes, others: list[bytes], generator: random.Random) -> bytes:
    """Return the bytes with some flipped, cut out, repeated, put in from a list of nasty ones or from another file."""
    broken = bytearray(whole)
    for _ in range(generator.choice((1, 1, 2, 5, 20))):
        at, length = generator.randrange(len(broken) + 1), generator.choice((1, 5, 50, 500))
        kind = generator.randrange(5)
        if kind == 0 and broken:
            broken[at % len(broken)] = generator.randrange(256)
        elif kind == 1:
            broken[at:at] = generator.choice(TOKENS)
        elif kind == 2:
            del broken[at : at + length]
        elif kind == 3:
            other = generator.choice(others)
            start = generator.randrange(len(other) + 1)
            broken[at:at] = other[start : start + length]
        else:
            broken[at:at] = broken[max(0, at - length) : at]
    return bytes(broken[:LARGEST_BYTES])


def main() -> None:
    """Read damaged files until the time is over; exit code 1 and the files where one broke a parser."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    generator, until, read = random.Random(asked.seed), time.monotonic() + asked.seconds, 0
    files = [path.read_bytes() for path in sorted(CASES.rglob("input*"))]
    faults: dict[str, bytes] = {}
    while time.monotonic() < until:
        broken = damage(generator.choice(files), files, generator)
        found = read_result(Content("damaged", broken))
        json.dumps(result_json("damaged", found), allow_nan=False)
        read += 1
        if FAULT in found.reason or (found.outcome.value != "ok" and not found.reason):
            faults.setdefault(found.reason, broken)
    for number, (reason, broken) in enumerate(faults.items()):
        Path(f"fault-{number}").write_bytes(broken)
        print(f"fault-{number}: {reason}")
    print(f"{read:,} damaged files read, {len(faults)} kinds of fault")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
