"""One command on another machine: what it prints, or why there is nothing."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence

from jobs.ssh._program import ssh_words, start_kept
from jobs.ssh.failures import OWN_TROUBLE, CommandFailed, HostAway, explain
from jobs.ssh.login import SshLogin

_SAID_LIMIT = 400
_ENDS_WITHIN_S = 5.0


def run(login: SshLogin, command: Sequence[str], *, script: str = "", timeout_s: float = 60.0) -> str:
    """Return what a command prints on the other machine; `script` is its standard input (`["sh", "-s"]` runs it).

    The command is quoted for the shell there, word by word. Shells that greet print more than the command does: let
    a script mark what counts. HostAway where there is no answer within `timeout_s`, HostRefused where waiting does
    not help, CommandFailed where the command ends with another exit code than 0.
    """
    words = [*ssh_words(login, "-o", "ClearAllForwardings=yes"), shlex.join(command)]
    process, lifeline = start_kept(
        words, folder=None, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        printed, said = process.communicate(script.encode(), timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise HostAway(f"{login}: {shlex.join(command)[:_SAID_LIMIT]}: no end within {timeout_s:g} s") from error
    finally:
        os.close(lifeline)
        _reap(process)
    words_said = said.decode("utf-8", errors="replace")
    if process.returncode == OWN_TROUBLE:
        raise explain(login, words_said)
    if process.returncode:
        short = " ".join(words_said.split())[-_SAID_LIMIT:]
        what = f"{login}: {shlex.join(command)[:_SAID_LIMIT]}: exit code {process.returncode}: {short}"
        raise CommandFailed(process.returncode, words_said, what)
    return printed.decode("utf-8", errors="replace")


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Wait for the keeper, whose lifeline is closed, and close its pipes."""
    try:
        process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
