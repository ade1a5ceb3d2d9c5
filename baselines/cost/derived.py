"""Money, energy and interactivity derived from what one run measured: computed when asked, never stored.

Every figure says how it was made and by which edition of a book; one that cannot be made says why, and is never 0.
Arithmetic is exact (fractions) and rounded once, at the end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from baselines.cost.books import Rate, Unknown
from baselines.gpu_counts import GpuCount, LabelValue, count_gpus

Tokens = Literal["input", "output", "total"]
TOKENS: tuple[Tokens, ...] = ("input", "output", "total")
DECODE_ONLY_TOOLS = ("inferencex",)
"""Tools whose output_tok_s_per_gpu divides by the decode GPUs alone where prefill and decode run apart."""
CONTRADICTION_RATIO = Fraction(5, 100)
"""Two figures of one run that should be one, and lie further apart, are both left out: one of them is wrong."""
MOST_OF_BOOK = Fraction(3, 2)
"""Power of the GPU alone above so many times the book's all-in power is that of several GPUs."""
SNAPSHOT = "snapshot"
"""The flag of a reading at one moment, which is no mean over the run."""
INPUTS = (
    "output_tok_s", "total_tok_s", "output_tok_s_per_gpu", "total_tok_s_per_gpu", "prompt_tok_s",
    "tok_s_user", "tpot_p50_ms", "tpot_mean_ms", "power_w",
)  # fmt: skip
"""The measured metrics that derived figures are made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedMetric:
    """One derived metric: its unit and which way is better."""

    name: str
    unit: str
    direction: Literal["higher", "lower"]
    meaning: str


def _metrics() -> dict[str, DerivedMetric]:
    found = []
    for kind in TOKENS:
        found += [
            (f"usd_per_m_{kind}_tokens", "USD/M tokens", "lower", f"price of a million {kind} tokens"),
            (f"{kind}_tok_s_per_mw", "tok/s/MW", "higher", f"{kind} tokens a second from one megawatt"),
            (f"j_per_{kind}_token", "J/token", "lower", f"energy of one {kind} token"),
        ]
    found.append(("interactivity_tok_s_user", "tok/s/user", "higher", "tokens a second as one user sees them"))
    return {
        name: DerivedMetric(name=name, unit=unit, direction="lower" if way == "lower" else "higher", meaning=meaning)
        for name, unit, way, meaning in found
    }


DERIVED: Mapping[str, DerivedMetric] = _metrics()


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One derived figure; without a value, `reason` says why."""

    metric: str
    value: float | None = None
    how: str = ""
    """`$1.73/GPU-hour, own, inferencex/2026-07 over output_tok_s / 8 GPUs (gpu_count)`."""
    reason: str = ""
    editions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PerGpu:
    """Tokens a second of one GPU, exactly; None with the reason in `how` where it is not known."""

    value: Fraction | None
    how: str


def usd_per_million(usd_per_gpu_hour: Fraction | float, tok_s_per_gpu: Fraction | float) -> Fraction:
    """Return USD per million tokens: $/GPU-hour / (tok/s/GPU x 3600 / 1e6), exactly."""
    price, rate = _positive("usd_per_gpu_hour", usd_per_gpu_hour), _positive("tok_s_per_gpu", tok_s_per_gpu)
    return price * 10**6 / (rate * 3600)


def tok_s_per_mw(tok_s_per_gpu: Fraction | float, kw_per_gpu: Fraction | float) -> Fraction:
    """Return tokens a second from one megawatt, exactly."""
    return _positive("tok_s_per_gpu", tok_s_per_gpu) * 1000 / _positive("kw_per_gpu", kw_per_gpu)


def joules_per_token(tok_s_per_gpu: Fraction | float, kw_per_gpu: Fraction | float) -> Fraction:
    """Return the energy of one token in J, exactly."""
    return _positive("kw_per_gpu", kw_per_gpu) * 1000 / _positive("tok_s_per_gpu", tok_s_per_gpu)


