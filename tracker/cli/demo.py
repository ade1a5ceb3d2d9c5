"""demo: the whole service on recorded results, marked as such on every page; needs no network."""

from __future__ import annotations

import os

import typer

from tracker.cli.options import Json, Port, examples
from tracker.cli.serve import Open, serve

SUITE = "onnxruntime-recorded"


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(epilog=examples("tracker demo --open", "tracker demo --port 9000"))(demo)


def demo(open_: Open = False, port: Port = None, as_json: Json = False) -> None:
    """Show recorded results, played through the whole service.

    The results are real, from another machine. Nothing is measured and no network is used.
    It has a folder of its own, `demo` in TRACKER_HOME, and every page says
    that the results are recorded.
    """
    from jobs.suite import recorded_suites
    from tracker.settings import home_folder

    folder = recorded_suites()
    os.environ["TRACKER_HOME"] = str(home_folder() / "demo")
    os.environ["TRACKER_RECORDINGS"] = str(folder)
    os.environ["TRACKER_SUITE_FOLDERS"] = str(folder)
    serve(suite=[SUITE], open_=open_, progress=True, port=port, as_json=as_json)
