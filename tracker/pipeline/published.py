"""Published rows: those of an edition or of the newest ones, chosen by what they say, and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baselines.references import Reference, as_json, model_key
from jobs.metrics import find_metric
from jobs.names import gpu_key
from tracker.pipeline.references import Edition, find_edition, list_editions, load_figures, newest_of_each
from tracker.store.engine import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One published row with the edition it stands in."""

    edition: Edition
    reference: Reference


def load_published(session: Session, named: str | None = None) -> list[Figure]:
    """Return the figures of one edition; without a name those of the newest edition of each source."""
    editions = list_editions(session)
    chosen = [find_edition(editions, named)] if named else newest_of_each(editions)
    return [Figure(edition=one, reference=row) for one in chosen for row in load_figures(session, one)]


def choose_figures(
    figures: Sequence[Figure],
    *,
    model: str | None = None,
    gpu: str | None = None,
    framework: str | None = None,
    metric: str | None = None,
    text: str | None = None,
    doubtful: bool = False,
) -> list[Figure]:
    """Return the figures that match all that is asked; a model or GPU by any of its names.

    Part of a model's name is enough where no model has it as a whole. A framework is named with its version or
    without; each word of `text` must stand in the row.
    """
    models = _choose_models(figures, model) if model else frozenset()
    wanted_metric = find_metric(metric).name if metric else None
    words = [word.casefold() for word in (text or "").split()]
    return [
        one
        for one in figures
        if (not model or one.reference.model in models)
        and (not gpu or (one.reference.gpu and gpu_key(one.reference.gpu) == gpu_key(gpu)))
        and (not framework or _is_framework(one.reference.printed.framework, framework))
        and (not wanted_metric or (one.reference.canonical and one.reference.canonical.metric == wanted_metric))
        and (not doubtful or one.reference.flags)
        and all(word in _searched(one.reference) for word in words)
    ]


def _choose_models(figures: Sequence[Figure], wanted: str) -> frozenset[str]:
    """Return the names of the models that are meant."""
    key = model_key(wanted)
    keys = {one.reference.model: model_key(one.reference.model) for one in figures if one.reference.model}
    whole = frozenset(name for name, own in keys.items() if own == key)
    return whole or frozenset(name for name, own in keys.items() if key and key in own)


def _is_framework(printed: str | None, wanted: str) -> bool:
    if printed is None:
        return False
    name, _, _ = printed.rpartition(" ")
    return wanted.strip().casefold() in (printed.casefold(), name.casefold())


def _searched(one: Reference) -> str:
    printed = one.printed
    told = (
        one.model, printed.model, one.gpu, printed.scenario, printed.system, printed.parallelism, printed.precision,
        printed.framework, printed.container, printed.dataset, printed.unit,
    )  # fmt: skip
    return " ".join(part for part in told if part).casefold()


def describe_workload(one: Reference) -> str:
    """Return what a published row measures: `offline`, `ISL 1000 OSL 1000`, `batch 128`."""
    printed = one.printed
    parts = [printed.scenario or ""]
    if printed.isl is not None or printed.osl is not None:
        parts.append(f"ISL {printed.isl} OSL {printed.osl}")
    if printed.batch is not None:
        parts.append(f"batch {printed.batch}")
    return " ".join(part for part in parts if part)


def describe_gpus(one: Reference) -> str:
    """Return the GPUs of a published row: `8x B300`."""
    count = one.printed.gpus
    return " ".join(part for part in (f"{count}x" if count else "", one.gpu or "") if part)


def describe_figure(one: Reference) -> str:
    """Return a figure as printed, with separators: `2,494,310 tokens/sec`; words where the page leaves it out."""
    if one.value is None:
        return "no figure"
    return f"{one.value:,} {one.printed.unit or ''}".rstrip()


def to_plain(one: Figure) -> Mapping[str, Any]:
    """Return a published row as JSON shows it: as `tracker references import`, with its edition and notes."""
    return {"edition": one.edition.name, **as_json(one.reference), "notes": list(one.reference.notes)}
