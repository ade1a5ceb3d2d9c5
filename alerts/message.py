"""What is told, as a value that every sink can show: built from an alert or a summary, rendered in `alerts.texts`
and `alerts.blocks`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote, urlsplit

from alerts.grouping import AlertGroup, ChangeFact
from alerts.wording import Change, format_effect, format_interval, format_number, format_value, join_names


class AlertState(StrEnum):
    """Where an alert is in its life; `recovered` is set by the service, the rest by people."""

    NEW = "new"
    ACKNOWLEDGED = "acknowledged"
    INVESTIGATING = "investigating"
    EXPECTED = "expected"
    FIXED = "fixed"
    WONT_FIX = "wont_fix"
    FALSE_POSITIVE = "false_positive"
    INFRA = "infra"
    RECOVERED = "recovered"

    @property
    def words(self) -> str:
        """The state as people read it: `won't fix`, `false positive`."""
        return self.value.replace("wont", "won't").replace("_", " ")


class Tone(StrEnum):
    """How a message or one of its lines is meant to look; never told by colour alone."""

    BAD = "bad"
    GOOD = "good"
    NEUTRAL = "neutral"
    UNKNOWN = "unknown"
    """There is no answer: missing, too few, too noisy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series of a message: `▲ +15.2 %  latency_p50_ms  prefill, isl 128   5.58 → 6.43 ms`."""

    mark: str
    effect: str
    metric: str
    label: str
    detail: str
    tone: Tone = Tone.NEUTRAL
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message as data: plain text in every field, no markup of any receiver."""

    title: str
    summary: str
    tone: Tone = Tone.NEUTRAL
    state: AlertState | None = None
    lines: tuple[Line, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    """Name and value of what stands beside the lines: release, hardware, suite."""
    notes: tuple[str, ...] = ()
    """What a reader must know before believing it."""
    commands: tuple[str, ...] = ()
    """What to do next, ready to paste."""
    links: tuple[tuple[str, str], ...] = ()
    """Name and https address of what others say about it: the publisher's release notes."""
    url: str | None = None

    def __post_init__(self) -> None:
        if not self.title.strip():
            raise ValueError("a message needs a title")


def build_alert_message(
    group: AlertGroup,
    *,
    alert_id: str,
    state: AlertState = AlertState.NEW,
    environment_differences: Iterable[str] = (),
    recovered_in: str | None = None,
    withdrawn: str | None = None,
    rerun_command: str | None = None,
    base_url: str | None = None,
) -> Message:
    """Return the message of an alert.

    `environment_differences` are what else changed with the release (`driver 550.54 -> 570.86`); links are made
    only where `base_url` says at which address people reach the pages. `withdrawn` says why the change no longer
    stands; then nothing else is said of it, and nothing is to be run again.
    """
    notes = (withdrawn,) if withdrawn else _list_notes(group, tuple(environment_differences), state, recovered_in)
    return Message(
        title=group.title,
        summary=group.headline,
        tone=_TONES[group.change],
        state=state,
        lines=tuple(_make_line(fact, base_url) for fact in group.facts),
        fields=_list_fields(group),
        notes=tuple(notes),
        commands=(rerun_command,) if rerun_command and not withdrawn else (),
        url=make_link(base_url, "alerts", alert_id),
    )


def make_link(base_url: str | None, *parts: str) -> str | None:
    """Return the address of a page below `base_url`, None without one; anything but http(s) is refused."""
    if base_url is None:
        return None
    if urlsplit(base_url).scheme not in ("http", "https"):
        raise ValueError(f"expected the pages' address to start with http:// or https://, found {base_url!r}")
    return "/".join((base_url.rstrip("/"), *(quote(part, safe="") for part in parts)))


_TONES = {Change.REGRESSED: Tone.BAD, Change.IMPROVED: Tone.GOOD, Change.CHANGED: Tone.NEUTRAL}


def _make_line(fact: ChangeFact, base_url: str | None) -> Line:
    interval = format_interval(fact.effect_low, fact.effect_high)
    detail = f"{format_number(fact.before)} → {format_value(fact.after, fact.unit)}"
    return Line(
        mark=draw_arrow(fact.after - fact.before),
        effect=format_effect(fact.effect_ratio),
        metric=fact.metric,
        label=fact.series_name,
        detail=detail + (f" ({interval})" if interval else "") + ("" if fact.confirmed else ", provisional"),
        tone=_TONES[fact.verdict],
        url=make_link(base_url, "series", fact.series_id),
    )


def draw_arrow(rise: float) -> str:
    """Return ▲ for a value that rose, ▼ for one that fell, = for neither."""
    return "▲" if rise > 0 else "▼" if rise < 0 else "="


def _list_fields(group: AlertGroup) -> tuple[tuple[str, str], ...]:
    return (
        ("Component", group.component),
        ("Release", group.release.display),
        ("Hardware", group.hardware_class),
        ("Suite", join_names(sorted({fact.suite for fact in group.facts}))),
        ("Rule", group.rule.name),
    )


def _list_notes(
    group: AlertGroup, differences: tuple[str, ...], state: AlertState, recovered_in: str | None
) -> Iterable[str]:
    """Yield what limits or explains the finding, the most important first."""
    if state is AlertState.RECOVERED:
        yield f"Recovered in {recovered_in}." if recovered_in else "Recovered in a later release."
    if differences:
        yield f"The environment differs too, so the release may not be the cause: {join_names(differences)}."
    if not group.confirmed:
        yield "Provisional: seen only at the newest release. One more release or a rerun will confirm it or drop it."
    elif not all(fact.confirmed for fact in group.facts):
        yield "Series marked provisional show it only at the newest release."
    yield from sorted({_word_range(fact) for fact in group.facts if fact.possible_from is not None})


def _word_range(fact: ChangeFact) -> str:
    last = fact.possible_to or fact.release.display
    return (
        f"The change lies somewhere from {fact.possible_from} to {last}: the releases between were not measured."
        if last != fact.possible_from
        else f"The change lies in {last}."
    )
