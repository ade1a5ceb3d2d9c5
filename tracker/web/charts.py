"""The trend chart of a series, and the scripts that draw it in the browser."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alerts.charts import trend_spec
from tracker.logs import EventLog
from tracker.pipeline.trends import make_inside_trend, make_trend
from tracker.store.views.axes import Place
from tracker.store.views.series import SeriesDetail

log = EventLog("tracker.web")

BUNDLE_TIMEOUT_S = 60
_BUILD_BUNDLE = (
    "import sys, vl_convert; sys.stdout.write(vl_convert.javascript_bundle('window.vegaEmbed = vegaEmbed;'))"
)


def draw_trend(detail: SeriesDetail, *, dark: bool = False) -> dict[str, Any]:
    """Return the Vega-Lite specification of a series' trend."""
    return trend_spec(make_trend(detail), dark=dark)


def draw_inside(detail: SeriesDetail, component: str, places: Sequence[Place], *, dark: bool = False) -> dict[str, Any]:
    """Return the same chart over the versions of a component inside."""
    return trend_spec(make_inside_trend(detail, component, places), dark=dark)


class ScriptBundle:
    """The chart scripts, made once from the drawing library that is installed, and kept in the cache folder.

    They are made in the background by a process of its own; until they are there, pages show pictures.
    """

    def __init__(self, folder: Path) -> None:
        from importlib.metadata import version

        self.path = folder / f"vega-{version('vl-convert-python')}.js"

    def start(self) -> None:
        """Begin to make the scripts unless they are there."""
        if not self.path.exists():
            threading.Thread(target=self.build, name="chart-scripts", daemon=True).start()

    def build(self) -> None:
        """Make the scripts; a failure is logged, and pages go on with pictures."""
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-c", _BUILD_BUNDLE], capture_output=True, timeout=BUNDLE_TIMEOUT_S
            )
            if done.returncode != 0 or not done.stdout:
                said = done.stderr.decode(errors="replace").strip().splitlines()
                log.warning("web.chart_scripts_failed", said=said[-1][:300] if said else "nothing")
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            partial = self.path.with_suffix(f".{os.getpid()}.partial")
            partial.write_bytes(done.stdout)
            partial.replace(self.path)
        except (OSError, subprocess.TimeoutExpired) as error:
            log.warning("web.chart_scripts_failed", said=str(error))
