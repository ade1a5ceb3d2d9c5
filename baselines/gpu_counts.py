"""How many GPUs a result ran on, and how many of them prefilled or decoded, from its labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

LabelValue = str | int | float
APART = ("disaggregated", "several nodes")
"""How the `layout` label begins where prefill and decode run on GPUs of their own."""
_SIDE = re.compile(r"(prefill|decode):([^;]*)")
_NUMBER = re.compile(r"[0-9]{1,6}")
_FACTORS = ("num_workers", "tp", "pp", "dcp_size", "pcp_size")


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuCount:
    """The GPUs of one result; a number is None where it is not known, and `how` says where it is from or why not."""

    total: int | None
    decode: int | None = None
    """GPUs that decode, where prefill has its own."""
    apart: bool = False
    how: str


def count_gpus(labels: Mapping[str, LabelValue], hardware: Mapping[str, LabelValue] | None = None) -> GpuCount:
    """Return the GPUs of a result with these identity labels on a hardware class with these labels."""
    stated = _whole(labels.get("gpu_count"))
    prefill, decode = (_whole(labels.get(f"{side}_gpus")) for side in ("prefill", "decode"))
    layout = str(labels.get("layout", ""))
    apart = layout.startswith(APART) or prefill is not None or decode is not None
    if not apart:
        return _count_together(stated, labels, hardware or {})
    if prefill is None or decode is None:
        sides = {side: _count_side(text) for side, text in _SIDE.findall(layout)}
        prefill, decode = prefill or sides.get("prefill"), decode or sides.get("decode")
    if prefill is None or decode is None:
        why = (
            "prefill and decode run apart, and how many GPUs each has is not stated; label prefill_gpus and decode_gpus"
        )
        return GpuCount(total=stated, apart=True, how=why)
    if stated is not None and stated != prefill + decode:
        why = f"gpu_count says {stated}, prefill and decode say {prefill} + {decode}"
        return GpuCount(total=None, apart=True, how=why)
    return GpuCount(total=prefill + decode, decode=decode, apart=True, how=f"{prefill} prefill + {decode} decode GPUs")


def _count_together(
    stated: int | None, labels: Mapping[str, LabelValue], hardware: Mapping[str, LabelValue]
) -> GpuCount:
    if stated is not None:
        return GpuCount(total=stated, how=f"{stated} GPUs (gpu_count)")
    tp, pp, dp = (_whole(labels.get(name)) for name in ("tp", "pp", "dp"))
    if tp is not None and dp in (None, 1):
        return GpuCount(total=tp * (pp or 1), how=f"{tp * (pp or 1)} GPUs (tp x pp)")
    if _whole(hardware.get("gpu_count")) == 1:
        return GpuCount(total=1, how="1 GPU (its host has one)")
    if "cpu" in hardware and "gpu" not in hardware:
        return GpuCount(total=1, how="1 host, which has no GPU")
    return GpuCount(total=None, how="how many GPUs it ran on is not stated; label gpu_count")


def _count_side(text: str) -> int | None:
    """Return workers x tp x pp ... of one side of a layout text; None where workers or tp are not stated."""
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, value = part.strip().rpartition(" ")
        if name in _FACTORS and _NUMBER.fullmatch(value) and int(value) > 0:
            found[name] = int(value)
    return prod(found.values()) if {"num_workers", "tp"} <= found.keys() else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
