"""Numbers, times and verdicts as pages show them: the filters of the templates."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from alerts.wording import count, format_effect, format_number, format_value
from jobs.environment import describe_environment, group_environment
from tracker.store.views.releases import ReleaseItem
from tracker.store.views.sightings import describe_unseen

TONES = {
    "regressed": "bad",
    "improved": "good",
    "failed": "bad",
    "tool_failed": "bad",
    "timeout": "bad",
    "parse_failed": "bad",
    "infra_failed": "unknown",
    "lost": "unknown",
    "missing": "unknown",
    "too_few": "unknown",
    "noisy": "unknown",
    "confounded": "unknown",
    "running": "busy",
    "unseen": "unknown",
    "measured": "busy",
    "new": "busy",
    "acknowledged": "busy",
    "investigating": "busy",
    "recovered": "good",
    "fixed": "good",
    "regression": "bad",
    "improvement": "good",
    "ready": "good",
    "ok": "good",
    "unknown": "unknown",
    "refused": "bad",
    "cordoned": "unknown",
    "draining": "busy",
    "drained": "unknown",
    "maintenance": "busy",
    "held": "bad",
    "answers": "good",
    "away": "bad",
}
WORDS = {
    "too_few": "too few runs",
    "noisy": "too noisy",
    "confounded": "other environment",
    "same": "unchanged",
    "wont_fix": "won't fix",
    "false_positive": "false positive",
    "measured": "being read",
    "unseen": "running, not seen",
    "maintenance": "in maintenance",
    "held": "held after a refusal",
}


def find_tone(word: str) -> str:
    """Return how a verdict or state is meant to look: bad, good, unknown, busy or neutral."""
    return TONES.get(word, "neutral")


def word(value: str) -> str:
    """Return a verdict or state in words."""
    return WORDS.get(value, value.replace("_", " "))


def draw_mark(verdict: str, effect_ratio: float | None) -> str:
    """Return the arrow of what the value did, so that colour is never the only sign."""
    if verdict in ("missing", "failed"):
        return "×"
    if find_tone(verdict) == "unknown":
        return "?"
    if verdict == "same" or effect_ratio is None or abs(effect_ratio) < 0.0005:
        return "="
    return "▲" if effect_ratio > 0 else "▼"


def format_duration(seconds: float | None) -> str:
    """Return a duration as `8.4 s`, `3 min 20 s`, `2 h 5 min`; a dash where there is none."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def format_age(moment: datetime | None, now: datetime) -> str:
    """Return how long ago a moment was: `12 min ago`; the date from 30 days on."""
    if moment is None:
        return "never"
    seconds = (now - moment).total_seconds()
    if seconds < -60:
        return format_time(moment)
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 30 * 86_400:
            return f"{moment.astimezone(UTC):%Y-%m-%d}"
        if seconds >= size:
            return f"{seconds // size:.0f} {unit} ago"
    return "just now"


def format_time(moment: datetime | None) -> str:
    """Return a moment as `2026-12-01 17:00:05 UTC`; a dash where there is none."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if moment else "–"


def format_size(size_bytes: int | None) -> str:
    """Return a size as `640 B`, `18.4 MB`; a dash where it is not known."""
    if size_bytes is None:
        return "–"
    size = float(size_bytes)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def describe_release(release: ReleaseItem | None) -> tuple[str, str]:
    """Return the tone and the words of how a release stands: judged, being measured, or why not."""
    if release is None:
        return "neutral", "no release known yet"
    runs, verdicts = release.runs, release.verdicts
    total, left = sum(runs.values()), sum(runs.get(state, 0) for state in ("queued", "running", "measured"))
    if total and runs.get("queued", 0) == total:
        return "unknown", f"waits to be measured: {count(total, 'run')} queued"
    if left:
        return "busy", f"being measured: {total - left} of {count(total, 'run')} finished"
    if runs.get("done"):
        return _describe_verdicts(verdicts, release.changes)
    if runs.get("failed"):
        return "bad", f"could not be measured: {count(runs['failed'], 'run')} failed"
    if runs:
        return "unknown", "its runs were cancelled"
    if reason := release.obstacle or release.no_place_reason:
        return "unknown", reason
    return "unknown", "not measured yet"


def _describe_verdicts(verdicts: Mapping[str, int], changes: Mapping[str, int]) -> tuple[str, str]:
    total = sum(verdicts.values())
    if not total:
        return "neutral", "measured; no gated series was compared" + (", see its changes" if changes else "")
    all_of_them = count(total, "gated series", "gated series")
    if worse := verdicts.get("regressed", 0):
        return "bad", f"{worse} of {all_of_them} regressed"
    better = verdicts.get("improved", 0)
    if unclear := sum(verdicts.get(one, 0) for one in ("missing", "too_few", "noisy", "confounded")):
        return "unknown", f"{unclear} of {all_of_them} without an answer" + (f", {better} improved" if better else "")
    if better:
        return "good", f"{better} of {all_of_them} improved, none regressed"
    return "neutral", f"no change in {all_of_them}"


FILTERS: Mapping[str, Any] = {
    "number": format_number,
    "value": format_value,
    "effect": format_effect,
    "duration": format_duration,
    "time": format_time,
    "size": format_size,
    "tone": find_tone,
    "unseen": describe_unseen,
    "word": word,
    "describe_environment": describe_environment,
    "group_environment": group_environment,
}
