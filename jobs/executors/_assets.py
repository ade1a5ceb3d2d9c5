"""Files made once before benchmarks run (models), kept by the content of all that makes them."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jobs.errors import UserError
from jobs.executors._attempts import open_regular, read, replace
from jobs.executors._commands import DISK_FULL, Ended, last_line, printed_lines
from jobs.executors._environments import Setup, environment_key, locked, prepare_environment, run_setup
from jobs.fingerprint import fingerprint
from jobs.protocols import Asset, JobOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeAsset:
    """A finished asset in the cache."""

    name: str
    path: Path
    sha256: str
    size_bytes: int


def prepare_asset(asset: Asset, setup: Setup) -> MadeAsset:
    """Return the asset, made now unless the cache has it unchanged; raise Ended when it cannot be made."""
    folder = setup.cache / "assets" / asset_key(asset)
    with locked(folder.with_suffix(".lock"), setup) as lock:
        found = _finished(folder, asset)
        if found is None:
            shutil.rmtree(folder, ignore_errors=True)
            _make(asset, folder, setup, lock)
            found = _finished(folder, asset)
        if found is None:
            raise Ended(JobOutcome.INFRA_FAILED, f"asset {asset.name} changed in {folder} while it was being made")
    return found


def asset_key(asset: Asset) -> str:
    """Return the name of the asset's content: its maker's text, the maker's environment, its own name."""
    try:
        maker = Path(asset.maker).read_bytes()
    except OSError as error:
        raise UserError(f"asset {asset.name}: its maker {asset.maker} cannot be read: {error.strerror}") from error
    parts = [hashlib.sha256(maker).hexdigest(), environment_key(asset.requirements), asset.name]
    return fingerprint("asset", json.dumps(parts))


def link_asset(made: MadeAsset, folder: Path) -> None:
    """Put the asset into a working folder: the same file where the disk allows it, else a copy."""
    target = folder / made.name
    try:
        os.link(made.path, target)
    except OSError:
        shutil.copy2(made.path, target)


def _facts(path: Path) -> Mapping[str, object]:
    """Return what changes when somebody writes into the file."""
    facts = path.stat()
    return {"size_bytes": facts.st_size, "modified_ns": facts.st_mtime_ns}


def _finished(folder: Path, asset: Asset) -> MadeAsset | None:
    complete, path = read(folder / ".complete"), folder / asset.name
    if not complete or not path.is_file() or complete.get("facts") != _facts(path):
        return None
    return MadeAsset(name=asset.name, path=path, sha256=str(complete.get("sha256")), size_bytes=path.stat().st_size)


def _make(asset: Asset, folder: Path, setup: Setup, lock: int) -> None:
    """Run the maker in a draft folder and rename that when all of it is there."""
    environment = prepare_environment(asset.requirements, setup)
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}")
    draft.mkdir(parents=True)
    try:
        target = draft / asset.name
        words = [str(environment.python), str(Path(asset.maker).resolve()), str(target)]
        code = run_setup(setup, words, folder=draft, lock=lock)
        if code != 0:
            full = any(DISK_FULL in line for line in printed_lines(setup.log))
            outcome = JobOutcome.INFRA_FAILED if full else JobOutcome.TOOL_FAILED
            raise Ended(outcome, f"making asset {asset.name} failed with exit code {code}: {last_line(setup.log)}")
        _seal(target, draft)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _seal(target: Path, draft: Path) -> None:
    """Make the asset read-only and note its content."""
    handle = open_regular(target)
    if handle is None:
        raise Ended(JobOutcome.TOOL_FAILED, f"the maker of asset {target.name} wrote no file of that name")
    with os.fdopen(handle, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    target.chmod(0o444)
    replace(draft / ".complete", {"sha256": digest, "facts": _facts(target)})
