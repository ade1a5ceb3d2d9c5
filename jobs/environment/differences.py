"""A captured environment as rows of text, and what differs between two of them.

A benchmark can write over the file that holds the record, so nothing in it is trusted to have any shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

PARTS = ("build", "python", "packages", "libraries", "system packages", "gpus", "host", "container", "pinning", "other")
_VOLATILE = re.compile(r"load_1min|gpu_topology|gpu \d+ (?:state\b.*|uuid|bus_id)")
_KNOWN = frozenset({"schema", "fingerprint", "replayed", "pinned", "pinned_cores", "pin_note"})
_HOST = ("system", "kernel", "machine", "cpu_model", "cores_logical", "cores_physical", "cores_allowed", "memory_bytes")
_SETTINGS = ("governor", "turbo", "virtualised", "load_1min", "gpu_note")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One fact that is not the same in two environments; None: not stated there."""

    part: str
    """One of `PARTS`."""
    name: str
    before: str | None
    after: str | None


def flatten_environment(record: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """Return a record's facts as (part, name) -> text; what has no usable shape is left out."""
    host, software = _object(record.get("host")), _object(record.get("software"))
    facts = [
        *_rows("build", _object(record.get("build"))),
        *_rows("build", {"image": software.get("image")}),
        *_rows("python", _object(record.get("python"))),
        *_packages("packages", record.get("packages")),
        *_libraries(software.get("libraries")),
        *_packages("system packages", software.get("system_packages")),
        *_gpus(host),
        *_rows("host", {name: host.get(name) for name in (*_HOST, *_SETTINGS)}),
        *_rows("container", _object(record.get("container"))),
        *_rows("pinning", {name: record.get(name) for name in ("pinned_cores", "pin_note")}),
        *_rows("other", {name: value for name, value in record.items() if name not in _KNOWN and _is_plain(value)}),
    ]
    return {(part, name): text for part, name, text in facts}


def group_environment(record: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return a record's facts as part -> name -> text, parts without facts left out."""
    facts = flatten_environment(record)
    found = {part: {name: text for (of, name), text in facts.items() if of == part} for part in PARTS}
    return {part: rows for part, rows in found.items() if rows}


def compare_environments(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Return what differs between two records, in the order of `PARTS`: not load, not a GPU's state or name."""
    one, two = flatten_environment(before), flatten_environment(after)
    names = [*one, *(key for key in two if key not in one)]
    return tuple(
        Difference(part=part, name=name, before=one.get((part, name)), after=two.get((part, name)))
        for part, name in sorted(names, key=lambda key: PARTS.index(key[0]))
        if one.get((part, name)) != two.get((part, name)) and not _VOLATILE.fullmatch(name)
    )


def _is_plain(value: object) -> bool:
    return not isinstance(value, dict | list | tuple)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _text(value: object) -> str | None:
    """Return a fact in words; None where nothing is stated."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(text for one in value if (text := _text(one))) or None
    if isinstance(value, dict):
        return ", ".join(f"{name} {text}" for name, one in value.items() if (text := _text(one))) or None
    return str(value) if isinstance(value, str | int | float) and value != "" else None


def _rows(part: str, facts: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name, value in facts.items():
        if text := _text(value):
            yield part, name, text


def _packages(part: str, packages: object) -> Iterator[tuple[str, str, str]]:
    for package in _list(packages):
        name, equals, version = package.partition("==") if isinstance(package, str) else ("", "", "")
        if equals:
            yield part, name, version


def _libraries(libraries: object) -> Iterator[tuple[str, str, str]]:
    for library in map(_object, _list(libraries)):
        name, version, source = (_text(library.get(key)) for key in ("name", "version", "source"))
        if name and version:
            yield "libraries", f"{name} ({source or 'unknown source'})", version


def _gpus(host: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    gpus = list(map(_object, _list(host.get("gpus"))))
    if gpus:
        yield "gpus", "count", str(len(gpus))
    for number, gpu in enumerate(gpus):
        plain = {name: value for name, value in gpu.items() if name != "state"}
        state = {f"state {name}": value for name, value in _object(gpu.get("state")).items()}
        yield from _rows("gpus", {f"gpu {number} {name}": value for name, value in {**plain, **state}.items()})
    yield from _rows("gpus", {"links": host.get("gpu_links"), "gpu_topology": host.get("gpu_topology")})
