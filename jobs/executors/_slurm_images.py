"""Images for containers on the nodes: imported once for each digest, before anything is timed, where enroot is there.

Without enroot on the node's PATH the reference is left to pyxis, which then imports within the time of the benchmark.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from pathlib import Path

from jobs.executors._commands import DISK_FULL, Ended, last_line, printed_lines
from jobs.executors._environments import Setup, locked, run_setup
from jobs.executors._slurm_container import image_argument
from jobs.protocols import JobOutcome, JobSpec

_PINNED = re.compile(r"[^:]*(?::\d+#[^:]*)?:sha256:(?P<hex>[0-9a-f]{64})")
_IN_USE_S = 86_400.0
"""An image used within this time is not removed: a job on another node may hold it."""


def prepare_image(job: JobSpec, setup: Setup, *, keep: int) -> str:
    """Return the image for pyxis, a squashfs file in the cache where it can be; Ended where it cannot be had."""
    reference = image_argument(job)
    enroot, pinned = shutil.which("enroot", path=setup.variables.get("PATH")), _PINNED.fullmatch(reference)
    if enroot is None or pinned is None:
        return reference
    file = setup.cache / "images" / f"{pinned.group('hex')}.sqsh"
    with locked(file.with_suffix(".lock"), setup) as lock:
        if not file.exists():
            draft = file.with_name(f".{file.stem}.{secrets.token_hex(6)}.sqsh")
            try:
                words = [enroot, "import", "--output", str(draft), f"docker://{reference}"]
                if run_setup(setup, words, folder=file.parent, lock=lock) != 0:
                    raise _not_imported(setup, reference)
                draft.rename(file)
            finally:
                draft.unlink(missing_ok=True)
            _remove_old(file, keep)
        os.utime(file)
    return str(file)


def _not_imported(setup: Setup, reference: str) -> Ended:
    full = next((line for line in printed_lines(setup.log) if DISK_FULL in line), "")
    said = f"the disk is full: {full}" if full else last_line(setup.log) or "enroot said nothing"
    return Ended(JobOutcome.INFRA_FAILED, f"the image {reference} could not be imported: {said}")


def _remove_old(newest: Path, keep: int) -> None:
    """Remove images beyond the `keep` used last; one that was used lately stays."""
    files = sorted(newest.parent.glob("[0-9a-f]*.sqsh"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[keep:]:
        if file != newest and time.time() - file.stat().st_mtime > _IN_USE_S:
            file.unlink(missing_ok=True)
