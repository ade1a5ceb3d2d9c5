"""What is normal, and did it change: pure functions over numbers and text; no files, no network, no clock."""

from baselines.comparison.compare import CompareOptions, Comparison, ComparisonInput, compare, compare_many
from baselines.detection.changepoints import ChangePoint, DetectOptions, SeriesInput, detect, detect_many
from baselines.detection.reconcile import Decision, FoundChange, StoredChange, reconcile
from baselines.series import Level, aggregate
from baselines.verdicts.assessment import Assessment, assess
from baselines.verdicts.verdict import Verdict, judge

__all__ = [
    "Assessment",
    "ChangePoint",
    "CompareOptions",
    "Comparison",
    "ComparisonInput",
    "Decision",
    "DetectOptions",
    "FoundChange",
    "Level",
    "SeriesInput",
    "StoredChange",
    "Verdict",
    "aggregate",
    "assess",
    "compare",
    "compare_many",
    "detect",
    "detect_many",
    "judge",
    "reconcile",
]
