"""Reads DCGM: the table of `dcgmi dmon`, and what dcgm-exporter serves to Prometheus. One run a GPU, at one moment.

Source: https://github.com/NVIDIA/DCGM dcgmi/DeviceMonitor.cpp, https://github.com/NVIDIA/dcgm-exporter. DCGM's counter
of energy (mJ) runs since the driver was loaded: it is set aside, for it is not the energy of a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from jobs.content import Content
from jobs.errors import Cut, Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.parsers._gpu_readings import AT_ONE_MOMENT, one_moment, take_reading
from jobs.parsers._lines import whole_lines
from jobs.run_builder import RunBuilder

TOOL = "dcgm"
DMON_KEYS: Mapping[str, Key] = {"POWER": Key("power_w", "W"), "FBUSD": Key("memory_gb", "MiB")}
EXPORTED_KEYS: Mapping[str, Key] = {
    "DCGM_FI_DEV_POWER_USAGE": Key("power_w", "W"),
    "DCGM_FI_DEV_FB_USED": Key("memory_gb", "MiB"),
    "dcgm_power_usage": Key("power_w", "W"),
    "dcgm_fb_used": Key("memory_gb", "MiB"),
}
_ENERGY = frozenset({"TOTEC", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "dcgm_total_energy_consumption"})
_NOT_A_RUNS_ENERGY = "a counter since the driver was loaded, not the energy of one run"
_FACTS = {"modelName": "gpu", "UUID": "gpu_uuid", "uuid": "gpu_uuid", "DCGM_FI_DRIVER_VERSION": "driver"}
_HEADER = re.compile(r"(?P<before>\s*(?:[\d:./T-]+\s+)*)#\s?Entity\s+(?P<names>[A-Z0-9]{2,}.*)")
_ROW = re.compile(r"\s*(?:[\d:./T-]+\s+)*(?P<kind>GPU(?:-I|-CI)?)\s+(?P<id>\d+)\s+(?P<values>\S.*)")
_EXPORTED = re.compile(r"(?P<key>(?:DCGM_|dcgm_)\w+)\{(?P<labels>.*)\}\s+(?P<value>\S+)(?:\s+\d+)?\s*")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_DMON_START = re.compile(r"^\s*(?:[\d:./T-]+\s+)*#\s?Entity\s+[A-Z0-9]{2,}", re.MULTILINE)
_EXPORTED_START = re.compile(
    r"^(?:# (?:HELP|TYPE) )?(?:DCGM_FI_\w+|dcgm_(?:gpu|sm|fb|power|total|memory|mem|dec)_\w+)[ {]", re.M
)


class Dcgm:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "dcgmi dmon (2.x to 4.x), Prometheus text of dcgm-exporter (1.x to 4.x); one moment"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {**DMON_KEYS, **EXPORTED_KEYS}}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where the table's header stands, or a line in Prometheus' form."""
        if content.sample.lstrip()[:1] in ("{", "[", "<"):
            return None
        return TOOL if _DMON_START.search(content.sample) or _EXPORTED_START.search(content.sample) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a GPU; Refused where one is read at several moments, Failed where DCGM had no data."""
        lines, cut = whole_lines(content)
        is_table = any(map(_HEADER.match, lines))
        runs = _read_table(lines) if is_table else _read_exported(lines)
        if not runs:
            if cut:
                raise Cut("the text ends before the first whole reading")
            said = next((line.strip() for line in reversed(lines) if line.strip()), "")
            raise Failed(f"no reading of a whole GPU; the last line is {said[:80]!r}")
        return ParseResult(
            tool=TOOL,
            outcome=ParseOutcome.PARTIAL if cut else ParseOutcome.OK,
            reason="the last line has no end" if cut else "",
            runs=runs,
        )


def _read_table(lines: Sequence[str]) -> tuple[ParsedRun, ...]:
    """Return one run a GPU; MIG instances are left out, for a label cannot name them."""
    header: re.Match[str] | None = None
    found: list[tuple[str, ParsedRun]] = []
    for line in lines:
        if match := _HEADER.fullmatch(line):
            header = match
        elif header and (row := _ROW.fullmatch(line)) and row["kind"] == "GPU":
            values = _cells(header, row, line)
            found.append((f"GPU {row['id']}", _build({"index": int(row["id"][:6])}, values, DMON_KEYS)))
    return one_moment(iter(found))


def _cells(header: re.Match[str], row: re.Match[str], line: str) -> dict[str, str]:
    """Return column -> value: one word each, or, where a name has blanks, by the columns' places."""
    names, words = header["names"].split(), row["values"].split()
    if len(names) == len(words):
        return dict(zip(names, words, strict=True))
    starts = [header.start("names") + match.start() for match in re.finditer(r"\S+", header["names"])]
    if any(line[start - 1 : start].strip() for start in starts):
        return {}
    ends = [*starts[1:], len(line)]
    return {name: line[start:end].strip() for name, start, end in zip(names, starts, ends, strict=True)}


def _read_exported(lines: Iterable[str]) -> tuple[ParsedRun, ...]:
    """Return one run a GPU; what belongs to a MIG instance is left out, but the power is the whole GPU's."""
    facts: dict[str, dict[str, Label]] = {}
    values: dict[str, dict[str, str]] = {}
    seen: dict[tuple[str, str], str] = {}
    for line in lines:
        match = _EXPORTED.fullmatch(line)
        if match is None:
            continue
        if seen.setdefault((match["key"], match["labels"]), match["value"]) != match["value"]:
            raise Refused(f"a time series: {match['key']} of one GPU is given twice; expected one scrape")
        labels = dict(_LABEL.findall(match["labels"]))
        gpu = labels.get("UUID") or labels.get("uuid") or f"{labels.get('Hostname', '')} {labels.get('gpu', '')}"
        key = EXPORTED_KEYS.get(match["key"])
        if "GPU_I_ID" in labels and key is not None and key.metric == "memory_gb":
            continue
        facts.setdefault(gpu, _facts(labels))
        values.setdefault(gpu, {})[match["key"]] = match["value"]
    return tuple(_build(facts[gpu], values[gpu], EXPORTED_KEYS) for gpu in values)


def _facts(labels: Mapping[str, str]) -> dict[str, Label]:
    stated: dict[str, Label] = {name: labels[label] for label, name in _FACTS.items() if labels.get(label)}
    index = labels.get("gpu", "")
    return {**stated, "index": int(index)} if index.isdigit() and len(index) < 6 else stated


def _build(facts: Mapping[str, Label], values: Mapping[str, str], keys: Mapping[str, Key]) -> ParsedRun:
    run = RunBuilder()
    for name, fact in facts.items():
        run.label(name, fact)
    stated = {name: value for name, value in values.items() if value != "N/A"}
    take_reading(run, ((name, key, f"{stated[name]} {key.unit}") for name, key in keys.items() if name in stated))
    for name in sorted(_ENERGY & stated.keys()):
        run.reject(name, stated[name], _NOT_A_RUNS_ENERGY, "mJ")
    run.flag(AT_ONE_MOMENT)
    return run.build()


def create() -> Dcgm:
    """Return the parser."""
    return Dcgm()
