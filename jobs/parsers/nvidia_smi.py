"""Reads nvidia-smi: `-q -x` (XML), `--query-gpu ... --format=csv` and `--version`. One run a GPU, at one moment.

Source: https://docs.nvidia.com/deploy/nvidia-smi/ and the document types nvsmi_device_v10 to v13; the manual says that
names change between drivers, so what is missing is unknown. A file that reads one GPU again and again is refused.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from jobs import gpu_state
from jobs.content import Content
from jobs.errors import Cut, Failed, Refused
from jobs.gpu_state import SmiGpu, SmiLog, named, quantity, version_in
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.parsers._gpu_readings import AT_ONE_MOMENT, one_moment, take_reading
from jobs.parsers._lines import whole_lines
from jobs.run_builder import RunBuilder

XML, CSV, VERSION = "nvidia_smi_xml", "nvidia_smi_csv", "nvidia_smi_version"
XML_KEYS: Mapping[str, Key] = {
    **{path: Key("power_w", "W") for path in gpu_state.POWER_DRAWS},
    gpu_state.MEMORY_USED: Key("memory_gb", "MiB"),
}
CSV_KEYS: Mapping[str, Key] = {
    "power.draw": Key("power_w", "W"),
    "power.draw.instant": Key("power_w", "W"),
    "power.draw.average": Key("power_w", "W"),
    "memory.used": Key("memory_gb", "MiB"),
}
"""Of several keys for one metric the first that has a value counts."""
_FACTS = {"name": "gpu", "gpu_name": "gpu", "driver_version": "driver", "uuid": "gpu_uuid", "gpu_uuid": "gpu_uuid"}
_NAMES = ("uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "serial", "gpu_serial", "index")
"""Columns that tell one GPU from another, best first."""
_OWN_COLUMN = re.compile(
    r"driver_version|vbios_version|gpu_(?:name|uuid|serial|bus_id)|persistence_mode|compute_(?:mode|cap)"
    r"|(?:accounting|c2c|clocks|clocks_(?:event|throttle)_reasons|driver_model|ecc|encoder|fabric|fan|gom|gsp|hostname"
    r"|inforom|memory|mig|pci|pcie|platform|power|power_smoothing|protected_memory|reset_status|retired_pages"
    r"|temperature|utilization|dramEncryption|gpu_recovery_action|enforced\.power)(?:\.[\w.]+|_[\w.]+)"
)
_OTHER_COLUMN = re.compile(
    r"timestamp|name|uuid|index|serial|count|pstate|addressing_mode|display_\w+|board_id|minor_number|gpu_\w+|vgpu_\w+"
)
_HEADER_CELL = re.compile(r"\s*([\w.]+)\s*(?:\[([^\]]*)\])?\s*")
_UUID = re.compile(r"GPU-[0-9a-f]{8}-[0-9a-f]{4}-")
_CELL_WITH_UNIT = re.compile(r"\d+(?:\.\d+)? (?:MiB|W|MHz|%)")
_VERSION_LINE = re.compile(r"\s*((?:NVIDIA-SMI|NVML|DRIVER|KMD|CUDA|CUDA UMD) [Vv]ersion)\s*:\s*(.*)")
_FAILURES = ("NVIDIA-SMI has failed", "No devices were found", "Failed to initialize NVML", "Unable to determine the")
_HEAD_LINES = 60
_XML_BYTES = 8 * 2**20
"""Eight GPUs with all their clocks and processes make 1 MB."""


class NvidiaSmi:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (XML, CSV, VERSION)
    reads = "-q -x of schemas v10 to v13; --query-gpu as CSV with its header, any columns; --version"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {XML: XML_KEYS, CSV: CSV_KEYS, VERSION: {}}

    def recognises(self, content: Content) -> str | None:
        """Return the id of the form that this is written in."""
        start = content.sample.lstrip()
        if start[:1] in ("{", "["):
            return None
        if gpu_state.ROOT in start or (start[:1] == "<" and "nvidia_smi_log" in start[:1024]):
            return XML
        head = [line for line in islice(start.split("\n", _HEAD_LINES), _HEAD_LINES) if line.strip()]
        if _VERSION_LINE.match(head[0]):
            return VERSION
        if head[0].startswith(_FAILURES) or any(map(_columns, head)) or _is_headless(head):
            return CSV
        return None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a GPU; Refused where a GPU is read more than once, Failed where the driver did not answer."""
        if tool == XML:
            return _parse_xml(content.whole(_XML_BYTES))
        lines, cut = whole_lines(content)
        return _parse_version(lines, cut) if tool == VERSION else _parse_csv(lines, cut)


