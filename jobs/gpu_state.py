"""What `nvidia-smi -q -x` says, as plain values: the one place that reads its XML, for captures and for parsers.

The names of elements change between drivers (schemas v10 to v13), so nothing is required: what is not there, or is
`N/A`, is unknown. A document type is never read, so no entity can be declared and nothing outside can be named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from jobs.errors import Refused
from jobs.foreign_text import cut_field

ROOT = "<nvidia_smi_log"
_END = "</nvidia_smi_log>"
_UNREAD = ("processes", "supported_clocks", "accounted_processes")
"""Blocks that are long, or hold names of programs that nvidia-smi does not escape."""
_DEEPEST = 12
_UNSTATED = frozenset(
    {"", "n/a", "none", "not supported", "deprecated", "requested functionality has been deprecated", "not available"}
)
_TROUBLE = frozenset({"gpu is lost", "gpu requires reset", "unknown error", "err!", "insufficient permissions"})
_LOST = frozenset({"gpu is lost", "gpu requires reset"})
_DIGITS_LIMIT = 20
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([%A-Za-z]\S*)?")
_GPU = re.compile(r'<gpu id="([^"]*)">')
_PROCESS = re.compile(r"<process_info>(.*?)</process_info>", re.DOTALL)
_VERSION = re.compile(r"(\d+(?:\.\d+)+)(?:\s.*|\[.*)?")

POWER_DRAWS = tuple(
    f"{block}.{name}"
    for block in ("gpu_power_readings", "power_readings")
    for name in ("power_draw", "instant_power_draw", "average_power_draw")
)
"""The power of the GPU itself: first where present, then the newer names. Never the module's or the memory's."""
MEMORY_USED = "fb_memory_usage.used"
_DRIVERS, _CUDAS = ("kmd_version", "driver_version"), ("cuda_umd_version", "cuda_version")


@dataclass(frozen=True, slots=True, kw_only=True)
class SmiGpu:
    """One GPU: path of an element below it (`clocks.sm_clock`) -> its text."""

    bus_id: str
    values: Mapping[str, str]
    mig: tuple[Mapping[str, str], ...] = ()
    """The MIG devices, in the same form."""
    whole: bool = True
    """False where the text ends inside this GPU: what stands there is right, the rest is missing."""

    @property
    def name(self) -> str:
        """What tells this GPU from others: its UUID, or where it is plugged in."""
        return named(self.values.get("uuid")) or self.bus_id


@dataclass(frozen=True, slots=True, kw_only=True)
class SmiLog:
    """One answer of nvidia-smi."""

    values: Mapping[str, str]
    """What stands above the GPUs: driver, CUDA, time."""
    gpus: tuple[SmiGpu, ...]
    whole: bool

    @property
    def driver(self) -> str | None:
        """The driver's version, also where it has moved to `kmd_version`."""
        return find_version(self.values, _DRIVERS)

    @property
    def cuda(self) -> str | None:
        """The newest CUDA that the driver can run, not the one that is installed."""
        return find_version(self.values, _CUDAS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmiProcess:
    """A program that has a GPU open. Those of other containers are not listed to a container."""

    pid: int
    kind: str
    """`C` computes, `G` draws, `C+G` does both; empty where it is not stated."""
    name: str
    """As printed, cut to 80 characters; empty where it is not stated."""


def stated(text: str | None) -> str | None:
    """Return a text without blanks; None where it says in words that there is no value (`N/A`, `[N/A]`)."""
    plain = (text or "").strip()
    return None if plain.strip("[]").strip().lower() in _UNSTATED else plain


def named(text: str | None) -> str | None:
    """Return a text that names something, at most 300 characters of it; None where there is none, or of trouble."""
    plain = stated(cut_field(text or ""))
    return None if plain is None or plain.strip("[]").lower() in _TROUBLE else plain


def quantity(text: str | None) -> tuple[str, str] | None:
    """Return the digits and the unit of `25.58 W`, the unit empty where there is none; None for anything else.

    More than 20 digits are no measurement of a GPU: they are None too.
    """
    match = _QUANTITY.fullmatch((text or "").strip())
    return (match[1], match[2] or "") if match and len(match[1]) <= _DIGITS_LIMIT else None


def version_in(text: str | None) -> str | None:
    """Return the version that a text starts with; None for a note such as `Deprecated, see ...`."""
    match = _VERSION.fullmatch(cut_field(text or ""))
    return match[1] if match else None


def find_version(values: Mapping[str, str], names: Sequence[str]) -> str | None:
    """Return the first version that stands under one of the names."""
    return next((found for name in names if (found := version_in(values.get(name)))), None)


def find_text(values: Mapping[str, str], *paths: str) -> str | None:
    """Return the first name or word that stands under one of the paths."""
    return next((found for path in paths if (found := named(values.get(path)))), None)


_REASONS = ("clocks_event_reasons.clocks_event_reason_", "clocks_throttle_reasons.clocks_throttle_reason_")


def in_trouble(values: Mapping[str, str]) -> str:
    """Return what the driver says in the place of values when it has lost a GPU (`GPU is lost`); empty where nothing.

    Values that this user may not see are no trouble of the GPU's.
    """
    lost = (text.strip() for text in values.values() if text.strip().strip("[]").lower() in _LOST)
    return next(lost, "")


def states_reasons(values: Mapping[str, str]) -> bool:
    """Return whether the driver says anything of why the clocks are held down, be it that nothing does so."""
    return any(path.startswith(_REASONS) and text.strip() in ("Active", "Not Active") for path, text in values.items())


def active_reasons(values: Mapping[str, str]) -> tuple[str, ...]:
    """Return why the clocks are held down (`sw_power_cap`), by the names without their old or new prefix."""
    return tuple(
        path.removeprefix(block)
        for block in _REASONS
        for path, text in values.items()
        if path.startswith(block) and text.strip() == "Active"
    )


def read_logs(text: str) -> tuple[SmiLog, ...]:
    """Return every answer in a text, in order; a last one may be cut. Raise Refused for damaged XML."""
    if "<!ENTITY" in text:
        raise Refused("the XML declares entities, which nvidia-smi never does; it is not read")
    starts = [match.start() for match in re.finditer(rf"{ROOT}[\s>]", text)]
    return tuple(_read(text[start:end]) for start, end in pairwise([*starts, len(text)]))


def read_processes(text: str) -> dict[str, tuple[SmiProcess, ...] | None]:
    """Return the programs on each GPU of the first answer, by its bus id; None where the driver does not list them.

    Their names are not escaped, so this part is read without an XML parser.
    """
    answer = text.partition(_END)[0]
    starts = list(_GPU.finditer(answer))
    ends = [*(match.start() for match in starts[1:]), len(answer)]
    return {match[1]: _processes(answer[match.end() : end]) for match, end in zip(starts, ends, strict=True)}


def _processes(gpu: str) -> tuple[SmiProcess, ...] | None:
    _, begun, rest = gpu.partition("<processes>")
    block, ended, _ = rest.partition("</processes>")
    found = tuple(one for info in _PROCESS.findall(block) if (one := _process(info)))
    nothing_else = not block.strip()
    return found if begun and ended and (found or nothing_else) else None


def _process(info: str) -> SmiProcess | None:
    def text(name: str) -> str:
        match = re.search(rf"<{name}>(.*?)</{name}>", info, re.DOTALL)
        return (stated(match[1]) if match else None) or ""

    pid = text("pid")
    if not (pid.isascii() and pid.isdecimal() and len(pid) < 12):
        return None
    return SmiProcess(pid=int(pid), kind=text("type"), name=text("process_name")[:80])


def _read(text: str) -> SmiLog:
    """Return the answer that starts here and ends at its closing tag, or with the text."""
    body, tag, _ = text.partition(_END)
    parser: XMLPullParser[Element] = XMLPullParser(events=("start", "end"))
    parser.feed(_without_blocks(body) + tag)
    top: dict[str, str] = {}
    gpus: list[Element] = []
    still_open: list[Element] = []
    try:
        for event, element in _events(parser):
            if event == "start":
                if len(still_open) > _DEEPEST:
                    raise Refused("the XML is nested more deeply than nvidia-smi's")
                still_open.append(element)
                gpus += [element] if element.tag == "gpu" else []
                continue
            still_open.pop()
            if not gpus and element.text:
                top[element.tag] = element.text.strip()
    except ParseError as error:
        raise Refused(f"the XML is damaged at line {error.position[0]} of nvidia-smi's answer: {error}") from error
    read = tuple(_gpu(element, still_open) for element in gpus)
    return SmiLog(values=top, gpus=read, whole=bool(tag))


def _events(parser: XMLPullParser[Element]) -> Iterator[tuple[str, Element]]:
    for event in parser.read_events():
        if len(event) == 2 and isinstance(event[1], Element):
            yield event[0], event[1]


def _without_blocks(text: str) -> str:
    """Return the text without the blocks that are not read, where they are whole."""
    for name in _UNREAD:
        kept, at = [], 0
        while (start := text.find(f"<{name}>", at)) >= 0 and (end := text.find(f"</{name}>", start)) >= 0:
            kept.append(text[at:start])
            at = end + len(name) + 3
        text = "".join([*kept, text[at:]])
    return text


def _gpu(element: Element, still_open: Sequence[Element]) -> SmiGpu:
    """Return one GPU; of a cut one without the block that does not end, as a better value may have stood there."""
    whole = element not in still_open
    if not whole and still_open[-1] is not element:
        element.remove(still_open[still_open.index(element) + 1])
    mig = tuple(dict(_leaves(device)) for device in element.iterfind("mig_devices/mig_device"))
    values: dict[str, str] = {}
    for path, text in _leaves(element):
        values.setdefault(path, text)
    return SmiGpu(bus_id=element.get("id", ""), values=values, mig=mig, whole=whole)


def _leaves(element: Element) -> Iterator[tuple[str, str]]:
    """Yield path and text of the elements without children, in order, those of MIG devices apart."""
    waiting = [("", child) for child in reversed(element)]
    while waiting:
        above, one = waiting.pop()
        path = f"{above}{one.tag}"
        if len(one) and one.tag != "mig_device":
            waiting += [(f"{path}.", child) for child in reversed(one)]
        elif not len(one) and one.text:
            yield path, one.text.strip()
