"""A release summary as a message (for sinks and the terminal), Markdown, HTML and plain data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from html import escape
from typing import Any

from alerts.message import Line, Message, Tone, draw_arrow, make_link
from alerts.summary import NO_ANSWER, Answer, MeanChange, ReleaseSummary, RowVerdict, SummaryRow
from alerts.texts import code_span, escape_markdown
from alerts.wording import Direction, count, format_effect, format_interval, format_number, format_value, join_names

_TONES = {Answer.YES: Tone.GOOD, Answer.NO: Tone.BAD, Answer.UNCLEAR: Tone.UNKNOWN}
_MARKS = {RowVerdict.SAME: "=", RowVerdict.MISSING: "×"}
_HEADINGS = ("series", "metric", "before", "after", "change", "interval", "verdict", "reason")


def to_message(summary: ReleaseSummary, *, base_url: str | None = None, rerun_command: str | None = None) -> Message:
    """Return the summary for a sink: what is unchanged is counted, everything else is listed."""
    told = [row for row in summary.rows if row.verdict is not RowVerdict.SAME and (row.gated or _is_news(row))]
    return Message(
        title=_write_title(summary),
        summary=summary.sentence,
        tone=_TONES[summary.answer],
        lines=tuple(_make_line(row, base_url) for row in told),
        fields=tuple(_list_fields(summary)),
        notes=tuple(_list_notes(summary)),
        commands=(rerun_command,) if rerun_command else (),
        url=make_link(base_url, "releases", summary.component, summary.release.identity),
    )


def to_dict(summary: ReleaseSummary) -> dict[str, Any]:
    """Return the summary as data that survives JSON: nothing rounded, times in ISO 8601, null where unknown."""
    return {
        "component": summary.component,
        "release": dataclasses.asdict(summary.release),
        "against": None if summary.against is None else dataclasses.asdict(summary.against),
        "answer": summary.answer.value,
        "sentence": summary.sentence,
        "hardware_classes": list(summary.hardware_classes),
        "suites": list(summary.suites),
        "counts": {verdict.value: number for verdict, number in summary.count_verdicts().items()},
        "rows": [_dictify(row) for row in summary.rows],
        "means": [_dictify(mean) for mean in summary.means],
        "flags": list(summary.flags),
        "measured_from": summary.measured_from.isoformat() if summary.measured_from else None,
        "measured_to": summary.measured_to.isoformat() if summary.measured_to else None,
        "standing": summary.standing,
    }


def to_markdown(summary: ReleaseSummary, *, base_url: str | None = None) -> str:
    """Return the whole summary in Markdown (GitHub's dialect), ending in a newline."""
    lines = [f"## {escape_markdown(_write_title(summary))}", "", f"**{escape_markdown(summary.sentence)}**", ""]
    lines += [f"- {name}: {escape_markdown(value)}" for name, value in _list_fields(summary) if value]
    lines += [f"- {escape_markdown(note)}" for note in _list_notes(summary)]
    for hardware in summary.hardware_classes:
        rows = [row for row in summary.rows if row.hardware_class == hardware]
        lines += ["", f"### {escape_markdown(hardware)}", "", f"| {' | '.join(_HEADINGS)} |", "|---" * 8 + "|"]
        lines += [_markdown_row(row, base_url) for row in rows]
    return "\n".join(lines) + "\n"


def to_html(summary: ReleaseSummary, *, base_url: str | None = None) -> str:
    """Return the summary as an HTML fragment: a section with classes (`answer-no`, `verdict-regressed`), no style."""
    items = [(name, value) for name, value in _list_fields(summary) if value]
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in items)
    notes = "".join(f"<li>{escape(note)}</li>" for note in _list_notes(summary))
    tables = "".join(_html_table(summary, hardware, base_url) for hardware in summary.hardware_classes)
    return (
        f'<section class="release-summary answer-{summary.answer}">'
        f"<h2>{escape(_write_title(summary))}</h2>"
        f'<p class="sentence">{escape(summary.sentence)}</p>'
        f"<dl>{facts}</dl>" + (f'<ul class="notes">{notes}</ul>' if notes else "") + f"{tables}</section>\n"
    )


def _is_news(row: SummaryRow) -> bool:
    return row.verdict not in NO_ANSWER


def _write_title(summary: ReleaseSummary) -> str:
    against = f" against {summary.against.display}" if summary.against else ""
    return f"{summary.component} {summary.release.display}{against}"


