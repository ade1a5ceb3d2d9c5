"""What one published name says: release, track, variants and place, read by rules and never by a list of names."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from packaging.version import Version

from jobs.releases import numbers, words
from jobs.releases.scan import Parts, scan_name


class Track(StrEnum):
    """How finished a release is. A candidate (`rc`) is any alpha, beta or rc, its post releases included."""

    STABLE = "stable"
    RC = "rc"
    POST = "post"
    NIGHTLY = "nightly"
    DEV = "dev"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """One published name, understood. A place in the order (`sort_key`), one among nightlies, or a reason why not."""

    tag: str
    identity: str
    """The release it belongs to, the same for all its variants, digests and spellings."""
    display: str
    version: str | None = None
    """PEP 440 form, or year.month; None where the name holds no version of its own."""
    track: Track
    variant: tuple[str, ...] = ()
    sort_key: str | None = None
    """Digits that sort as text in release order; None where the name gives no place."""
    nightly_key: str | None = None
    """The same among nightlies, which have no place among releases."""
    reason: str | None = None
    """None for a release with a place; otherwise why it is not one, or where it stands instead."""

    def __post_init__(self) -> None:
        if (self.sort_key is None) == (self.reason is None):
            raise ValueError(f"a tag has a place or a reason why not, never both: {self.tag!r}")


def read_tag(tag: str, component: str | None = None) -> Tag:
    """Return what a published name says; `component` is its software's name, which may stand before the version."""
    text = tag.strip()
    name, at, digest = text.partition("@")
    lower = name.lower()
    if not words.TAG_NAME.fullmatch(lower) or (at and not words.DIGEST.fullmatch(digest.lower())):
        return _other(text, "", "not a tag name", identity=text)
    if words.ATTACHMENT.fullmatch(lower):
        return _other(text, name, "a signature, attestation or digest stored under a tag")
    parts = scan_name(lower, component)
    if parts.is_dated or parts.is_nightly:
        return _read_nightly(text, name, parts)
    if parts.commit and not parts.is_dev_version:
        return _read_commit_build(text, name, parts)
    if parts.version is None or parts.is_moving or parts.has_month_and_day or parts.says_dev:
        return _read_unplaced(text, name, parts)
    return _read_version(text, name, parts.version, parts)


def _read_version(text: str, name: str, version: Version, parts: Parts) -> Tag:
    """Return the tag of a release, or of a branch that is named with the version it leads to."""
    written = numbers.write_version(version, parts.base)
    track = _track_of(version)
    if parts.is_branch:
        return Tag(
            tag=text,
            identity=name,
            display=name,
            version=written,
            variant=parts.variants,
            track=Track.DEV if track is Track.DEV else Track.OTHER,
            reason="a branch, or a build for one model, named with the version it belongs to",
        )
    return Tag(
        tag=text,
        identity=numbers.name_release(version),
        display=numbers.spell_version(version, parts.base),
        version=written,
        track=track,
        variant=parts.variants,
        sort_key=numbers.place_version(version),
    )


def _read_nightly(text: str, name: str, parts: Parts) -> Tag:
    """Return the tag of a nightly or dated build: ordered by its date, if it has one, among its like only."""
    date = parts.moment.removesuffix("000").removesuffix("000000")
    identity = "-".join(t for t in ("nightly", parts.base + parts.marks, date, parts.commit) if t)
    if parts.date and not parts.has_named_words:
        return Tag(
            tag=text,
            identity=identity,
            display=identity,
            track=Track.NIGHTLY,
            variant=parts.variants,
            nightly_key=parts.moment,
            reason="a dated build: ordered by its date among nightlies only",
        )
    if parts.has_named_words:
        track = Track.NIGHTLY if parts.is_nightly else Track.OTHER
        return _other(text, name, "a build of a model or branch: no place in the order", track=track)
    if parts.commit:
        reason = "a nightly build named by its commit: the name gives no order"
    elif parts.has_month_and_day:
        reason, identity = "a nightly build with month and day only: no year, no order", name
    else:
        reason, identity = "a moving tag: the newest nightly build", name
    return _other(text, name, reason, track=Track.NIGHTLY, variant=parts.known_variants, identity=identity)


def _read_commit_build(text: str, name: str, parts: Parts) -> Tag:
    """Return the tag of a build of one commit, which is no release even where a version stands in its name."""
    if parts.version is not None:
        reason = f"a build of one commit, named with the version it started from: not the release {parts.version}"
    else:
        reason = "named by its commit: the name gives no order"
    track = Track.DEV if parts.says_dev else Track.OTHER
    return _other(text, name, reason, track=track, variant=parts.known_variants)


def _read_unplaced(text: str, name: str, parts: Parts) -> Tag:
    """Return the tag of a name without a version, or with words that take its place away."""
    if parts.is_moving:
        reason = "a moving tag"
    elif parts.says_dev:
        reason = "a development build without a number: moving tag"
    elif parts.has_month_and_day and parts.version is not None:
        reason = "dated with month and day only: no year, not the release itself"
    elif parts.has_unknown_words:
        reason = "no version in it: named after a model, a machine, a branch or a channel"
    else:
        reason = "no version in it: moving tag"
    track = Track.DEV if parts.says_dev else Track.OTHER
    return _other(text, name, reason, track=track, variant=parts.known_variants)


def _other(
    text: str,
    name: str,
    reason: str,
    *,
    track: Track = Track.OTHER,
    variant: tuple[str, ...] = (),
    identity: str | None = None,
) -> Tag:
    """Return a tag without a place."""
    return Tag(
        tag=text,
        identity=name if identity is None else identity,
        display=name or text,
        track=track,
        variant=variant,
        reason=reason,
    )


def _track_of(version: Version) -> Track:
    """Return the track of a version: a dev build first, then a candidate, then a post release."""
    if version.is_devrelease:
        return Track.DEV
    if version.pre is not None:
        return Track.RC
    return Track.POST if version.is_postrelease else Track.STABLE
