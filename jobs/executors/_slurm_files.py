"""Whether what a node wrote has arrived whole on a file system that both see."""

from __future__ import annotations

import os

from jobs.executors._attempts import Attempt, read


def listing(attempt: Attempt) -> dict[str, object]:
    """Return size and hash of every output as they are here and now, by kind and name."""
    return {f"{o.kind}/{o.name}": {"size_bytes": o.size_bytes, "sha256": o.sha256} for o in attempt.outputs()}


def missing_files(attempt: Attempt) -> list[str]:
    """Return the outputs that are not here as the node listed them, `manifest.json` where there is no list yet."""
    os.listdir(attempt.folder)  # a shared file system looks anew at a folder that is read
    listed, here = read(attempt.file("manifest.json")), listing(attempt)
    if not listed:
        return ["manifest.json"]
    return sorted(name for name, facts in listed.items() if here.get(name) != facts)
