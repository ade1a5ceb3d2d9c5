"""Whether what a claim states of one time agrees with itself: cost with price and throughput, energy with power."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from baselines.claims.entered import ONE, Claim, Ratio, exact

_PER_MILLION = exact(Fraction(10**6, 3600))
_PER_THOUSAND = exact(Fraction(1000))
_TRIPLES = (
    ("usd_per_m_tokens", "usd_per_gpu_hour", "tok_s_per_gpu", _PER_MILLION),
    ("tok_s_per_mw", "tok_s_per_gpu", "kw_per_gpu", _PER_THOUSAND),
    ("j_per_token", "kw_per_gpu", "tok_s_per_gpu", _PER_THOUSAND),
)
"""Figure, what it is of, over what, times what."""
_HELD = (("price", "usd_per_gpu_hour"), ("power", "kw_per_gpu"))


def find_contradictions(claim: Claim) -> Iterator[str]:
    """Yield, in words, the figures of one side that contradict one another, and what is held and moves all the same."""
    for name, side in (("before", claim.before), ("after", claim.after)):
        for figure, upper, lower, times in _TRIPLES:
            stated, over, under = (side.figures.get(one) for one in (figure, upper, lower))
            if stated is None or over is None or under is None:
                continue
            given = over.over(under).times(times)
            if not given.meets(stated):
                two = f"{upper} {_word(over)} and {lower} {_word(under)}"
                yield f"{name}: {two} give {figure} {_word(given)}, which contradicts the stated {_word(stated)}"
    for held, figure in _HELD:
        before, after = claim.before.figures.get(figure), claim.after.figures.get(figure)
        moved = after.over(before) if before and after else claim.stated.get(figure)
        if held in claim.held and moved is not None and not moved.meets(ONE):
            yield f"the {held} is said to be held, but {figure} moves"


def _word(one: Ratio) -> str:
    return f"{float(one.value):.4g}"