def _parse_xml(text: str) -> ParseResult:
    logs = gpu_state.read_logs(text)
    if not logs:
        raise Cut("the text ends before nvidia-smi's answer begins")
    gpus = [(log, gpu) for log in logs for gpu in log.gpus]
    if not gpus and logs[-1].whole:
        raise Failed("nvidia-smi lists no GPU")
    runs = one_moment((gpu.name, _read_gpu(log, gpu)) for log, gpu in gpus)
    if runs and not any(run.metrics or run.facts.keys() - {"driver", "cuda"} for run in runs):
        reasons = [aside.raw for run in runs for aside in run.rejected] or ["nothing"]
        raise Failed(f"no GPU answers; nvidia-smi says {reasons[0]!r}")
    whole = logs[-1].whole
    return ParseResult(
        tool=XML,
        outcome=ParseOutcome.OK if whole else ParseOutcome.PARTIAL,
        reason="" if whole else f"the text ends before </nvidia_smi_log>, {_after(logs[-1])}",
        version=logs[0].driver,
        runs=runs,
    )


def _after(log: SmiLog) -> str:
    return f"in or after GPU {len(log.gpus)}" if log.gpus else "before the first GPU"


def _read_gpu(log: SmiLog, gpu: SmiGpu) -> ParsedRun:
    run = RunBuilder()
    run.label("gpu", gpu_state.find_text(gpu.values, "product_name"))
    run.label("driver", log.driver)
    run.label("cuda", log.cuda)
    run.label("gpu_uuid", gpu_state.find_text(gpu.values, "uuid"))
    take_reading(run, ((path, key, gpu.values.get(path)) for path, key in XML_KEYS.items()))
    run.flag(AT_ONE_MOMENT)
    if not gpu.whole:
        run.flag("truncated")
    return run.build()


def _parse_version(lines: Sequence[str], cut: bool) -> ParseResult:
    """Return one run without values: which driver and CUDA."""
    stands = {match[1].lower(): match[2] for line in lines if (match := _VERSION_LINE.fullmatch(line))}
    driver, cuda = (
        next((found for name in names if (found := version_in(stands.get(f"{name} version")))), None)
        for names in (("kmd", "driver"), ("cuda umd", "cuda"))
    )
    missing = [name for name, found in (("driver", driver), ("CUDA", cuda)) if found is None]
    run = RunBuilder()
    run.label("driver", driver)
    run.label("cuda", cuda)
    if cut:
        run.flag("truncated")
    whole = not cut and not missing
    reason = f"no version of {' and '.join(missing)} stands in it" if missing else "the last line has no end"
    return ParseResult(
        tool=VERSION,
        outcome=ParseOutcome.OK if whole else ParseOutcome.PARTIAL,
        reason="" if whole else reason,
        version=driver,
        runs=(run.build(),) if driver or cuda else (),
    )


Column = tuple[str, str, str]
"""A column's name, its unit (empty where the header has none), and both as printed."""


def _columns(line: str) -> list[Column] | None:
    """Return the columns where a line is a header of `--query-gpu`, None for any other line."""
    cells = line.strip().split(",")
    matches = [match for cell in cells if (match := _HEADER_CELL.fullmatch(cell))]
    if len(matches) < len(cells):
        return None
    own = sum(bool(_OWN_COLUMN.fullmatch(match[1])) for match in matches)
    other = sum(bool(_OTHER_COLUMN.fullmatch(match[1])) for match in matches)
    if not own or own + other < len(matches) / 2:
        return None
    return [(match[1], match[2] or "", match[0].strip()) for match in matches]


def _is_headless(head: Sequence[str]) -> bool:
    """Return whether every line is a row of GPU facts, as `--format=csv,noheader` prints them."""
    rows = [[cell.strip() for cell in line.split(",")] for line in head]
    return all(
        len(row) > 1
        and any(_UUID.match(cell) or cell.startswith("NVIDIA ") for cell in row)
        and any(_CELL_WITH_UNIT.fullmatch(cell) or version_in(cell) == cell for cell in row)
        for row in rows
    )


