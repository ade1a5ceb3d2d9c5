"""kill -9 at random moments: in the end exactly the planned runs are done, each measured once, and nothing is left."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.slurm import Cluster, serve_slurm
from tests.patience import patient

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1800)]

RELEASES = ("1.0.0", "1.1.0", "1.2.0", "1.3.0")
SUITE = """
name = "thing"
title = "A thing"
component = "thing"
[source]
kind = "folder"
path = "{releases}"
[matrix]
model = ["m"]
[run]
executor = "{executor}"
program = "bench.py"
arguments = ["{{version}}"]
repeats = {repeats}
timeout_s = 900
[output]
tool = "bench"
parser = "generic"
[[expect]]
metrics = ["latency_p50_ms"]
[[gate]]
metrics = ["latency_p50_ms"]
min_effect_ratio = 0.05
"""
PROGRAM = """
import json, os, random, subprocess, sys, time
with open({ran!r}, "a") as file:
    print(os.environ["TRACKER_ATTEMPT"], file=file)
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep({helper_s})"])
time.sleep(random.uniform({least_s}, {most_s}))
helper.kill()
runs = [{{"labels": {{}}, "metrics": {{"latency_p50_ms": random.uniform(9.9, 10.1)}}}}]
with open("result.json", "w") as file:
    json.dump({{"tool": "bench", "runs": runs}}, file)