def tok_s_user(tpot_ms: float) -> Fraction:
    """Return tokens a second as one user sees them, from the time per output token in ms."""
    return 1000 / _positive("tpot_ms", tpot_ms)


def _positive(name: str, value: Fraction | float) -> Fraction:
    """Return the number exactly; ValueError unless it is finite and above 0."""
    try:
        exact = Fraction(value)
    except (ValueError, OverflowError, TypeError) as error:
        raise ValueError(f"{name}: expected a finite number above 0, found {value!r}") from error
    if exact <= 0:
        raise ValueError(f"{name}: expected a number above 0, found {value!r}")
    return exact


def tokens_per_gpu(
    values: Mapping[str, float], labels: Mapping[str, LabelValue], hardware: Mapping[str, LabelValue] | None = None
) -> dict[Tokens, PerGpu]:
    """Return input, output and total tokens a second of one GPU; every GPU counts, those that prefill too."""
    gpus = count_gpus(labels, hardware)
    total = _share(values, "total_tok_s", gpus)
    output = _share(values, "output_tok_s", gpus)
    if total.value is None and (measured := _measured(values, "total_tok_s_per_gpu")) is not None:
        total = PerGpu(value=measured, how="total_tok_s_per_gpu")
    if output.value is None and (measured := _measured(values, "output_tok_s_per_gpu")) is not None:
        output = _output_per_gpu(measured, str(labels.get("tool", "")), gpus)
    total, output = _agree(values, "total_tok_s", total, gpus), _agree(values, "output_tok_s", output, gpus)
    if total.value is not None and output.value is not None and total.value < output.value * (1 - CONTRADICTION_RATIO):
        why = (
            f"all tokens ({float(total.value):.4g} tok/s/GPU) are fewer than output tokens ({float(output.value):.4g})"
        )
        total = output = PerGpu(value=None, how=f"{why}: they contradict one another, so neither is taken")
    given = _difference(total, output)
    if given.value is None and values.get("total_tok_s") is None and _measured(values, "prompt_tok_s") is not None:
        given = _share(values, "prompt_tok_s", gpus)
    return {"input": given, "output": output, "total": total}


def _measured(values: Mapping[str, float], name: str) -> Fraction | None:
    value = values.get(name)
    return Fraction(value) if value is not None and 0 < value < float("inf") else None


def _share(values: Mapping[str, float], name: str, gpus: GpuCount) -> PerGpu:
    measured = _measured(values, name)
    if measured is None:
        return PerGpu(value=None, how=f"neither {name} nor {name}_per_gpu was measured")
    if gpus.total is None:
        return PerGpu(value=None, how=gpus.how)
    return PerGpu(value=measured / gpus.total, how=f"{name} / {gpus.how}")


def _agree(values: Mapping[str, float], name: str, found: PerGpu, gpus: GpuCount) -> PerGpu:
    """Return what was found, unless the run states it for one GPU too and the two contradict one another.

    Where prefill and decode run apart the tool may mean other GPUs, so nothing follows.
    """
    stated = _measured(values, f"{name}_per_gpu")
    if found.value is None or stated is None or gpus.apart:
        return found
    if abs(found.value - stated) <= CONTRADICTION_RATIO * max(found.value, stated):
        return found
    why = f"{found.how} is {float(found.value):.4g}, but {name}_per_gpu says {float(stated):.4g}"
    return PerGpu(value=None, how=f"{why}: they contradict one another; is the number of GPUs right?")


def _output_per_gpu(measured: Fraction, tool: str, gpus: GpuCount) -> PerGpu:
    """Return the output of one GPU of all, where a tool may have divided by those that decode."""
    if not gpus.apart or not tool.startswith(DECODE_ONLY_TOOLS):
        return PerGpu(value=measured, how="output_tok_s_per_gpu")
    if gpus.total is None or gpus.decode is None:
        return PerGpu(value=None, how=f"output_tok_s_per_gpu is of the decode GPUs alone; {gpus.how}")
    return PerGpu(value=measured * gpus.decode / gpus.total, how=f"output_tok_s_per_gpu of decode over {gpus.how}")


