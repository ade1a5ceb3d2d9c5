"""The `ssh` program started: which options it always gets, and how it ends with its owner."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from jobs.ssh.failures import no_program
from jobs.ssh.login import SshLogin

CONNECT_WITHIN_S = 10
_ALIVE_EVERY_S = 15
_OPTIONS = {
    "BatchMode": "yes",
    "StrictHostKeyChecking": "yes",
    "UpdateHostKeys": "no",
    "ConnectTimeout": str(CONNECT_WITHIN_S),
    "ConnectionAttempts": "1",
    "ServerAliveInterval": str(_ALIVE_EVERY_S),
    "ServerAliveCountMax": "3",
    "ExitOnForwardFailure": "yes",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "RequestTTY": "no",
    "ForkAfterAuthentication": "no",
    "Tunnel": "no",
    "ControlMaster": "no",
    "ControlPath": "none",
    "LogLevel": "INFO",
}
"""Options on the command line win over ~/.ssh/config, which is read as ever for all others (ssh_config(5))."""
_KEEPER = Path(__file__).with_name("_keeper.py")


def ssh_words(login: SshLogin, *more: str) -> list[str]:
    """Return the command that logs in, with `more` options; HostRefused where this machine has no ssh."""
    program = shutil.which("ssh")
    if program is None:
        raise no_program(login)
    fixed = [word for name, value in _OPTIONS.items() for word in ("-o", f"{name}={value}")]
    return [program, "-T", *fixed, *more, *login.words()]


def start_kept(
    words: Sequence[str],
    *,
    folder: Path | None,
    hold: Sequence[int] = (),
    stdin: int,
    stdout: int,
    stderr: int | IO[bytes],
) -> tuple[subprocess.Popen[bytes], int]:
    """Return a process that runs the words until its lifeline is closed, and that lifeline.

    It ends, and removes `folder`, also when this process is killed. It holds open what is in `hold`.
    """
    lifeline, ours = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_KEEPER), str(lifeline), str(folder or "-"), *words],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=(lifeline, *hold),
            env=_variables(),
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(lifeline)
    return process, ours


def _variables() -> dict[str, str]:
    """Return this process's environment without our settings, with ssh's words in English and no way to ask."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("TRACKER_")}
    return {**own, "LC_ALL": "C", "SSH_ASKPASS_REQUIRE": "never"}
