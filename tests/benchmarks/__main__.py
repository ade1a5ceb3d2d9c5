"""`make bench`: how fast the service itself is, each figure beside a floor that was taken in the same run.

Nothing here is a test: times depend on the machine, ratios to the floor less so.
"""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from rich.console import Console
from rich.table import Table

from tests.benchmarks.reading import keeping, reading
from tests.tracker.seed import Shape, make_template, seed
from tracker.store.engine import open_store

TRACKER = [sys.executable, "-m", "tracker.cli.__main__"]
FLOOR_PAGE = (
    "import sys, uvicorn; from fastapi import FastAPI; app = FastAPI(); "
    "app.get('/healthz')(lambda: {}); app.get('/')(lambda: {}); "
    "uvicorn.run(app, port=int(sys.argv[1]), log_level='error')"
)
PAGES = ("/", "/series", "/releases", "/runs", "/alerts", "/api/v1/series")
IDLE_S = 20.0


def main() -> None:
    """Measure everything and print one table."""
    table = Table("what", "median", "floor", "ratio", "target", title="The service's own speed")
    for rows in (start_up, reading, keeping, serving, idling, claiming, analyzing):
        for name, figure, unit, floor, target in rows():
            shown = f"{floor:.3f} {unit}" if floor is not None else ""
            ratio = f"{figure / floor:.1f}" if floor else ""
            table.add_row(name, f"{figure:.3f} {unit}", shown, ratio, target)
    Console(width=120).print(table)


Row = tuple[str, float, str, float | None, str]


def start_up() -> Iterator[Row]:
    """Yield how long `tracker --help` takes, beside Python doing nothing."""
    floor = median_of(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
    took = median_of(lambda: subprocess.run([*TRACKER, "--help"], check=True, stdout=subprocess.DEVNULL))
    yield "tracker --help", took, "s", floor, "< 0.4 s"


def serving() -> Iterator[Row]:
    """Yield how soon an empty service is ready and how long pages of a filled one take, beside an empty FastAPI."""
    with tempfile.TemporaryDirectory() as folder, floor_server() as (floor_url, floor_ready):
        with service(Path(folder)) as (_, ready):
            yield "serve ready, empty store", ready, "s", floor_ready, "< 2 s"
        filled = Path(folder) / "filled"
        make_template(filled)
        floor = median_of(lambda: read(floor_url), 30)
        with service(filled, "web") as (url, _):
            for page in PAGES:
                yield f"page {page}", median_of(lambda page=page: read(url + page), 15), "s", floor, "< 0.1 s"


def idling() -> Iterator[Row]:
    """Yield the share of a core and the memory of a daemon that has nothing to do and has drawn a chart."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        seeded = make_template(home)
        with service(home) as (url, _):
            series = seeded.series[0] if seeded else ""
            read(f"{url}/series/{series}/chart.png")
            pid = int((home / "daemon.lock").read_text())
            time.sleep(5)
            before = cpu_s(pid)
            time.sleep(IDLE_S)
            yield "idle daemon, share of a core", (cpu_s(pid) - before) / IDLE_S, "", None, "< 0.01"
            yield "idle daemon, memory after a chart", memory_mb(pid), "MB", None, "< 180 MB"


def claiming() -> Iterator[Row]:
    """Yield how long one claim of a run takes, beside the emptiest write transaction."""
    from datetime import UTC, datetime, timedelta

    from sqlalchemy import text

    from tracker.store import claims

    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{folder}/tracker.db")
        seed(store, Path(folder), Shape())
        now = datetime.now(UTC)
        with store.write() as session:
            session.execute(text("UPDATE host SET slots = 1000"))
        lease = {"owner": "bench", "host_id": 1, "hardware_class_id": 1, "lease": timedelta(seconds=30)}

        def claim() -> None:
            with store.write() as session:
                session.execute(text("UPDATE run SET state = 'queued' WHERE id = 1"))
                claims.claim_next(session, now=now, **lease)

        def nothing() -> None:
            with store.write() as session:
                session.execute(text("UPDATE run SET state = state WHERE id = 1"))

        yield "claim of a run", median_of(claim, 50), "s", median_of(nothing, 50), ""


def analyzing() -> Iterator[Row]:
    """Yield how long 200 series of 40 releases with 5 repeats take, beside ruptures' kernel method on the medians."""
    import random

    import numpy as np
    import ruptures

    from baselines import SeriesInput, detect_many

    source = random.Random(5)
    values = [[[source.gauss(10, 0.2) for _ in range(5)] for _ in range(40)] for _ in range(200)]
    inputs = [SeriesInput(values=one, group="bench") for one in values]
    medians = [np.array([statistics.median(repeats) for repeats in one]).reshape(-1, 1) for one in values]

    def floor() -> None:
        for one in medians:
            ruptures.KernelCPD(kernel="linear", min_size=1).fit(one).predict(pen=1.0)

    detect_many(inputs[:2])
    yield "200 series x 40 releases x 5", median_of(lambda: detect_many(inputs), 3), "s", median_of(floor, 3), ""


def median_of(call: Callable[[], Any], times: int = 5) -> float:
    """Return the median time of a call, in seconds, after one that does not count."""
    call()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def read(url: str) -> bytes:
    """Return what a page answers."""
    with urlopen(url, timeout=30) as answer:
        content: bytes = answer.read()
    return content


@contextmanager
def service(home: Path, command: str = "serve") -> Iterator[tuple[str, float]]:
    """Give the address of a service on `home` and how long it took to answer."""
    port = free_port()
    settings = {"TRACKER_HOME": str(home), "TRACKER_PORT": str(port), "TRACKER_SUITES": ""}
    with running([*TRACKER, command], port, settings) as ready:
        yield f"http://127.0.0.1:{port}", ready


@contextmanager
def floor_server() -> Iterator[tuple[str, float]]:
    """Give the address of an application that answers nothing and how long it took to answer."""
    port = free_port()
    with running([sys.executable, "-c", FLOOR_PAGE, str(port)], port, {}) as ready:
        yield f"http://127.0.0.1:{port}/", ready


@contextmanager
def running(command: list[str], port: int, settings: dict[str, str]) -> Iterator[float]:
    """Give how long a server took until it answered, and end it afterwards."""
    start = time.perf_counter()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env={**os.environ, **settings}, stdout=quiet, stderr=quiet)
    try:
        while True:
            try:
                read(f"http://127.0.0.1:{port}/healthz")
                break
            except OSError:
                if process.poll() is not None or time.perf_counter() - start > 60:
                    raise
                time.sleep(0.01)
        yield time.perf_counter() - start
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)


def free_port() -> int:
    """Return a port of loopback that nothing uses now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


def cpu_s(pid: int) -> float:
    """Return the seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    """Return the memory that a process holds, in MB of 10^6 bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
