"""The service for real: started, asked, watched and ended as people do."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.fakes.ports import free_port
from tests.patience import patient

READY_WITHIN_S = 60.0
"""Far more than the two seconds it takes, since tests share the machine."""
ENDS_WITHIN_S = 10.0


@contextmanager
def started(home: Path, *arguments: str, suites: str | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Give a running `tracker`; it is killed if it is still there at the end."""
    env = {**os.environ, "TRACKER_HOME": str(home)} | ({"TRACKER_SUITES": suites} if suites is not None else {})
    process = subprocess.Popen(
        [sys.executable, "-m", "tracker.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env=env,
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def read_line(process: subprocess.Popen[bytes], within_s: float = READY_WITHIN_S) -> str:
    """Return the next line it prints; fails the test when none comes in time."""
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], within_s)[0], "nothing was printed in time"
    return process.stdout.readline().decode().strip()


def end(process: subprocess.Popen[bytes], how: signal.Signals) -> tuple[int, str, str]:
    """Return exit code and the rest of what was printed, after asking it to end."""
    process.send_signal(how)
    out, err = process.communicate(timeout=patient(ENDS_WITHIN_S))
    return process.returncode, out.decode(), err.decode()


def test_it_serves_until_ctrl_c(tmp_path: Path) -> None:
    port = str(free_port())
    with started(tmp_path / "home", "serve", "--port", port, "--open", suites="") as process:
        address = read_line(process)
        assert address == f"http://127.0.0.1:{port}/"
        with urllib.request.urlopen(f"{address}healthz", timeout=10) as answer:
            assert json.load(answer)["running"] is True
        code, _, err = end(process, signal.SIGINT)
    assert code == 0
    assert "Traceback" not in err
    assert "daemon.stopped" in err


def test_programs_are_told_the_address_as_json_and_end_it_with_sigterm(tmp_path: Path) -> None:
    port = str(free_port())
    with started(tmp_path / "home", "web", "--port", port, "--json") as process:
        told = json.loads(read_line(process))
        assert told == {
            "address": f"http://127.0.0.1:{port}/",
            "home": str(tmp_path / "home"),
            "process": process.pid,
        }
        assert end(process, signal.SIGTERM)[0] == 0


def test_a_suite_is_measured_and_its_result_is_told(tmp_path: Path, folder_suite: Path) -> None:
    arguments = ("serve", "--suite", str(folder_suite), "--progress", "--port", str(free_port()))
    with started(tmp_path / "home", *arguments) as process:
        told = [read_line(process)]
        deadline = time.monotonic() + 60
        while "Ctrl-C ends" not in told[-1] and time.monotonic() < deadline:
            told.append(read_line(process, 60))
        code, _, err = end(process, signal.SIGINT)
    text = "\n".join(told)
    assert (code, err) == (0, "ending ...\n")
    assert "found 2 releases of tiny" in text
    assert "6.50 ms" in text
    assert "tiny on " in text
    assert "1.1.0" in text
    assert "new releases are measured as they appear, older ones with `tracker runs trigger" in told[-1]
    assert "run.started" in (tmp_path / "home" / "daemon.log").read_text(encoding="utf-8")


def test_a_running_benchmark_is_put_back_and_nothing_is_left_of_it(tmp_path: Path, folder_suite: Path) -> None:
    program = folder_suite.parent / "programs" / "tiny.py"
    program.write_text("import time\nprint('measuring', flush=True)\ntime.sleep(600)\n", encoding="utf-8")
    home = tmp_path / "home"
    with started(home, "serve", "--suite", str(folder_suite), "--progress", "--port", str(free_port())) as process:
        while "measuring tiny" not in read_line(process, 60):
            pass
        code, _, _ = end(process, signal.SIGINT)
    assert code == 0
    listed = subprocess.run(
        [sys.executable, "-m", "tracker.cli", "runs", "list", "--json"],
        capture_output=True,
        check=True,
        env={**os.environ, "TRACKER_HOME": str(home)},
    )
    assert {run["state"] for run in json.loads(listed.stdout)["items"]} == {"queued"}
    environs = [read_quietly(path) for path in Path("/proc").glob("[0-9]*/environ")]
    assert [one for one in environs if b"TRACKER_ATTEMPT" in one and str(home).encode() in one] == []


def read_quietly(path: Path) -> bytes:
    """Return what stands there, nothing where it is gone or somebody else's."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_source_that_cannot_be_reached_is_said_with_what_else_there_is(tmp_path: Path, folder_suite: Path) -> None:
    text = folder_suite.read_text(encoding="utf-8")
    folder_suite.write_text(
        text.replace(
            'kind = "folder"', 'kind = "package_index"\npackage = "tiny"\nindex_url = "http://127.0.0.1:9/"'
        ).replace(f'path = "{tmp_path / "releases"}"\n', ""),
        encoding="utf-8",
    )
    arguments = ("serve", "--suite", str(folder_suite), "--progress", "--port", str(free_port()))
    with started(tmp_path / "home", *arguments) as process:
        told = [read_line(process)]
        while "make demo" not in told[-1]:
            told.append(read_line(process, 30))
        assert end(process, signal.SIGINT)[0] == 0
    assert any("127.0.0.1:9" in line and "cannot be reached" in line for line in told)
