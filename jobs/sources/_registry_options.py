"""The options of the registry source, checked, and which of a repository's tags they choose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from jobs.errors import UserError
from jobs.releases import Tag, Track, read_tag
from jobs.sources._answers import check_options
from jobs.sources._registry_names import Repository, own_platform, read_platform, read_repository

DEFAULT_TRACKS = (Track.STABLE, Track.RC, Track.POST)
DEFAULT_NEWEST = 50
LARGEST_NEWEST = 10_000
_KNOWN = {
    "repository": True,
    "include": False,
    "exclude": False,
    "tracks": False,
    "platforms": False,
    "newest": False,
}
_LISTS = ("include", "exclude", "tracks", "platforms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked of one repository."""

    repository: Repository
    component: str | None = None
    """The software's name, which may stand before the version: `thing-1.2.0`."""
    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    tracks: tuple[Track, ...] = DEFAULT_TRACKS
    platforms: tuple[str, ...] = ()
    newest: int = DEFAULT_NEWEST
    """So many releases; each tag costs requests, and registries hold thousands of tags."""


def read_options(options: Mapping[str, object], component: str | None = None) -> Wanted:
    """Return the checked options; UserError names the one that is wrong."""
    lists = {key: _read_list(key, options[key]) for key in _LISTS if key in options}
    newest = _read_newest(options["newest"]) if "newest" in options else DEFAULT_NEWEST
    texts = {key: value for key, value in options.items() if key not in _KNOWN or key == "repository"}
    given = check_options("oci_registry", texts, _KNOWN)
    return Wanted(
        repository=read_repository(given["repository"]),
        component=component,
        include=lists.get("include", ("*",)),
        exclude=lists.get("exclude", ()),
        tracks=tuple(_read_track(text) for text in lists["tracks"]) if "tracks" in lists else DEFAULT_TRACKS,
        platforms=tuple(read_platform(text) for text in lists.get("platforms", (own_platform(),))),
        newest=newest,
    )


def choose_tags(tags: Iterable[str], wanted: Wanted) -> tuple[list[Tag], list[tuple[str, str]]]:
    """Return the tags to look at, the newest release first, and every other one with the reason why not."""
    chosen: list[Tag] = []
    left_out: list[tuple[str, str]] = []
    for name in sorted(set(tags)):
        tag = read_tag(name, wanted.component)
        if reason := _why_not(tag, wanted):
            left_out.append((name, reason))
        else:
            chosen.append(tag)
    chosen.sort(key=lambda tag: (tag.sort_key or "", tag.nightly_key or "", tag.tag), reverse=True)
    kept = _newest(chosen, wanted.newest)
    left_out += [(t.tag, f"older than the newest {wanted.newest} releases") for t in chosen if t.identity not in kept]
    return [tag for tag in chosen if tag.identity in kept], left_out


def _why_not(tag: Tag, wanted: Wanted) -> str | None:
    """Return why a tag is not looked at; None when it is."""
    if not any(fnmatchcase(tag.tag, pattern) for pattern in wanted.include):
        return "not in `include`"
    if pattern := next((p for p in wanted.exclude if fnmatchcase(tag.tag, p)), None):
        return f"excluded by {pattern!r}"
    if tag.sort_key is None and tag.nightly_key is None:
        return tag.reason
    if tag.track not in wanted.tracks:
        return f"track {tag.track}: not in `tracks`"
    return None


def _newest(tags: Iterable[Tag], number: int) -> set[str]:
    """Return the identities of the newest releases, and of the newest nightlies beside them."""
    releases: dict[str, None] = {}
    nightlies: dict[str, None] = {}
    for tag in tags:
        (nightlies if tag.sort_key is None else releases).setdefault(tag.identity)
    return {*list(releases)[:number], *list(nightlies)[:number]}


def _read_list(key: str, value: object) -> tuple[str, ...]:
    """Return a list of texts, also where one text stands alone."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not values or not all(isinstance(v, str) and v.strip() for v in values):
        raise UserError(f"source oci_registry: option {key!r} must be a list of texts, found {value!r}")
    return tuple(dict.fromkeys(text.strip() for text in values))


def _read_track(text: str) -> Track:
    known = [track for track in Track if track is not Track.OTHER]
    if text not in known:
        raise UserError(
            f"source oci_registry: option 'tracks': {text!r} is no track; expected some of {', '.join(known)}"
        )
    return Track(text)


def _read_newest(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_NEWEST:
        raise UserError(
            f"source oci_registry: option 'newest' must be a whole number from 1 to {LARGEST_NEWEST}, found {value!r}"
        )
    return value
