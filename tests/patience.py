"""Limits of time that hold on a busy machine too."""

from __future__ import annotations

import os


def patient(limit_s: float) -> float:
    """Return a limit that an idle machine keeps, made longer by as much as programs wait for a core here."""
    return limit_s * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
