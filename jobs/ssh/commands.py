"""One command on another machine: what it prints, or why there is nothing."""

from __future__ import annotations

import os
import selectors
import shlex
import subprocess
import time
from collections.abc import Sequence

from jobs.ssh._program import ssh_words, start_kept
from jobs.ssh.failures import OWN_TROUBLE, CommandFailed, HostAway, HostRefused, explain
from jobs.ssh.login import SshLogin

PRINTED_LIMIT_BYTES = 16_000_000
_SAID_LIMIT = 400
_PIECE_BYTES = 65_536
_ENDS_WITHIN_S = 5.0


def run(login: SshLogin, command: Sequence[str], *, script: str = "", timeout_s: float = 60.0) -> str:
    """Return what a command prints on the other machine; `script` is its standard input (`["sh", "-s"]` runs it).

    The command is quoted for the shell there, word by word. Shells that greet print more than the command does: let
    a script mark what counts. HostAway where there is no answer within `timeout_s`, HostRefused where waiting does
    not help or where it prints more than `PRINTED_LIMIT_BYTES`, CommandFailed where the command ends with another
    exit code than 0.
    """
    words = [*ssh_words(login, "-o", "ClearAllForwardings=yes"), shlex.join(command)]
    process, lifeline = start_kept(
        words, folder=None, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        printed, said = _talk(process, script.encode(), time.monotonic() + timeout_s)
    except TimeoutError as error:
        raise HostAway(f"{login}: {shlex.join(command)[:_SAID_LIMIT]}: no end within {timeout_s:g} s") from error
    except OverflowError as error:
        raise HostRefused(
            f"{login}: {shlex.join(command)[:_SAID_LIMIT]}: expected at most {PRINTED_LIMIT_BYTES // 1_000_000} MB, "
            "it printed more; nothing of it was used. See what the shell of this login prints there"
        ) from error
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


def _talk(process: subprocess.Popen[bytes], script: bytes, until: float) -> tuple[bytes, bytes]:
    """Return what is printed and said until both end; TimeoutError if late, OverflowError if it is too much."""
    assert process.stdin
    assert process.stdout
    assert process.stderr
    heard = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    writes, left = process.stdin.fileno(), memoryview(script)
    os.set_blocking(writes, False)
    with selectors.DefaultSelector() as selector:
        selector.register(writes, selectors.EVENT_WRITE)
        for pipe in heard:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, until - time.monotonic()))
            if time.monotonic() >= until:
                raise TimeoutError
            for key, _ in ready:
                if key.fd == writes:
                    left = _write(writes, left)
                    if not left:
                        selector.unregister(writes)
                        process.stdin.close()
                elif piece := os.read(key.fd, _PIECE_BYTES):
                    heard[key.fd] += piece
                else:
                    selector.unregister(key.fd)
                if sum(map(len, heard.values())) > PRINTED_LIMIT_BYTES:
                    raise OverflowError
    try:
        process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise TimeoutError from error
    return bytes(heard[process.stdout.fileno()]), bytes(heard[process.stderr.fileno()])


def _write(pipe: int, left: memoryview) -> memoryview:
    """Return what is still to be written; nothing where the reader is gone."""
    try:
        return left[os.write(pipe, left[:_PIECE_BYTES]) :]
    except BlockingIOError:
        return left
    except BrokenPipeError:
        return left[:0]


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
