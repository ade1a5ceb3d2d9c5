"""Whether what a node wrote has arrived whole on a file system that both see."""

from __future__ import annotations

import os

from jobs.executors._attempts import Attempt, read


def missing_files(attempt: Attempt) -> list[str]:
    """Return the outputs that are not here as the node listed them, `manifest.json` where there is no list yet."""
    os.listdir(attempt.folder)  # a shared file system looks anew at a folder that is read
    listed = read(attempt.file("manifest.json"))
    if not listed:
        return ["manifest.json"]
    here = {output.name: {"size_bytes": output.size_bytes, "sha256": output.sha256} for output in attempt.outputs()}
    return sorted(name for name, facts in listed.items() if here.get(name) != facts)