"""


class Service:
    """One service folder and the daemon that is running on it, if any."""

    def __init__(
        self,
        folder: Path,
        *,
        repeats: int,
        least_s: float,
        most_s: float,
        executor: str = "local",
        variables: dict[str, str] | None = None,
    ) -> None:
        self.home = folder / "home"
        self.variables = variables or {}
        self.ran = folder / "ran"
        self.log = folder / "daemon.log"
        self.log.touch()
        self.planned = repeats * len(RELEASES)
        self.suite = folder / "suites" / "thing.toml"
        (folder / "suites" / "programs").mkdir(parents=True)
        for release in RELEASES:
            (folder / "releases" / release).mkdir(parents=True)
            (folder / "releases" / release / "build.txt").write_text(release)
        self.suite.write_text(SUITE.format(releases=folder / "releases", repeats=repeats, executor=executor))
        program = PROGRAM.format(ran=str(self.ran), least_s=least_s, most_s=most_s, helper_s=most_s + 60)
        (folder / "suites" / "programs" / "bench.py").write_text(program)
        self.daemon: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        own = {"TRACKER_HOME": str(self.home), "TRACKER_MAX_ATTEMPTS": "20"}
        own["PYTHONDONTWRITEBYTECODE"] = ""  # compiled modules start several times faster
        with self.log.open("ab") as log:
            self.daemon = subprocess.Popen(
                [sys.executable, "-m", "tracker.cli.__main__", "daemon", "--suite", str(self.suite)],
                env={**os.environ, **own, **self.variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=Path(__file__).parents[2],
            )
        return self.daemon

    def starts(self) -> int:
        return self.log.read_text(errors="replace").count("daemon.started")

    def ask(self, statement: str) -> list[tuple]:
        """Return the rows of a query; none before the tables are there."""
        try:
            connection = sqlite3.connect(f"file:{self.home / 'tracker.db'}?mode=ro", uri=True, timeout=10)
        except sqlite3.OperationalError:
            return []
        try:
            return connection.execute(statement).fetchall()
        except sqlite3.OperationalError:
            return []
        finally:
            connection.close()

    def states(self) -> Counter[str]:
        return Counter(dict(self.ask("SELECT state, count(*) FROM run GROUP BY state")))

    def supervisors(self) -> list[int]:
        """Return the supervisors of attempts that have not ended."""
        found = []
        for claim in (self.home / "attempts").glob("*/claimed.json"):
            if not (claim.parent / "status.json").exists():
                owner = json.loads(claim.read_text())
                found.append(owner.get("pid") or owner.get("process"))
        return [pid for pid in found if pid]

    def processes(self) -> dict[int, str]:
        """Return what runs with this folder in its variables or on its command line, the daemon included."""
        found = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes()
                about = words + Path(f"/proc/{name}/environ").read_bytes()
                state = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if str(self.home).encode() in about and state not in "ZX":
                found[int(name)] = words.replace(b"\0", b" ").decode(errors="replace")
        return found


@pytest.fixture
def make_service(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    made: list[Service] = []

    def make(**options: Any) -> Service:
        made.append(Service(tmp_path, **options))
        return made[-1]

    yield make
    for service in made:
        if service.daemon and service.daemon.poll() is None:
            service.daemon.kill()
            service.daemon.wait()
        for pid in service.processes():
            os.kill(pid, signal.SIGKILL)


def wait_for(what: Callable[[], bool], service: Service, limit_s: float = 120) -> None:
    deadline = time.monotonic() + patient(limit_s)
    while not what():
        if time.monotonic() > deadline or (service.daemon and service.daemon.poll() is not None):
            pytest.fail(f"{dict(service.states())}\n{service.log.read_text(errors='replace')[-4000:]}")
        time.sleep(0.05)


def kill_somewhere(service: Service, dice: random.Random) -> str:
    """Start the daemon, let it go on for a random while, kill -9 it, and now and then a supervisor too."""
    before = service.starts()
    daemon = service.start()
    if dice.random() < 0.2:
        where, pause_s = "while it starts", dice.uniform(0, 1.0)
    else:
        wait_for(lambda: service.starts() > before, service)
        where, pause_s = "at work", dice.uniform(0, 2.5)
    time.sleep(pause_s)
    daemon.kill()
    daemon.wait()
    if dice.random() < 0.2 and (supervisors := service.supervisors()):
        os.kill(dice.choice(supervisors), signal.SIGKILL)
        where += ", its supervisor too"
    return where


def end(service: Service, limit_s: float = 10) -> float:
    """Press Ctrl-C; return how long the end took."""
    assert service.daemon is not None
    begun = time.monotonic()
    service.daemon.send_signal(signal.SIGINT)
    service.daemon.wait(patient(limit_s) + 20)
    took_s = time.monotonic() - begun
    assert took_s < patient(limit_s), f"Ctrl-C took {took_s:.1f} s"
    return took_s


def test_no_kill_loses_or_doubles_a_run(make_service, request: pytest.FixtureRequest):
    kills = request.config.getoption("--chaos-kills")
    kill_and_compare(make_service(repeats=max(3, kills // 3), least_s=0.3, most_s=1.0), kills)


@pytest.mark.real("slurm")
def test_no_kill_loses_or_doubles_a_run_in_slurm(make_service, cluster: Cluster, request: pytest.FixtureRequest):
    kills = max(20, request.config.getoption("--chaos-kills"))
    asking = {"TRACKER_SLURM__CONF": str(cluster.conf), "TRACKER_SLURM__ASK_EVERY_S": "0.2"}
    service = make_service(repeats=kills // 3, least_s=0.3, most_s=1.0, executor="slurm", variables=asking)
    kill_and_compare(service, kills)
    assert cluster.active_jobs() == []


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with serve_slurm(tmp_path_factory.mktemp("slurm")) as running:
        yield running


def kill_and_compare(service: Service, kills: int) -> None:
    """Kill the service's daemon so often while it measures, let it end, and look at all it left."""
    seed = int(os.environ.get("CHAOS_SEED", random.SystemRandom().randrange(10**6)))
    print(f"seed {seed}; CHAOS_SEED={seed} repeats it")
    dice = random.Random(seed)
    where: Counter[str] = Counter()
    while where.total() < kills and service.states()["done"] < service.planned:
        where[kill_somewhere(service, dice)] += 1
    service.start()
    wait_for(lambda: service.states()["done"] == service.planned, service, limit_s=600)
    wait_for(lambda: not service.ask("SELECT 1 FROM series WHERE revision != analyzed_revision"), service)
    took_s = end(service)

    print(f"kills: {dict(where)}; runs: {dict(service.states())}; Ctrl-C took {took_s:.1f} s")
    attempts = Counter(dict(service.ask("SELECT coalesce(outcome, 'open'), count(*) FROM attempt GROUP BY outcome")))
    print(f"attempts: {dict(attempts)}")
    assert where.total() == kills
    assert service.states() == {"done": service.planned}
    assert attempts["open"] == 0
    assert attempts["ok"] == service.planned
    assert service.ask("SELECT run_id FROM attempt WHERE outcome = 'ok' GROUP BY run_id HAVING count(*) != 1") == []
    assert service.ask("SELECT count(*), count(DISTINCT run_id), count(DISTINCT series_id) FROM measurement") == [
        (service.planned, service.planned, 1)
    ]
    assert service.ask("PRAGMA integrity_check") == [("ok",)]
    assert service.ask("PRAGMA foreign_key_check") == []
    ran = Counter(service.ran.read_text().split())
    assert set(ran.values()) == {1}, "an attempt was measured twice"
    assert service.processes() == {}


def test_ctrl_c_ends_the_daemon_and_its_benchmarks_within_ten_seconds(make_service):
    service = make_service(repeats=1, least_s=600, most_s=601)
    service.start()
    wait_for(lambda: service.ran.exists() and service.ran.read_text() != "", service)

    end(service)

    ran = Counter(service.ran.read_text().split())
    assert set(ran.values()) == {1}, "an attempt was measured twice"
    assert service.processes() == {}
    assert service.states() == {"queued": service.planned}
