"""Releases that recordings hold: the versions of one component in a folder of `*.jsonl` (see the replay executor)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from jobs.protocols import PublishedBuild, ReleaseSource, SourceAnswer
from jobs.recordings import read_moment, read_recordings
from jobs.sources._answers import check_options, make_answer


def create(options: Mapping[str, object]) -> ReleaseSource:
    """Return the source for the recordings of `component` in `path` (by default the setting `recordings`)."""
    given = check_options("recorded", options, {"path": False, "component": True})
    return RecordedReleases(Path(given.get("path", ".")).expanduser(), given["component"])


class RecordedReleases:
    """Each recorded version is a release with one build; its digest names the recording, not what was published."""

    def __init__(self, folder: Path, component: str) -> None:
        self._folder = folder
        self._component = component

    def list_builds(self) -> SourceAnswer:
        """Return a build for every version recorded; raise UserError where there are no recordings."""
        versions: dict[str, datetime | None] = {}
        unreadable: list[tuple[str, str]] = []
        for where, line in read_recordings(self._folder, "source recorded"):
            try:
                recording = json.loads(line)
                if recording["component"] == self._component:
                    versions[str(recording["version"])] = read_moment(recording.get("published_at"))
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                unreadable.append((Path(where).name, f"not a recording: {error}"))
        return make_answer([self._build(*one) for one in sorted(versions.items())], unreadable)

    def _build(self, version: str, published_at: datetime | None) -> PublishedBuild:
        name = f"recorded {self._component} {version}"
        return PublishedBuild(
            tag=version,
            kind="recording",
            digest=f"sha256:{hashlib.sha256(name.encode()).hexdigest()}",
            platform="any",
            location=name,
            published_at=published_at,
        )
