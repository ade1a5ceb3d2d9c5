"""Whether a claim's figures agree with one another, and what it is a claim of: software, price, power, hardware.

Cost is price over throughput, and tokens a megawatt are throughput over power: of three figures two give the third.
A change on other hardware is never one of software: how much of it the software did cannot be told from such figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from baselines.claims.consistency import find_contradictions
from baselines.claims.entered import FIGURES, ONE, Claim, Ratio, exact
from baselines.claims.measured import Source
from baselines.cost.books import Book, BookKind, Rate
from jobs.names import same_gpu, same_model

Outcome = Literal["holds", "holds if the price is held", "does not hold", "cannot be told"]

COST, RATE, PER_MW, PER_TOKEN = "usd_per_m_tokens", "tok_s_per_gpu", "tok_s_per_mw", "j_per_token"
PRICE, POWER = "usd_per_gpu_hour", "kw_per_gpu"
TIERS = ("own", "neocloud", "rental")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPart:
    """How many times better one thing made the figure, with what printed digits allow; None where it is not known."""

    source: Source
    times: Ratio | None
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCheck:
    """What a claim comes to."""

    claim: Claim
    outcome: Outcome
    kind: str
    """software, price, both, hardware (software in it cannot be told apart), workload, level, unknown."""
    ratios: Mapping[str, Ratio]
    """Figure -> after / before, from the figures, else as stated, else implied by the others."""
    parts: tuple[CheckedPart, ...]
    findings: tuple[str, ...]


def check_claim(claim: Claim, books: Sequence[Book] = ()) -> ClaimCheck:
    """Return what a claim comes to; books are only used to say what its figures would imply."""
    ratios, problems = _gather(claim)
    problems += find_contradictions(claim)
    findings = list(problems)
    price = _ratio_of_rates(claim, ratios, PRICE, "price")
    power = _ratio_of_rates(claim, ratios, POWER, "power")
    findings += _imply(ratios, price, power)
    kind = _kind_of(claim, ratios, price)
    if kind == "level":
        findings += _explain_level(claim, books)
    elif kind == "hardware":
        findings += _explain_hardware(claim, ratios, books)
    elif kind == "unknown":
        findings.append("the GPU is not stated on both sides, so software and hardware cannot be told apart")
    elif kind == "software" and price is None and COST in ratios:
        findings += _explain_price(claim, ratios[COST], books)
    outcome = _judge(claim, kind, ratios, price, bool(problems) or any("contradict" in one for one in findings))
    return ClaimCheck(
        claim=claim,
        outcome=outcome,
        kind=kind,
        ratios=ratios,
        parts=tuple(_split(kind, ratios, price, power)),
        findings=tuple(findings),
    )


def _gather(claim: Claim) -> tuple[dict[str, Ratio], list[str]]:
    """Return after / before of every figure on both sides or stated, and where the two disagree."""
    found, problems = {}, []
    for figure in FIGURES:
        before, after = claim.before.figures.get(figure), claim.after.figures.get(figure)
        computed = after.over(before) if before and after else None
        stated = claim.stated.get(figure)
        if computed and stated and not computed.meets(stated):
            problems.append(f"{figure}: the figures give {word_ratio(computed)}, the claim states {word_ratio(stated)}")
        if (ratio := computed or stated) is not None:
            found[figure] = ratio
    return found, problems


def _ratio_of_rates(claim: Claim, ratios: Mapping[str, Ratio], figure: str, name: str) -> Ratio | None:
    """Return after / before of price or power: from figures, 1 where it is held, None where it is not known."""
    return ratios.get(figure) or (ONE if name in claim.held else None)


def _imply(ratios: dict[str, Ratio], price: Ratio | None, power: Ratio | None) -> list[str]:
    """Return what the figures imply or contradict, and add what they imply."""
    said = []
    for figure, other, turned in ((COST, price, True), (PER_MW, power, False), (PER_TOKEN, power, True)):
        rate, stated = ratios.get(RATE), ratios.get(figure)
        if other is None:
            continue
        if rate is not None:
            implied = other.over(rate) if turned else rate.over(other)
            if stated is None:
                ratios[figure] = implied
                said.append(f"{RATE} {word_ratio(rate)} implies {figure} {word_ratio(implied)}")
            elif implied.meets(stated):
                said.append(f"{RATE} {word_ratio(rate)} agrees with {figure} {word_ratio(stated)}")
            else:
                two = f"{RATE} {word_ratio(rate)} and {figure} {word_ratio(stated)}"
                said.append(f"{two} contradict one another: the first gives {word_ratio(implied)}")
        elif stated is not None:
            ratios[RATE] = other.over(stated) if turned else stated.times(other)
            said.append(f"{figure} {word_ratio(stated)} implies {RATE} {word_ratio(ratios[RATE])}")
    return said


def _kind_of(claim: Claim, ratios: Mapping[str, Ratio], price: Ratio | None) -> str:
    if not ratios:
        return "level"
    first, second = claim.before.texts, claim.after.texts
    if "gpu" not in first or "gpu" not in second:
        return "unknown"
    if not same_gpu(first["gpu"], second["gpu"]):
        return "hardware"
    if "model" in first and "model" in second and not same_model(first["model"], second["model"]):
        return "workload"
    if any(first.get(name, "") != second.get(name, "") for name in ("workload", "precision")):
        return "workload"
    if price is not None and not price.meets(ONE):
        rate = ratios.get(RATE)
        only = rate.meets(ONE) if rate is not None else COST not in ratios
        return "price" if only else "software and price"
    return "software"


def _judge(claim: Claim, kind: str, ratios: Mapping[str, Ratio], price: Ratio | None, contradicted: bool) -> Outcome:
    if contradicted:
        return "does not hold"
    if kind in ("level", "unknown"):
        return "cannot be told"
    if claim.kind is not None and claim.kind != kind:
        return "does not hold"
    if kind == "software" and COST in ratios and price is None:
        return "holds if the price is held"
    return "holds"


def _split(kind: str, ratios: Mapping[str, Ratio], price: Ratio | None, power: Ratio | None) -> list[CheckedPart]:
    """Return the parts of a change as times better."""
    if kind in ("level", "unknown"):
        return []
    rate = ratios.get(RATE)
    parts = []
    if kind == "hardware":
        how = "hardware and the software on it together; figures of two GPUs cannot tell them apart"
        parts.append(CheckedPart(source="hardware", times=rate, how=how if rate else f"{how}; tok/s/GPU is not stated"))
    elif kind == "workload":
        parts.append(
            CheckedPart(source="workload", times=rate, how="model, precision or workload differ: no software part")
        )
    elif rate is not None or COST in ratios:
        known = rate or (_inverse(ratios[COST]) if COST in ratios and price is None else None)
        how = "tok/s/GPU" if rate else "all of it, only with the price held: no price is stated"
        parts.append(CheckedPart(source="software", times=known, how=how))
    if COST in ratios or kind == "price":
        told = "not stated" if price is None else "held" if price == ONE else "USD per GPU-hour"
        parts.append(CheckedPart(source="price", times=_inverse(price) if price else None, how=told))
    if PER_MW in ratios or PER_TOKEN in ratios:
        told = "not stated" if power is None else "held" if power == ONE else "kW per GPU"
        parts.append(CheckedPart(source="power", times=_inverse(power) if power else None, how=told))
    return parts


def _inverse(one: Ratio) -> Ratio:
    return ONE.over(one)


def _explain_level(claim: Claim, books: Sequence[Book]) -> list[str]:
    """Return which throughput a stated cost needs, by each price that is known."""
    said = ["it states a level, not a change: nothing can be held constant"]
    for side in (claim.before, claim.after):
        cost = side.figures.get(COST)
        if cost is None:
            continue
        prices = [(rate.words, rate.value) for rate in _rates(books, BookKind.PRICE, side.texts.get("gpu"))]
        if stated := side.figures.get(PRICE):
            prices = [(f"the stated ${float(stated.value):g}/GPU-hour", stated.value)]
        user = side.figures.get("tok_s_user")
        at = f" at {float(user.value):g} tok/s/user" if user else ""
        for words, value in prices:
            rate = value * 10**6 / (cost.value * 3600)
            said.append(f"${float(cost.value):g} per million needs {float(rate):,.0f} tok/s/GPU{at} by {words}")
        if not prices:
            said.append("no price of its GPU is known, so the throughput it needs cannot be said")
    return said


def _explain_price(claim: Claim, cost: Ratio, books: Sequence[Book]) -> list[str]:
    """Return what would be left for the software if the price had moved as in the books."""
    rates = _rates(books, BookKind.PRICE, claim.after.texts["gpu"])
    if len(rates) < 2 or rates[0].value == rates[-1].value:
        return []
    moved = exact(rates[0].value / rates[-1].value)
    left = word_ratio(cost.over(moved))
    return [
        f"had the price moved with it ({rates[-1].words} -> {rates[0].words}), {left} would be left for the software"
    ]


def _explain_hardware(claim: Claim, ratios: Mapping[str, Ratio], books: Sequence[Book]) -> list[str]:
    """Return what cost and tokens per MW need of throughput, by the newest edition that knows both GPUs."""
    first, second = claim.before.texts["gpu"], claim.after.texts["gpu"]
    said = [f"{first} against {second}: another GPU, so no claim of software"]
    implied = []
    for figure, kind, turned in ((COST, BookKind.PRICE, True), (PER_MW, BookKind.POWER, False)):
        pair = _newest_pair(books, kind, first, second)
        if figure in ratios and pair is not None:
            moved = exact(pair[1].value / pair[0].value)
            rate = moved.over(ratios[figure]) if turned else ratios[figure].times(moved)
            implied.append(rate)
            words = f"{pair[0].words} -> {pair[1].words}"
            said.append(f"{figure} {word_ratio(ratios[figure])} needs tok/s/GPU {word_ratio(rate)} by {words}")
    if len(implied) == 2:
        apart = max(one.value for one in implied) / min(one.value for one in implied) - 1
        said.append(f"by the books the two needs lie {float(apart) * 100:.0f} % apart")
    return said


def _rates(books: Sequence[Book], kind: BookKind, gpu: str | None) -> list[Rate]:
    """Return the figures of every edition for a GPU, the newest first; for prices its first tier that is known."""
    found = []
    for edition in sorted(
        (one for book in books if book.kind is kind for one in book.editions),
        key=lambda one: one.valid_from,
        reverse=True,
    ):
        entry = edition.entry_of(gpu) if gpu else None
        columns = TIERS if kind is BookKind.PRICE else ("kw",)
        tier = next((column for column in columns if entry and column in entry.values), None)
        if entry and tier:
            found.append(Rate(value=entry.values[tier], kind=kind, gpu=entry.gpu, tier=tier, edition=edition))
    return found


def _newest_pair(books: Sequence[Book], kind: BookKind, first: str, second: str) -> tuple[Rate, Rate] | None:
    """Return the figures of two GPUs from the newest edition that knows both."""
    others = {rate.edition.id: rate for rate in _rates(books, kind, second)}
    for rate in _rates(books, kind, first):
        other = others.get(rate.edition.id)
        if other is not None and other.tier == rate.tier:
            return rate, other
    return None


def word_ratio(ratio: Ratio) -> str:
    """Return after / before in words: `x4`, `1/5.5`, with the interval of the printed digits where it has one."""
    return f"{_times(ratio.value)}" + (
        "" if ratio.low == ratio.high else f" ({_times(ratio.low)} to {_times(ratio.high)} by the printed digits)"
    )


def _times(value: Fraction) -> str:
    return f"x{float(value):.4g}" if value >= 1 else f"1/{float(1 / value):.4g}"
