"""Getting the image under test: by digest, with room for it, saying why where that fails; and removing old ones.

Only images that were pulled here are ever removed; `engine-images/` in the cache has a file for each.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs.errors import UserError
from jobs.executors._attempts import read, replace
from jobs.executors._commands import Ended, size_text
from jobs.executors._engine_client import Engine, EngineRefused
from jobs.executors._engine_room import Room
from jobs.fingerprint import fingerprint
from jobs.protocols import JobOutcome, JobSpec

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_REFERENCE = re.compile(r"[a-z0-9A-Z][\w.:/-]{0,400}(?:@sha256:[0-9a-f]{64})?")
_NOT_THERE = re.compile(r"manifest unknown|manifest .*not found|name unknown|repository name not known", re.IGNORECASE)
_NO_FIT = re.compile(
    r"no matching manifest|no image found in (manifest|image index)|does not match the specified platform"
)
_NO_RIGHT = re.compile(
    r"unauthorized|denied|authentication required|invalid username/password|forbidden|no basic auth|\b40[13]\b",
    re.IGNORECASE,
)
_NO_ROOM = re.compile(r"no space left on device", re.IGNORECASE)
_TELL_EVERY_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageName:
    """An image by where it is and by its digest."""

    repository: str
    digest: str

    @property
    def reference(self) -> str:
        return f"{self.repository}@{self.digest}"


def image_of(job: JobSpec) -> ImageName:
    """Return the image that a job measures; UserError where its build is none."""
    if job.build_kind != "image":
        raise UserError(
            f"job {job.key}: executor docker_engine measures images, found a {job.build_kind} ({job.build_location}); "
            "use a source of images, or another executor"
        )
    if not _DIGEST.fullmatch(job.build_digest) or not _REFERENCE.fullmatch(job.build_location):
        raise UserError(
            f"job {job.key}: expected an image's reference and its digest (sha256:...), found "
            f"{job.build_location!r} and {job.build_digest!r}"
        )
    name = job.build_location.partition("@")[0]
    folder, _, last = name.rpartition("/")
    plain = last.partition(":")[0]
    return ImageName(repository=f"{folder}/{plain}" if folder else plain, digest=job.build_digest)


def login_header(username: str, password: str) -> str:
    """Return the value of X-Registry-Auth for a user name and a password."""
    text = json.dumps({"username": username, "password": password})
    return base64.urlsafe_b64encode(text.encode()).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The images that were pulled here, and how many of them may stay."""

    folder: Path
    keep: int

    def note(self, image: ImageName) -> None:
        """Remember that an image was pulled, or used, now."""
        self.folder.mkdir(parents=True, exist_ok=True)
        replace(self._file(image.reference), {"reference": image.reference, "used_at": time.time()})

    def has(self, image: ImageName) -> bool:
        """Return whether the image was pulled here."""
        return self._file(image.reference).exists()

    def clear(self, engine: Engine, *, keep: int) -> list[str]:
        """Remove all but the `keep` images that were used last; return what went. One in use stays."""
        gone = []
        for reference in self._by_age()[keep:]:
            try:
                engine.remove_image(reference)
                gone.append(reference)
            except EngineRefused as error:
                if error.status != 404 and "not known" not in str(error):
                    continue
            self._file(reference).unlink(missing_ok=True)
        return gone

    def _by_age(self) -> list[str]:
        """Return the references of all images, the one used last first."""
        notes = [read(path) or {} for path in self.folder.glob("*.json")] if self.folder.is_dir() else []
        known = [(note["used_at"], str(note["reference"])) for note in notes if {"used_at", "reference"} <= note.keys()]
        return [reference for _, reference in sorted(known, reverse=True)]

    def _file(self, reference: str) -> Path:
        return self.folder / f"{fingerprint('image', reference)}.json"


