"""What whoever hands results in says of them, checked: component, release, image, host, labels, time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from difflib import get_close_matches

from jobs.labels import FACTS, IDENTITY_LABELS, label_problem
from jobs.measurements import Label
from jobs.run_builder import number_label
from tracker.errors import UserError
from tracker.pipeline.deposit_rows import Origin

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


def read_origin(
    component: str,
    release: str,
    image: str | None,
    host: str | None,
    labels: Iterable[str],
    at: str | None,
    *,
    history: bool,
) -> Origin:
    """Return what is said of all results; UserError for what cannot be meant."""
    for name, value in (("component", component), ("host", host)):
        if value is not None and not _NAME.fullmatch(value):
            raise UserError(f"{name}: expected letters, digits and . _ + - (at most 100), found {value!r}")
    if not release.strip() or len(release) > 200 or "/" in release or not release.isprintable():
        raise UserError(f"release: expected a published name such as 1.2.0rc2, found {release!r}")
    if image is not None and not _DIGEST.fullmatch(image):
        raise UserError(f"image: expected sha256: and 64 hexadecimal digits, found {image!r}")
    return Origin(
        component=component,
        release=release.strip(),
        image=image,
        host=host,
        labels=dict(read_label(text) for text in labels),
        measured_at=None if at is None else read_time(at),
        history=history,
    )


def read_label(text: str) -> tuple[str, Label]:
    """Return name and value of `name=value`; UserError for an unknown name or a value that does not fit."""
    name, equals, value = text.partition("=")
    if not equals or not value.strip():
        raise UserError(f"label: expected name=value, found {text!r}")
    check_label(name)
    number = number_label(value)
    plain: Label = value.strip() if number is None else number
    if name in IDENTITY_LABELS and (problem := label_problem(name, plain)):
        if label_problem(name, value.strip()) is not None:
            raise UserError(f"label: {problem}")
        plain = value.strip()
    return name, plain


def read_time(text: str, name: str = "at") -> datetime:
    """Return a moment in UTC; UserError, which names the option, for one without a zone: it may be any of 24 hours."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UserError(f"{name}: expected a time such as 2026-11-30T08:00:00Z, found {text!r}") from None
    if moment.tzinfo is None:
        raise UserError(f"{name}: {text!r} has no zone; write 2026-11-30T08:00:00Z or +01:00 at its end")
    return moment.astimezone(UTC)


def check_label(name: str) -> None:
    """Raise UserError where a label is neither identity nor a known fact."""
    known = {**IDENTITY_LABELS, **FACTS}
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(known))}"
        raise UserError(f"unknown label {name!r}; {hint}")
