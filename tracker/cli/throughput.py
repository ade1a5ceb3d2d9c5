"""What to do where nothing measures tokens a second: said by every command that derives from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.cli.output import note

if TYPE_CHECKING:
    from tracker.store.engine import Session


def explain_empty(session: Session, component: str | None, text: str | None) -> None:
    """Say on the side what was measured instead, and how to get a throughput."""
    from alerts.wording import join_names
    from tracker.cli.names import collect
    from tracker.store.views.series import list_series

    items = collect(list_series, session, component=component)
    if text and any(item.metric.endswith(("tok_s", "tok_s_per_gpu")) for item in items):
        note(f"no config with a throughput has each word of {text!r} in its name; `tracker series list` shows names")
        return
    if items:
        measured = join_names(sorted({item.metric for item in items}))
        note(f"nothing measures tokens a second here; what is measured: {measured}")
    else:
        note("nothing has been measured yet")
    note(
        "three ways to get there: `tracker serve --suite llamacpp` measures it on this machine, `tracker ingest` keeps"
        " results of trtllm-bench, vLLM, SGLang, AIPerf and others, or name a CSV or JSON file of points"
    )