@dataclass(slots=True, kw_only=True)
class Progress:
    """What a pull has done so far, from the messages of its stream."""

    layers: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Layer -> bytes here, bytes in all (0 where the engine does not say)."""
    done: set[str] = field(default_factory=set)

    def take(self, message: Mapping[str, Any]) -> None:
        """Take one message in."""
        layer, status = message.get("id"), str(message.get("status", ""))
        if not isinstance(layer, str):
            return
        detail = message.get("progressDetail")
        here, total = (detail.get("current"), detail.get("total")) if isinstance(detail, dict) else (None, None)
        if status in ("Download complete", "Pull complete", "Already exists"):
            self.done.add(layer)
        if status == "Downloading" and type(here) is int and type(total) is int:
            self.layers[layer] = (here, total)
        self.layers.setdefault(layer, (0, 0))

    def text(self) -> str:
        """Return it for people: `3 of 12 layers, 410 MB of 14.0 GB`."""
        text = f"{len(self.done)} of {len(self.layers)} layers"
        total = sum(total for _, total in self.layers.values())
        here = sum(all_ if layer in self.done else part for layer, (part, all_) in self.layers.items())
        return f"{text}, {size_text(here)} of {size_text(total)}" if total else text


def pull(engine: Engine, image: ImageName, login: str | None, tell: Callable[[str], None]) -> None:
    """Have the engine pull an image; raise Ended with the registry's reason where it cannot."""
    progress, told_at = Progress(), 0.0
    try:
        with engine.pull(image.repository, image.digest, login) as messages:
            for message in messages:
                if reason := message.get("error") or (message.get("errorDetail") or {}).get("message"):
                    raise explain_pull(str(reason), image, logged_in=login is not None)
                progress.take(message)
                if time.monotonic() - told_at > _TELL_EVERY_S:
                    told_at = time.monotonic()
                    tell(f"pulling {image.reference}: {progress.text()}")
    except EngineRefused as error:
        raise explain_pull(str(error), image, logged_in=login is not None) from error
    if engine.find_image(image.reference) is None:
        what = f"the engine pulled {image.reference} without an error, but has no image of that digest"
        raise Ended(JobOutcome.INFRA_FAILED, what)
    tell(f"pulled {image.reference}: {progress.text()}")


def explain_pull(reason: str, image: ImageName, *, logged_in: bool) -> Ended:
    """Return why a pull failed: a fact about the release, or something that a later try may find mended."""
    said = " ".join(reason.split())[:400]
    if _NO_ROOM.search(reason):
        return Ended(JobOutcome.INFRA_FAILED, f"the disk of the engine is full: {said}")
    if _NOT_THERE.search(reason):
        return Ended(JobOutcome.TOOL_FAILED, f"the registry has no {image.reference} (any more): {said}")
    if _NO_FIT.search(reason):
        return Ended(JobOutcome.TOOL_FAILED, f"{image.reference} is not for this machine: {said}")
    if _NO_RIGHT.search(reason):
        cure = "its login was refused; renew it" if logged_in else "there is no login for it; give one in the settings"
        return Ended(JobOutcome.INFRA_FAILED, f"the registry does not give {image.reference}: {cure}: {said}")
    return Ended(JobOutcome.INFRA_FAILED, f"{image.reference} could not be pulled: {said}")


def make_room(
    engine: Engine, shelf: Shelf, look: Callable[[], Room], *, min_free_bytes: int, tell: Callable[[str], None]
) -> None:
    """Remove old images by policy, and more of them where the disk has too little room; Ended where it still has.

    `look` says how much there is now; where nobody knows, the pull is begun all the same.
    """
    _tell_removed(shelf.clear(engine, keep=shelf.keep - 1), tell)
    room = look()
    if _has_too_little(room, min_free_bytes):
        _tell_removed(shelf.clear(engine, keep=0), tell)
        room = look()
    if room.free_bytes is None:
        tell(f"room for images not looked at: {room.unknown}")
    elif _has_too_little(room, min_free_bytes):
        raise Ended(
            JobOutcome.INFRA_FAILED,
            f"{room.free_bytes / 1e9:.1f} GB are free in {room.folder}, "
            f"and a pull is begun only with {min_free_bytes / 1e9:g} GB: "
            "remove images or files there, or lower min_free_gb in the settings",
        )


def _tell_removed(gone: Iterable[str], tell: Callable[[str], None]) -> None:
    for reference in gone:
        tell(f"removed the image {reference}, not used for longest")


def _has_too_little(room: Room, min_free_bytes: int) -> bool:
    return room.free_bytes is not None and room.free_bytes < min_free_bytes
