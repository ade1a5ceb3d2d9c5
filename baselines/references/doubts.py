"""Why a published figure may be doubted: each check names the rows that it doubts, with the reason in words.

Nothing is repaired. Checks look at what the page itself says, and at what is known of MLPerf's targets.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from statistics import median

from baselines.references.figures import half_step, read_unit
from baselines.references.mlperf import doubt_accuracy
from baselines.references.reference import Flag, Reference
from jobs.names import canonical_gpu, same_gpu

ALLOWED_CONTRADICTION = Fraction(3, 100)
"""How far throughput and batch / latency may lie apart beyond what the printed digits allow."""
OUT_OF_LINE = 4.0
"""A figure so many times above or below what its neighbours say is doubted."""
_LEAST_NEIGHBOURS = 2
_GPU_IN_SYSTEM = re.compile(
    r"(?<![A-Za-z0-9])(?:\d+\s*[x×]\s*)?"
    r"((?:GB|GH|VR|GR)\d{3}|MI\d{3}[A-Z]?|[BHARV]\d00|H20|A10|A16|A30|A40|L4|L20|L40S?|T4|RTX PRO \d{4})(?![A-Za-z0-9])"
)


def doubt_rows(references: Sequence[Reference]) -> list[Reference]:
    """Return the references with their flags and notes; the order stays."""
    out_of_line = _find_out_of_line(references)
    notes = _note_units(references)
    found = []
    for place, one in enumerate(references):
        flags = [
            flag
            for flag in (
                _doubt_figure(one),
                _doubt_rate(one),
                out_of_line.get(place),
                _doubt_gpu(one),
                _doubt_target(one),
            )
            if flag
        ]
        found.append(one.with_doubts(tuple(flags), notes.get(place, ())))
    return found


def _doubt_figure(one: Reference) -> Flag | None:
    """Return the doubt of a row without a figure, or with one whose unit says nothing."""
    number, unit = one.printed.number, one.printed.unit
    if number is None:
        found = repr(unit) if unit else "nothing that is one"
        return Flag(code="figure_missing", reason=f"the page prints {found} where the figure stands")
    if unit is None or read_unit(unit) is None:
        told = f"the figure's unit is {unit!r}: no metric of ours is in it" if unit else "the figure has no unit"
        return Flag(code="unit_unknown", reason=told)
    if not Fraction(number):
        return Flag(code="figure_zero", reason=f"the page prints {number} {unit}, which no system delivers")
    return None


def _doubt_rate(one: Reference) -> Flag | None:
    """Return the doubt of a throughput that batch and latency contradict."""
    printed = one.printed
    unit = read_unit(printed.unit) if printed.unit else None
    if printed.number is None or not printed.batch or printed.latency is None or unit is None:
        return None
    if unit.counted != "request" or unit.per:
        return None
    latency, step = Fraction(printed.latency), half_step(printed.latency)
    rate, rate_step = Fraction(printed.number), half_step(printed.number)
    if latency <= step or rate <= rate_step:
        return None
    work = {at_once * 1000 * unit.seconds for at_once in (printed.batch, printed.batch * (printed.gpus or 1))}
    apart = min(
        _distance(rate - rate_step, rate + rate_step, one / (latency + step), one / (latency - step)) for one in work
    )
    if apart <= ALLOWED_CONTRADICTION:
        return None
    expected = float(printed.batch * 1000 * unit.seconds / latency)
    reason = (
        f"{printed.number} {printed.unit} contradicts batch {printed.batch} in {printed.latency} ms, which gives"
        f" {expected:.4g}: {float(rate / Fraction(expected)) - 1:+.0%}"
    )
    return Flag(code="rate_contradicts_latency", reason=reason)


def _distance(low: Fraction, high: Fraction, least: Fraction, most: Fraction) -> Fraction:
    """Return the gap between two ranges as a share of the nearer end; 0 where they touch."""
    if low > most:
        return low / most - 1
    return least / high - 1 if least > high else Fraction(0)


def _doubt_gpu(one: Reference) -> Flag | None:
    """Return the doubt of a GPU that its server or its version names otherwise."""
    printed = one.printed
    if printed.gpu is None:
        return None
    in_system = sorted({canonical_gpu(name) for name in _GPU_IN_SYSTEM.findall(printed.system or "")})
    said = []
    if in_system and not any(_may_be(printed.gpu, name) for name in in_system):
        said.append(f"the server ({printed.system}) says {' and '.join(in_system)}")
    if printed.gpu_version and not _may_be(printed.gpu, printed.gpu_version):
        said.append(f"the GPU version says {printed.gpu_version}")
    if not said:
        return None
    return Flag(code="gpu_contradicts_system", reason=f"the GPU is printed as {printed.gpu}, but {', and '.join(said)}")


def _may_be(gpu: str, other: str) -> bool:
    """Return whether two names may mean one GPU: the same, or one that only says more (H100, H100 NVL)."""
    if same_gpu(gpu, other):
        return True
    words = [canonical_gpu(name).casefold().replace("nvidia ", "").replace("-", " ").split() for name in (gpu, other)]
    short, long = sorted(words, key=len)
    return long[: len(short)] == short


def _doubt_target(one: Reference) -> Flag | None:
    printed = one.printed
    if printed.model is None or printed.target_accuracy is None:
        return None
    why = doubt_accuracy(printed.model, printed.target_accuracy)
    return Flag(code="target_of_another_model", reason=why) if why else None


# --- neighbours: the same model at other lengths, and other models at the same two lengths ---

_Group = tuple[str, str | None, str | None, str | None]
_Lengths = tuple[int, int]


def _find_out_of_line(references: Sequence[Reference]) -> dict[int, Flag]:
    """Return place -> doubt of the figures that lie an order of magnitude from what every neighbour says.

    A neighbour's word: its own figure at other lengths, times what going from those lengths to these does to other
    models and GPUs (the median). The neighbours' median is what is expected.
    """
    groups: dict[_Group, dict[_Lengths, list[tuple[int, float]]]] = defaultdict(lambda: defaultdict(list))
    for place, one in enumerate(references):
        printed = one.printed
        if one.value_per_gpu and printed.isl and printed.osl and one.model:
            own = (one.model, one.gpu, printed.precision, printed.unit)
            groups[own][printed.isl, printed.osl].append((place, one.value_per_gpu))
    levels = {g: {w: median(v for _, v in found) for w, found in by.items()} for g, by in groups.items()}
    flags = {}
    for group, by_lengths in groups.items():
        for lengths, found in by_lengths.items():
            words = list(_ask_neighbours(levels, group, lengths))
            if len(words) < _LEAST_NEIGHBOURS:
                continue
            for place, value in found:
                if flag := _judge(references[place], value, median(words), len(words)):
                    flags[place] = flag
    return flags


def _ask_neighbours(levels: dict[_Group, dict[_Lengths, float]], group: _Group, lengths: _Lengths) -> Iterator[float]:
    """Yield what each other pair of lengths of the same model says of these."""
    for other, level in levels[group].items():
        if other == lengths:
            continue
        steps = [by[lengths] / by[other] for g, by in levels.items() if g != group and lengths in by and other in by]
        if len(steps) >= _LEAST_NEIGHBOURS:
            yield level * median(steps)


def _judge(one: Reference, value: float, expected: float, neighbours: int) -> Flag | None:
    times = value / expected
    if 1 / OUT_OF_LINE < times < OUT_OF_LINE:
        return None
    printed = one.printed
    how = f"{times:.1f} times as much" if times > 1 else f"1/{1 / times:.1f} of it"
    reason = (
        f"at {printed.isl}/{printed.osl} the {neighbours} other lengths of {one.model} on {one.gpu}, and what such a"
        f" step does to other models, let one expect about {expected:.3g} for each GPU; {value:g} is {how}"
    )
    return Flag(code="out_of_line", reason=reason)


def _note_units(references: Sequence[Reference]) -> dict[int, tuple[str, ...]]:
    """Return place -> what should be known of its unit: another one than the other rows of its model in the table."""
    groups: dict[tuple[int, str | None], list[int]] = defaultdict(list)
    for place, one in enumerate(references):
        if one.printed.unit and one.model:
            groups[one.printed.table, one.model].append(place)
    notes: dict[int, tuple[str, ...]] = {}
    for places in groups.values():
        units = [references[place].printed.unit for place in places]
        usual = max(units, key=units.count)
        for place, unit in zip(places, units, strict=True):
            if unit != usual and units.count(usual) > units.count(unit):
                notes[place] = (f"printed in {unit}; the other rows of its model in the table are in {usual}",)
    for place, one in enumerate(references):
        if one.canonical and one.canonical.metric == "latency_p90_ms":
            why = "the page names no statistic for this duration; MLPerf judges single queries by the 90th percentile"
            notes[place] = (*notes.get(place, ()), why)
    return notes
