"""Engines that accept connections and never answer: the service stops at once all the same, and other runs go on."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from jobs.errors import TryLater
from jobs.executors.docker_engine import create
from jobs.protocols import JobOutcome, JobSpec
from tests.patience import patient
from tests.tracker.cli.test_serve import started

HOSTS = 3
SETTINGS = """
suites = []
[docker]
engine = "unix://{0}"
"""
HOST = """
[[docker.hosts]]
name = "box-{number}"
engine = "unix://{engine}"
"""


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[dict[Path, socket.socket]]:
    """Sockets on which nobody ever says a word: one of this machine, and one for each of the other hosts."""
    with ExitStack() as stack:
        listeners = {}
        for path in (tmp_path / f"{number}.sock" for number in range(HOSTS + 1)):
            listeners[path] = stack.enter_context(closing(socket.socket(socket.AF_UNIX)))
            listeners[path].bind(str(path))
            listeners[path].listen(64)
        yield listeners


def test_ctrl_c_is_answered_at_once_and_the_daemon_ends_while_all_hosts_are_silent(
    tmp_path: Path, silent: dict[Path, socket.socket]
):
    home = tmp_path / "home"
    home.mkdir()
    own, *others = silent
    hosts = (HOST.format(number=number, engine=path) for number, path in enumerate(others))
    (home / "tracker.toml").write_text(SETTINGS.format(own) + "".join(hosts))
    with started(home, "daemon") as process, ExitStack() as stack:
        told = hear(process.stderr, "daemon.started", patient(60))
        for path in others:  # all are asked at the same time: from here on the look is under way
            silent[path].settimeout(patient(30))
            stack.enter_context(closing(silent[path].accept()[0]))
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        told += hear(process.stderr, "daemon.stopping", patient(5))
        assert process.wait(patient(10)) == 0
        assert time.monotonic() - begun < patient(10)
        told += process.stderr.read().decode() if process.stderr else ""
    assert "ending ...\n" in told
    assert "at_work=look_at_hosts" in told
    assert "daemon.step_left_behind steps=look_at_hosts" in told
    assert "daemon.stopped" in told
    assert "Traceback" not in told


def hear(stream: object, word: str, within_s: float) -> str:
    """Return what is said up to the line with a word; fails where that does not come in time."""
    told: list[str] = []

    def read() -> None:
        while not told or word not in told[-1]:
            line = stream.readline().decode()  # type: ignore[attr-defined]
            if not line:
                return
            told.append(line)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(within_s)
    assert any(word in line for line in told), f"{word} was not said within {within_s:g} s: {told}"
    return "".join(told)


def test_a_run_that_is_cancelled_on_a_silent_engine_holds_others_up_once_and_then_no_more(tmp_path: Path):
    engine = tmp_path / "engine.sock"
    executor = create({"engine": f"unix://{engine}"}, folder=tmp_path / "attempts", cache=tmp_path / "cache")
    job = JobSpec(
        key="run-1-1",
        component="thing",
        version="1.0.0",
        build_kind="image",
        build_location="localhost/thing",
        build_digest=f"sha256:{64 * '0'}",
        program="bench",
    )
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(engine))
        listener.listen(64)
        executor.start(job)
        listener.settimeout(patient(30))
        asking, _ = listener.accept()
        with pytest.raises(TryLater):
            executor.cancel(job.key)
        begun = time.monotonic()
        with pytest.raises(TryLater):
            executor.cancel(job.key)
        assert time.monotonic() - begun < patient(3)
        asking.close()
    ended = tmp_path / "attempts" / job.key / "status.json"
    until = time.monotonic() + patient(30)
    while not ended.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert executor.poll(job.key).outcome is JobOutcome.CANCELLED
