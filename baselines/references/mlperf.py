"""What MLPerf Inference fixes for its benchmarks: how each one's accuracy is told, and the latency limits of scenarios.

Source: the rules and reference implementations of MLPerf Inference v5.1 and v6.0. To add a benchmark, add one entry;
a benchmark that is not here is never doubted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jobs.names import canonical_model, name_key

_MEASURES: Mapping[str, str] = {
    "ROUGE": r"\brouge",
    "word error rate": r"\bWER\b|word error",
    "AUC": r"\bAUC\b",
    "FID and CLIP": r"\b(?:FID|CLIP)\b",
    "exact match": r"exact[ _]match",
    "F1": r"\bF1\b",
    "VBench": r"\bvbench\b",
    "mAP": r"\bmAP\b",
    "top-1": r"\btop-?1\b|\bacc(?:uracy)?\s*=",
    "DICE": r"\bdice\b",
}
_PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _MEASURES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One model of MLPerf: the measures of its accuracy, figures that only its target has, and latency limits."""

    name: str
    measures: frozenset[str]
    figures: frozenset[str] = frozenset()
    limits: Mapping[str, tuple[int, int]]
    """Scenario -> (TTFT, TPOT) in ms."""


def _entry(name: str, measures: str, figures: str = "", **limits: tuple[int, int]) -> Benchmark:
    return Benchmark(
        name=name,
        measures=frozenset(part.strip() for part in measures.split(",")),
        figures=frozenset(figures.split()),
        limits=limits,
    )


_BENCHMARKS = {
    name_key(canonical_model(one.name)): one
    for one in (
        _entry("DeepSeek-R1", "exact match", "81.9132", server=(2000, 80), interactive=(1500, 15)),
        _entry("gpt-oss-120b", "exact match", "83.13", server=(3000, 80), interactive=(2000, 20)),
        _entry("Qwen3-VL-235B", "F1", "0.7824"),
        _entry("Llama-3.1-405B", "ROUGE, exact match", "21.6666 90.1335", server=(6000, 175), interactive=(4500, 80)),
        _entry("Llama-2-70B", "ROUGE", "44.4312 22.0352 28.6162", server=(2000, 200), interactive=(450, 40)),
        _entry("Llama-3.1-8B", "ROUGE", "42.9865 20.1235 29.9881", server=(2000, 100), interactive=(500, 30)),
        _entry("Mixtral-8x7B", "ROUGE, exact match", "45.5989 45.4911"),
        _entry("GPT-J", "ROUGE", "42.9435"),
        _entry("Wan2.2", "VBench"),
        _entry("DLRMv3", "AUC", "80.31"),
        _entry("DLRM-DCNv2", "AUC", "80.31"),
        _entry("Whisper", "word error rate", "2.0671"),
        _entry("Stable-Diffusion-XL", "FID and CLIP", "23.01085758 23.95007626"),
        _entry("BERT", "F1", "90.874"),
        _entry("ResNet-50", "top-1", "76.46"),
        _entry("RetinaNet", "mAP", "37.55"),
        _entry("3D-U-Net", "DICE", "0.86170"),
    )
}
_LIMITS = re.compile(r"([\d,.]+)\s*ms\s*/\s*([\d,.]+)\s*ms", re.IGNORECASE)
_FIGURE = re.compile(r"\d+\.\d+")


def doubt_accuracy(model: str, target: str) -> str | None:
    """Return why an accuracy target cannot be the model's; None if it can, or where nothing is known of the model."""
    own = _BENCHMARKS.get(name_key(canonical_model(model)))
    if own is None:
        return None
    said = {name for name, pattern in _PATTERNS.items() if pattern.search(target)}
    figures = set(_FIGURE.findall(target))
    owners = sorted(
        other.name
        for other in _BENCHMARKS.values()
        if other is not own and other.figures & figures and not own.figures & figures
    )
    whose = f"; these figures are the target of {' or '.join(owners)}" if owners else ""
    if said and not said & own.measures:
        told = " or ".join(sorted(own.measures))
        return f"the target is told as {' and '.join(sorted(said))}, but {own.name} is judged by {told}{whose}"
    return f"the target's figures are not those of {own.name}{whose}" if owners else None


def read_limits(text: str) -> tuple[float, float] | None:
    """Return (TTFT, TPOT) in ms of a constraint as printed; None where it states no such pair."""
    match = _LIMITS.search(text)
    try:
        return (float(match[1].replace(",", "")), float(match[2].replace(",", ""))) if match else None
    except ValueError:
        return None


def vote_scenario(rows: Iterable[tuple[str, str]]) -> str | None:
    """Return the scenario whose limits most of the rows (model, constraint) name; None where none is known."""
    votes: dict[str, int] = {}
    for model, constraint in rows:
        known = _BENCHMARKS.get(name_key(canonical_model(model)))
        for scenario, limits in known.limits.items() if known else ():
            if limits == read_limits(constraint):
                votes[scenario] = votes.get(scenario, 0) + 1
    return max(votes, key=lambda name: votes[name]) if votes else None
