"""GPU names as tools, drivers and vendors write them, brought to one form."""

from __future__ import annotations

import re

_NOISE = re.compile(
    r"nvidia|amd|instinct|tesla|geforce|accelerator|tensor core|gpus?"
    r"|\bsxm\d?\b|\boam\b|\bhbm\d?e?\b|\bgddr\d?\b|\b\d+ ?gi?b\b|\(r\)|\(tm\)"
)


def simplify_gpu(name: str) -> str:
    """Return the product without vendor, socket and memory: `NVIDIA H100 SXM5-80GB` is `h100`.

    What makes another product stays: `h100 pcie`, `gb200 nvl72`, `rtx6000pro`.
    """
    text = re.sub(r"[-_,/]+", " ", name.lower())
    return " ".join(_NOISE.sub(" ", text).split())
