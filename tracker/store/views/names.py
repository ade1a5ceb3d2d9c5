"""What a series is called by people: its labels, the telling ones first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_QUIET = ("tool", "pins", "python", "threads", "dataset", "backend", "variant")
_FIRST = ("scenario", "model", "precision", "quantization")


def name_series(labels: Mapping[str, Any], variant: str = "") -> str:
    """Return `prefill, tiny, fp32, isl 128`: the labels that tell series of one suite apart; the tool where none do."""
    told = [str(labels[key]) for key in _FIRST if key in labels]
    told += [f"{key.replace('_', ' ')} {labels[key]}" for key in labels if key not in _FIRST and key not in _QUIET]
    told += [variant] if variant else []
    return ", ".join(told or [str(labels[key]) for key in ("tool",) if key in labels])