def _parse_csv(lines: Sequence[str], cut: bool) -> ParseResult:
    columns: list[Column] | None = None
    found: list[tuple[str, ParsedRun]] = []
    moments: set[str] = set()
    odd_rows = 0
    for cells in csv.reader(filter(str.strip, lines), skipinitialspace=True, strict=False):
        if header := _columns(",".join(cells)):
            columns = header
        elif columns and len(cells) == len(columns) and _fits(columns, cells):
            row = dict(zip((name for name, _, _ in columns), cells, strict=True))
            found.append((next((row[name].strip() for name in _NAMES if name in row), ""), _read_row(columns, cells)))
            moments.add(row.get("timestamp", "").strip().partition(".")[0])
        elif columns and len(cells) > 1:
            odd_rows += 1
    if not found:
        _explain_empty(lines, columns, cut)
    if len(moments) > 2 and not all(name for name, _ in found):
        raise Refused(f"a time series of {len(found)} rows, {len(moments)} moments; expected one row a GPU")
    problems = ["the last line has no end"] if cut else []
    problems += [f"rows that are none of the table's: {odd_rows}"] if odd_rows else []
    return ParseResult(
        tool=CSV,
        outcome=ParseOutcome.PARTIAL if problems else ParseOutcome.OK,
        reason="; ".join(problems),
        runs=one_moment(iter(found)),
    )


def _fits(columns: Sequence[Column], cells: Sequence[str]) -> bool:
    """Return whether a row can stand under the header: ids, versions and quantities where they belong, or none."""
    for (name, unit, _), cell in zip(columns, cells, strict=True):
        if named(cell) is None:
            continue
        if name in ("uuid", "gpu_uuid"):
            fits = cell.strip().startswith(("GPU-", "MIG-"))
        elif name == "driver_version":
            fits = version_in(cell) is not None
        else:
            fits = not unit or quantity(cell) is not None
        if not fits:
            return False
    return True


def _explain_empty(lines: Sequence[str], columns: Sequence[Column] | None, cut: bool) -> None:
    """Raise what a CSV without rows means."""
    words = next((line.strip() for line in lines if line.strip().startswith(_FAILURES)), None)
    if words:
        raise Failed(words)
    if cut:
        raise Cut("the text ends before the first whole row")
    if columns:
        raise Failed("nvidia-smi printed a header and no GPU")
    raise Refused("rows without a header: nobody can tell which column is which; run it with --format=csv")


def _read_row(columns: Sequence[Column], cells: Sequence[str]) -> ParsedRun:
    run = RunBuilder()
    row = {name: (unit, printed, cell) for (name, unit, printed), cell in zip(columns, cells, strict=True)}
    for name, label in _FACTS.items():
        if name in row:
            run.label(label, named(row[name][2]))
    index = row.get("index", ("", "", ""))[2].strip()
    if index.isdigit() and len(index) < 6:
        run.label("index", int(index))
    take_reading(run, _readings(run, row))
    for name, (_, printed, cell) in row.items():
        known = _OWN_COLUMN.fullmatch(name) or _OTHER_COLUMN.fullmatch(name)
        if not known and quantity(cell):
            run.unknown(printed, cell.strip(), CSV)
    run.flag(AT_ONE_MOMENT)
    return run.build()


def _readings(run: RunBuilder, row: Mapping[str, tuple[str, str, str]]) -> Iterator[tuple[str, Key, str]]:
    """Yield what may be taken, the cell with its unit; a unit of the cell that is not the header's is set aside."""
    for name, key in CSV_KEYS.items():
        unit, printed, cell = row.get(name, ("", "", ""))
        value = quantity(cell)
        if value is None:
            yield printed or name, key, cell
        elif unit and value[1] and unit != value[1]:
            run.flag("unit_doubtful")
            run.reject(printed, cell.strip(), f"the header says {unit}, the cell {value[1]}")
        else:
            yield printed, key, f"{value[0]} {value[1] or unit}"


def create() -> NvidiaSmi:
    """Return the parser."""
    return NvidiaSmi()
