"""What is normal, and did it change: pure functions over numbers and text; no files, no network, no clock."""

from baselines.changepoints import ChangePoint, DetectOptions, SeriesInput, detect, detect_many
from baselines.series import Level, aggregate

__all__ = [
    "ChangePoint",
    "DetectOptions",
    "Level",
    "SeriesInput",
    "aggregate",
    "detect",
    "detect_many",
]
