"""Claims: what a change over many releases is made of (software, price, power, hardware), measured or as stated."""

from __future__ import annotations

from baselines.claims.check import ClaimCheck, check_claim
from baselines.claims.document import parse_claims
from baselines.claims.entered import Claim, Ratio
from baselines.claims.measured import Link, MeasuredClaim, Part, Step, measure_claim

__all__ = [
    "Claim",
    "ClaimCheck",
    "Link",
    "MeasuredClaim",
    "Part",
    "Ratio",
    "Step",
    "check_claim",
    "measure_claim",
    "parse_claims",
]
