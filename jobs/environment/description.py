"""A captured environment in a few lines for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from jobs.environment.differences import flatten_environment

_GPU_FACTS = (
    ("memory_bytes", "memory"),
    ("driver", "driver"),
    ("cuda", "CUDA up to"),
    ("vbios", "VBIOS"),
    ("power_limit_w", "power limit W"),
    ("application_clocks_mhz", "application clocks MHz"),
    ("persistence", "persistence"),
    ("ecc", "ECC"),
    ("mig", "MIG"),
)
_GPU_STATE = (
    ("temperature_c", "{} C"),
    ("power_w", "{} W"),
    ("sm_clock_mhz", "{} MHz"),
    ("held_down_by", "held down by {}"),
    ("ecc_errors", "ECC errors: {}"),
)
_SHOWN_LIBRARIES = 12


def describe_environment(record: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return (what, words) of a captured environment, a few short lines; facts that it does not state have none."""
    facts = flatten_environment(record)
    lines = [
        ("host", ", ".join(_host(facts))),
        *(("gpu", line) for line in _gpus(facts)),
        ("links", facts.get(("gpus", "links"), "")),
        ("software", ", ".join(_libraries(facts))),
        ("packages", ", ".join(_counts(facts))),
        ("image", facts.get(("build", "image"), "")),
    ]
    return tuple((what, words) for what, words in lines if words)


def _host(facts: Mapping[tuple[str, str], str]) -> Iterator[str]:
    for name, form in (("cpu_model", "{}"), ("cores_allowed", "{} cores"), ("memory_bytes", ""), ("system", "{}")):
        if text := facts.get(("host", name)):
            yield f"{_gigabytes(text)} memory" if name == "memory_bytes" else form.format(text)
    if kernel := facts.get(("host", "kernel")):
        yield f"kernel {kernel}"
    if python := facts.get(("python", "version")):
        yield f"Python {python}"
    if inside := facts.get(("container", "inside")):
        yield f"in {inside}"


def _gpus(facts: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """Yield one line for each kind of GPU, then one for the state of each; or why there is none."""
    count = facts.get(("gpus", "count"), "")
    numbers = range(min(int(count), 64) if count.isdecimal() and len(count) < 6 else 0)
    kinds = Counter(", ".join(_kind(facts, number)) for number in numbers)
    yield from (f"{times}x {kind}" for kind, times in kinds.items())
    for number in numbers:
        if state := ", ".join(_state(facts, number)):
            yield f"{number}: {state}, as it started"
    if not numbers and (note := facts.get(("host", "gpu_note"))):
        yield note.removeprefix("no GPU: ").join(("none (", ")"))


def _kind(facts: Mapping[tuple[str, str], str], number: int) -> Iterator[str]:
    yield facts.get(("gpus", f"gpu {number} product"), "unknown")
    for name, word in _GPU_FACTS:
        if text := facts.get(("gpus", f"gpu {number} {name}")):
            yield f"{word} {_gigabytes(text) if name == 'memory_bytes' else text}"


def _state(facts: Mapping[tuple[str, str], str], number: int) -> Iterator[str]:
    for name, form in _GPU_STATE:
        if text := facts.get(("gpus", f"gpu {number} state {name}")):
            yield form.format(text)


def _libraries(facts: Mapping[tuple[str, str], str]) -> list[str]:
    found = [f"{name.partition(' (')[0]} {version}" for (part, name), version in facts.items() if part == "libraries"]
    plain = list(dict.fromkeys(found))
    rest = len(plain) - _SHOWN_LIBRARIES
    return [*plain[:_SHOWN_LIBRARIES], *([f"{rest} more"] if rest > 0 else [])]


def _counts(facts: Mapping[tuple[str, str], str]) -> Iterator[str]:
    counts = Counter(part for part, _ in facts)
    for part, words in (("packages", "of Python"), ("system packages", "of the system")):
        if counts[part]:
            yield f"{counts[part]} {words}"


def _gigabytes(text: str) -> str:
    return f"{int(text) / 1e9:.0f} GB" if text.isdecimal() and len(text) < 20 else text
