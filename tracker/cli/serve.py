"""serve, daemon, web: the commands that stay until Ctrl-C."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.access import opened, uncollected
from tracker.cli.options import Json, Port, SuiteNames, examples
from tracker.cli.output import note, write, write_line_of_json

if TYPE_CHECKING:
    from tracker.app import App

Open = Annotated[bool, typer.Option("--open", help="Open the pages in a browser where there is a desktop.")]
Progress = Annotated[
    bool, typer.Option("--progress", help="Show what is going on; the log goes to daemon.log in the home folder.")
]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        epilog=examples(
            "tracker serve --open",
            "tracker serve --suite onnxruntime --suite llamacpp --progress",
            "TRACKER_HOME=/data/tracker tracker serve --port 9000",
        )
    )(serve)
    app.command(epilog=examples("tracker daemon", "tracker daemon --suite ./my-suite.toml"))(daemon)
    app.command(epilog=examples("tracker web", "tracker web --port 9000 --open"))(web)


def serve(
    suite: SuiteNames = None, open_: Open = False, progress: Progress = False, port: Port = None, as_json: Json = False
) -> None:
    """Watch for releases, measure them and show the pages.

    It goes on until Ctrl-C. Running benchmarks are put back into the queue when it ends, and the next start goes on
    where this one stopped.
    """
    with opened(suites=suite or None, port=port) as app:
        with uncollected():
            from tracker.cli import serving
            from tracker.cli.progress import Display, NoDisplay
            from tracker.daemon import Daemon

        check_suites(app)
        refuse_second(app)
        with serving.listen(app.settings.host, app.settings.port) as listener:
            serving.start_logs(app.settings.log_level, app.settings.home / "daemon.log" if progress else None)
            service = Daemon(app)
            display = Display(app) if progress and not as_json else NoDisplay()
            pages = serving.Pages(app, lambda: tell_ready(app, open_=open_, as_json=as_json, then=display.start))
            with serving.until_stopped(pages.stop):
                service.start()
                try:
                    pages.run(sockets=[listener])
                finally:
                    display.end()
                    note("ending ...")
                    in_time = service.stop()
        serving.leave(in_time=in_time)


def daemon(suite: SuiteNames = None, as_json: Json = False) -> None:
    """Watch for releases and measure them, without pages."""
    with opened(suites=suite or None) as app:
        from threading import Event

        from tracker.cli import serving
        from tracker.daemon import Daemon

        check_suites(app)
        serving.start_logs(app.settings.log_level)
        service, stopped = Daemon(app), Event()
        with serving.until_stopped(stopped.set):
            service.start()
            try:
                if as_json:
                    write_line_of_json({"home": str(app.settings.home), "process": os.getpid()})
                while not stopped.wait(0.5):
                    pass  # looked at again: a signal that another thread was given wakes nobody
            finally:
                note("ending ...")
                in_time = service.stop()
        serving.leave(in_time=in_time)


def web(open_: Open = False, port: Port = None, as_json: Json = False) -> None:
    """Show the pages without measuring anything, until Ctrl-C."""
    with opened(port=port) as app:
        from tracker.cli import serving

        with serving.listen(app.settings.host, app.settings.port) as listener:
            serving.start_logs(app.settings.log_level)
            pages = serving.Pages(app, lambda: tell_ready(app, open_=open_, as_json=as_json))
            with serving.until_stopped(pages.stop):
                pages.run(sockets=[listener])


def check_suites(app: App) -> None:
    """Raise UserError for a suite that cannot be read, or whose executor cannot be set up, before anything starts.

    What is only away is waited for; what the settings say wrong would fail every run, and none would be made again.
    """
    from jobs.errors import TryLater
    from jobs.suite import load_suite
    from tracker.cli.models import require_mounts

    for name in app.settings.suites:
        suite = load_suite(app.find_suite(name))
        for place in app.places():
            if place.takes(suite.run.executor):
                with suppress(TryLater):
                    app.open_executor(suite.run.executor, place)
        require_mounts(suite, app.settings.docker)


def refuse_second(app: App) -> None:
    """Raise TryLater where a daemon works on this folder already, so that its port is not blamed."""
    if app.daemon_state()["running"]:
        from tracker.daemon import take_folder

        take_folder(app.settings.home).close()


def tell_ready(app: App, *, open_: bool, as_json: bool, then: Callable[[], None] = lambda: None) -> None:
    """Print where the pages are, open them where asked and possible, and go on with `then`."""
    from tracker.cli import serving

    address = serving.address_of(app)
    if as_json:
        write_line_of_json({"address": address, "home": str(app.settings.home), "process": os.getpid()})
    else:
        write(address)
    if open_:
        serving.open_browser(address)
    then()
