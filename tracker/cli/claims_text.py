"""Claims for people and for programs: tables, data and charts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.cli.output import Column, lay_out, write, write_table

if TYPE_CHECKING:
    from baselines.claims import ClaimCheck, Link, Ratio
    from tracker.pipeline.chains import Chain

HELD = "held (software only)"


def tell_chain(one: Chain) -> list[str]:
    """Return what is said of one config, line by line."""
    from baselines.cost.derived import DERIVED
    from tracker.cli.cost_text import format_money

    claim, about = one.claim, DERIVED[one.claim.metric]
    lines = [f"{title_of(one)}: {_moment(one, first=True)} to {_moment(one, first=False)}"]
    if claim.before is None or claim.after is None or claim.ratio is None:
        lines.append(f"  {about.meaning}: unknown, {claim.reason}")
    else:
        moved = f"{format_money(claim.before)} -> {format_money(claim.after)} {about.unit}"
        whole = "as priced" if claim.metric.startswith("usd_") else "by the power of the day"
        lines.append(f"  {about.meaning}, {whole}: {moved}, {_times(claim.ratio, claim.low, claim.high)}")
    if claim.held_before is not None and claim.held_after is not None:
        software = claim.parts[0]
        moved = f"{format_money(claim.held_before)} -> {format_money(claim.held_after)} {about.unit}"
        lines.append(f"  {HELD}: {moved}, {_times(software.ratio, software.low, software.high)}")
    lines.append(f"  {word_kind(one)}")
    rows = [[part.source, _number(part.ratio), _interval(part.low, part.high), part.how] for part in claim.parts]
    columns = [
        Column(title="part"),
        Column(title="times better", right=True),
        Column(title="95 %"),
        Column(title="how"),
    ]
    lines += ["", *lay_out(columns, rows), "", *_tell_links(one)]
    return lines


def title_of(one: Chain) -> str:
    """Return which config it is."""
    return f"{one.work.component}, {one.work.hardware}: {one.work.name}"


def _moment(one: Chain, *, first: bool) -> str:
    release = one.first if first else one.last
    return f"{release.release.display} ({release.day})" if release.day else release.release.display


def word_kind(one: Chain) -> str:
    """Return what the change is a claim of."""
    claim = one.claim
    if claim.confounded_by:
        return f"not a claim of software alone: {claim.confounded_by}"
    if claim.ratio is None:
        return "the software part is known, the whole is not"
    if claim.is_software_only:
        return "a claim of software alone: price, power, workload and hardware were the same"
    moved = " and ".join(part.source for part in claim.parts if part.source != "software" and part.ratio != 1)
    return f"a claim of software and {moved}; of software alone only as held"


def _tell_links(one: Chain) -> list[str]:
    claim = one.claim
    shown = claim.contributing
    rows = [_link_row(link) for link in shown]
    columns = [Column(title="release"), Column(title="against"), Column(title="times", right=True)]
    columns += [Column(title="95 %"), Column(title="verdict"), Column(title="share", right=True), Column(title="note")]
    lines = lay_out(columns, rows) if rows else []
    others = [link for link in claim.links if link not in shown]
    if others:
        together = 1.0
        for link in others:
            together *= link.ratio
        names = ", ".join(link.release for link in others[:8]) + (" ..." if len(others) > 8 else "")
        few = any(link.verdict == "too_few" for link in others)
        why = "none beyond the noise" + (", some with too few repeats to judge" if few else "")
        lines.append(
            f"{'the other releases' if shown else 'all releases'}, {names}: {_number(together)} together, {why}"
        )
    return lines


def _link_row(link: Link) -> list[str]:
    share = "" if link.share is None else f"{link.share * 100:.0f} %"
    return [
        link.release, link.before, _number(link.ratio), _interval(link.low, link.high), link.verdict, share,
        link.differs or "-",
    ]  # fmt: skip


def _number(value: float) -> str:
    return f"{value:.4g}"


def _interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{low:.4g} to {high:.4g}"


def _times(value: float, low: float | None, high: float | None) -> str:
    interval = "" if low is None or high is None else f" ({_interval(low, high)})"
    return f"{_number(value)} times better{interval}" if value >= 1 else f"{_number(1 / value)} times worse{interval}"


def describe_chain(one: Chain) -> dict[str, Any]:
    """Return a measured change as data."""
    from baselines.cost.derived import DERIVED

    claim = one.claim
    return {
        "component": one.work.component,
        "hardware": one.work.hardware,
        "name": one.work.name,
        "labels": dict(one.work.labels),
        "metric": claim.metric,
        "unit": DERIVED[claim.metric].unit,
        "from": {"release": one.first.release.display, "day": one.first.day.isoformat() if one.first.day else None},
        "to": {"release": one.last.release.display, "day": one.last.day.isoformat() if one.last.day else None},
        "before": claim.before,
        "after": claim.after,
        "times_better": claim.ratio,
        "low": claim.low,
        "high": claim.high,
        "held_before": claim.held_before,
        "held_after": claim.held_after,
        "software_only": claim.is_software_only,
        "confounded_by": claim.confounded_by,
        "kind": word_kind(one),
        "reason": claim.reason or None,
        "parts": claim.parts,
        "releases": claim.links,
    }


def draw_chain(one: Chain, file: Path) -> None:
    """Write the waterfall of a measured change."""
    from alerts.claim_chart import MOST_BARS, Bar, parts_spec
    from tracker.cli.pictures import save_picture

    claim = one.claim
    chosen = sorted(claim.contributing, key=lambda link: abs(link.share or 0), reverse=True)[: MOST_BARS - 4]
    bars = [Bar(name=link.release, times=link.ratio) for link in claim.links if link in chosen]
    rest = 1.0
    for link in claim.links:
        rest *= 1.0 if link in chosen else link.ratio
    bars += [Bar(name="other releases", times=rest)] if len(chosen) < len(claim.links) else []
    bars.append(Bar(name="software", times=claim.parts[0].ratio, is_total=True))
    if claim.ratio is not None:
        bars += [Bar(name=part.source, times=part.ratio) for part in claim.parts if part.source in ("price", "power")]
        bars.append(Bar(name="all together", times=claim.ratio, is_total=True))
    title = f"{title_of(one)}: {one.first.release.display} to {one.last.release.display}"
    spec = parts_spec(bars, title=title, said=f"{claim.metric}: {word_kind(one)}")
    save_picture(file, spec, title=title, said=tell_chain(one)[1:4])


def tell_checks(found: Sequence[ClaimCheck]) -> None:
    """Print what each claim comes to, then what its figures say."""
    columns = [Column(title="claim"), Column(title="outcome"), Column(title="of"), Column(title="as stated", give=True)]
    write_table(columns, [(one.claim.name, one.outcome, one.kind, one.claim.says) for one in found], empty="no claim")
    for one in found:
        write("\n" + "\n".join(_tell_check(one)))


def _tell_check(one: ClaimCheck) -> list[str]:
    from baselines.claims.check import word_ratio

    lines = [f"{one.claim.name}: {one.outcome}", f"  source: {one.claim.source}"]
    lines += [f"  {figure}: {word_ratio(ratio)}" for figure, ratio in one.ratios.items()]
    for part in one.parts:
        times = "unknown" if part.times is None else f"{float(part.times.value):.4g} times better"
        lines.append(f"  {part.source}: {times}, {part.how}")
    return lines + [f"  {finding}" for finding in one.findings]


def describe_check(one: ClaimCheck) -> dict[str, Any]:
    """Return what a claim comes to as data; ratios are after / before."""
    return {
        "claim": one.claim.name,
        "says": one.claim.says,
        "source": one.claim.source,
        "outcome": one.outcome,
        "kind": one.kind,
        "stated_kind": one.claim.kind,
        "held": one.claim.held,
        "ratios": {figure: _plain(ratio) for figure, ratio in one.ratios.items()},
        "parts": [
            {"source": part.source, "times_better": _plain(part.times) if part.times else None, "how": part.how}
            for part in one.parts
        ],
        "findings": one.findings,
    }


def _plain(ratio: Ratio) -> dict[str, float]:
    return {"value": float(ratio.value), "low": float(ratio.low), "high": float(ratio.high)}


def draw_checks(found: Sequence[ClaimCheck], file: Path) -> None:
    """Write the chart of what the claims' figures allow."""
    from alerts.claim_chart import RatioRow, ratios_spec
    from baselines.claims.entered import FIGURES, ONE
    from tracker.cli.pictures import save_picture

    rows = []
    for one in found:
        for figure, ratio in one.ratios.items():
            better = ratio if FIGURES[figure] == "higher" else ONE.over(ratio)
            low, value, high = (float(number) for number in (better.low, better.value, better.high))
            row = RatioRow(
                claim=one.claim.name,
                figure=figure,
                times=value,
                low=low,
                high=high,
                outcome=f"{one.outcome}: {one.kind}",
            )
            rows.append(row)
    title = "Claims: how many times better"
    said = "bars: what the printed digits allow; claims that state no change are left out"
    save_picture(file, ratios_spec(rows, title=title, said=said), title=title)