def _list_fields(summary: ReleaseSummary) -> Iterable[tuple[str, str]]:
    """Yield name and value of what describes the summary as a whole."""
    counts = summary.count_verdicts()
    yield "Gated series", ", ".join(f"{number} {verdict.words}" for verdict, number in counts.items())
    yield "Hardware", join_names(summary.hardware_classes)
    yield "Suite", join_names(summary.suites)
    yield "Mean change", "; ".join(_word_mean(summary, mean) for mean in summary.means[:6])
    if summary.measured_from and summary.measured_to:
        first, last = (f"{moment:%Y-%m-%d %H:%M}" for moment in (summary.measured_from, summary.measured_to))
        yield "Measured", f"{first} to {last} UTC" if first != last else f"{first} UTC"


def _word_mean(summary: ReleaseSummary, mean: MeanChange) -> str:
    where = f" on {mean.hardware_class}" if len(summary.hardware_classes) > 1 else ""
    better = "lower is better" if mean.direction is Direction.LOWER else "higher is better"
    number = count(mean.series, "series", "series")
    return f"{mean.metric} {format_effect(mean.effect_ratio)}{where} ({better}, geometric, {number})"


def _list_notes(summary: ReleaseSummary) -> Iterable[str]:
    missing = [row for row in summary.rows if row.verdict is RowVerdict.MISSING]
    if missing:
        names = join_names([f"{row.series_name} {row.metric}" for row in missing], 3)
        yield f"{count(len(missing), 'series is', 'series are')} missing, which is not the same as fine: {names}."
    yield from summary.flags


def _row_mark(row: SummaryRow) -> str:
    if row.verdict in _MARKS or row.before is None or row.after is None:
        return _MARKS.get(row.verdict, "?")
    return draw_arrow(row.after - row.before) if _is_news(row) else "?"


def _row_effect(row: SummaryRow) -> str:
    """Return the change as a percentage, empty where there are no two levels or too little to say."""
    unknown = row.before is None or row.after is None or (row.effect_ratio is None and row.before != 0)
    return "" if unknown else format_effect(row.effect_ratio)


def _make_line(row: SummaryRow, base_url: str | None) -> Line:
    interval = format_interval(row.effect_low, row.effect_high)
    before = "no value" if row.before is None else format_number(row.before)
    detail = f"{before} → {format_value(row.after, row.unit)}" + (f" ({interval})" if interval else "")
    good, bad = row.verdict is RowVerdict.IMPROVED, row.verdict is RowVerdict.REGRESSED
    reason = f": {row.reason}" if row.reason else ""
    return Line(
        mark=_row_mark(row),
        effect=_row_effect(row),
        metric=row.metric,
        label=row.series_name,
        detail=f"{detail} {row.verdict.words}{reason}",
        tone=Tone.GOOD if good else Tone.BAD if bad else Tone.UNKNOWN if not _is_news(row) else Tone.NEUTRAL,
        url=make_link(base_url, "series", row.series_id),
    )


def _dictify(value: SummaryRow | MeanChange) -> dict[str, Any]:
    data = dataclasses.asdict(value)
    return {name: list(item) if isinstance(item, tuple) else item for name, item in data.items()}


def _row_cells(row: SummaryRow) -> tuple[str, ...]:
    """Return the texts of a table row, without series and metric."""
    gate = "" if row.gated else " (not gated)"
    remarks = "; ".join(filter(None, (row.reason, *row.flags)))
    return (
        format_value(row.before, row.unit),
        format_value(row.after, row.unit),
        f"{_row_mark(row)} {_row_effect(row)}".strip(),
        format_interval(row.effect_low, row.effect_high),
        row.verdict.words + gate,
        remarks,
    )


def _markdown_row(row: SummaryRow, base_url: str | None) -> str:
    url = make_link(base_url, "series", row.series_id)
    name = escape_markdown(row.series_name)
    metric = code_span(row.metric).replace("|", "\\|")
    cells = (f"[{name}](<{url}>)" if url else name, metric, *map(escape_markdown, _row_cells(row)))
    return f"| {' | '.join(cells)} |"


def _html_table(summary: ReleaseSummary, hardware: str, base_url: str | None) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in _HEADINGS)
    body = "".join(_html_row(row, base_url) for row in summary.rows if row.hardware_class == hardware)
    return f"<table><caption>{escape(hardware)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_row(row: SummaryRow, base_url: str | None) -> str:
    url = make_link(base_url, "series", row.series_id)
    name = escape(row.series_name)
    first = f'<a href="{escape(url)}">{name}</a>' if url else name
    cells = "".join(f"<td>{escape(cell)}</td>" for cell in _row_cells(row))
    return f'<tr class="verdict-{row.verdict}"><td>{first}</td><td><code>{escape(row.metric)}</code></td>{cells}</tr>'
