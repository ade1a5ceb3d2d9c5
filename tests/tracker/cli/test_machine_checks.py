"""What the doctor says of this machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.environment import capture_host
from tracker.cli import machine_checks


@pytest.mark.parametrize(
    ("cores", "state", "words"),
    [(None, "ok", "an unknown number of cores usable"), (1, "warn", "1 cores usable"), (2, "ok", "2 cores usable")],
)
def test_cores_that_the_system_does_not_tell_are_unknown_and_not_none(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, state: str, words: str
) -> None:
    host = replace(capture_host(), cores_allowed=cores, cores_logical=cores)
    monkeypatch.setattr(machine_checks, "capture_host", lambda: host)
    cpu = next(check for check in machine_checks.check_machine() if check.name == "cpu")
    assert cpu.state == state
    assert cpu.found.endswith(words)