def _difference(total: PerGpu, output: PerGpu) -> PerGpu:
    if total.value is None or output.value is None:
        return PerGpu(value=None, how=total.how if total.value is None else output.how)
    if total.value <= output.value:
        return PerGpu(value=None, how="total tokens are not more than output tokens, so there is no input to price")
    return PerGpu(value=total.value - output.value, how=f"{total.how} less {output.how}")


def derive_cost(rates: Mapping[Tokens, PerGpu], price: Rate | Unknown) -> dict[str, Figure]:
    """Return USD per million input, output and total tokens at one price."""
    found = {}
    for kind, rate in rates.items():
        name = f"usd_per_m_{kind}_tokens"
        if isinstance(price, Unknown) or rate.value is None:
            reason = price.reason if isinstance(price, Unknown) else rate.how
            found[name] = Figure(metric=name, reason=reason)
        else:
            value = float(usd_per_million(price.value, rate.value))
            how = f"{price.words} over {rate.how}"
            found[name] = Figure(metric=name, value=value, how=how, editions=(price.edition.id,))
    return found


def derive_energy(
    rates: Mapping[Tokens, PerGpu], values: Mapping[str, float], flags: Collection[str], book: Rate | Unknown
) -> dict[str, Figure]:
    """Return tokens a second from a megawatt and J per token: from measured power where it is valid, else the book.

    Measured power is that of the GPU alone; a book's is all-in. `how` says which it is.
    """
    measured = _measured(values, "power_w")
    editions: tuple[str, ...] = ()
    if measured is not None and SNAPSHOT not in flags:
        if isinstance(book, Rate) and measured > MOST_OF_BOOK * book.value * 1000:
            why = f"power_w is {float(measured):,.5g} W, expected the mean of one GPU, which is {book.words}, all in"
            return _without_energy(rates, why)
        kw, how = measured / 1000, f"measured power, {float(measured):.4g} W/GPU (the GPU alone)"
    elif isinstance(book, Unknown):
        why = "power_w is a reading at one moment, and " if measured is not None else "power was not measured, and "
        return _without_energy(rates, why + book.reason)
    else:
        kw, how, editions = book.value, f"power by the book, {book.words}", (book.edition.id,)
    return {one.metric: one for kind, rate in rates.items() for one in _energy_of(kind, rate, kw, how, editions)}


def _without_energy(rates: Mapping[Tokens, PerGpu], reason: str) -> dict[str, Figure]:
    names = [name for kind in rates for name in (f"{kind}_tok_s_per_mw", f"j_per_{kind}_token")]
    return {name: Figure(metric=name, reason=reason) for name in names}


def _energy_of(kind: Tokens, rate: PerGpu, kw: Fraction, how: str, editions: tuple[str, ...]) -> list[Figure]:
    per_mw, per_token = f"{kind}_tok_s_per_mw", f"j_per_{kind}_token"
    if rate.value is None:
        return [Figure(metric=name, reason=rate.how) for name in (per_mw, per_token)]
    said = f"{how}, over {rate.how}"
    return [
        Figure(metric=per_mw, value=float(tok_s_per_mw(rate.value, kw)), how=said, editions=editions),
        Figure(metric=per_token, value=float(joules_per_token(rate.value, kw)), how=said, editions=editions),
    ]


def derive_interactivity(values: Mapping[str, float]) -> Figure:
    """Return tokens a second per user: as measured, else 1 / TPOT, of the median before the mean."""
    name = "interactivity_tok_s_user"
    if (measured := _measured(values, "tok_s_user")) is not None:
        return Figure(metric=name, value=float(measured), how="tok_s_user as measured")
    for tpot in ("tpot_p50_ms", "tpot_mean_ms"):
        if (time := _measured(values, tpot)) is not None:
            return Figure(metric=name, value=float(1000 / time), how=f"1 / {tpot}")
    return Figure(metric=name, reason="neither tok_s_user nor tpot_p50_ms nor tpot_mean_ms was measured")
