"""Choosing among releases: by a version filter, the newest of a line, and the one to compare with."""

from __future__ import annotations

import re
from collections.abc import Iterable

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from jobs.errors import UserError
from jobs.releases.tags import Tag, Track, read_tag

_FINAL = (Track.STABLE, Track.POST)


def match_versions(spec: str, versions: Iterable[str], *, prereleases: bool = False) -> list[str]:
    """Return those of `versions` (names of releases or tags) that a PEP 440 filter lets through, in their order.

    `>=1.15,!=1.17.0`, `==25.*`; an empty filter lets all through. Candidates and dev builds pass only where
    `prereleases` says so or the filter names one; names without a place never do.
    """
    wanted = _read_filter(spec)
    allowed = prereleases or bool(wanted.prereleases)
    return [text for text in versions if _matches(wanted, read_tag(text), allowed)]


def newest_of(prefix: str, identities: Iterable[str]) -> str | None:
    """Return the newest stable release of a line (`1.26`, `25`), or of all for `newest`; None if there is none."""
    final = [tag for tag in _in_order(identities) if tag.track in _FINAL]
    if prefix != "newest":
        numbers = _read_line(prefix)
        final = [tag for tag in final if _release_numbers(tag, len(numbers)) == numbers]
    return final[-1].tag if final else None


def previous_release(identity: str, known: Iterable[str]) -> str | None:
    """Return the release that `identity` is compared with unless told otherwise; None if nothing comes before.

    A stable or post release: the stable or post release before it. A candidate: the candidate or release before it
    in its line (major.minor), else the stable one before it; a dev build counts dev builds too. A dated nightly: the
    nightly before it.
    """
    this = read_tag(identity)
    if this.nightly_key is not None:
        dated = [(tag.nightly_key, tag.tag) for tag in map(read_tag, known) if tag.nightly_key is not None]
        return max((entry for entry in dated if entry[0] < this.nightly_key), default=(None, None))[1]
    if this.sort_key is None:
        return None
    before = [tag for tag in _in_order(known) if tag.sort_key is not None and tag.sort_key < this.sort_key]
    final = [tag for tag in before if tag.track in _FINAL]
    if this.track in _FINAL:
        return final[-1].tag if final else None
    line = _release_numbers(this, 2)
    near = [tag for tag in before if _release_numbers(tag, 2) == line]
    if this.track is not Track.DEV:
        near = [tag for tag in near if tag.track is not Track.DEV]
    return (near or final)[-1].tag if near or final else None


def _matches(wanted: SpecifierSet, tag: Tag, allowed: bool) -> bool:
    """Return whether a tag has a place and passes the filter."""
    if tag.sort_key is None or tag.version is None:
        return False
    return wanted.contains(Version(tag.version), prereleases=allowed)


def _read_filter(spec: str) -> SpecifierSet:
    """Return the filter; raise UserError naming the part that cannot be read."""
    for part in (p.strip() for p in spec.split(",")):
        try:
            SpecifierSet(part)
        except InvalidSpecifier as error:
            raise UserError(
                f"version filter {spec!r}: {part!r} is not a comparison with a version; expected PEP 440 "
                "comparisons joined by commas, such as '>=1.15,!=1.17.0' or '==25.*'"
            ) from error
    return SpecifierSet(spec)


def _in_order(identities: Iterable[str]) -> list[Tag]:
    """Return the tags that have a place, oldest first; of several names of one release the first by text."""
    placed = [tag for tag in map(read_tag, identities) if tag.sort_key is not None]
    return sorted(placed, key=lambda tag: (tag.sort_key or "", tag.tag))


def _release_numbers(tag: Tag, count: int) -> tuple[int, ...]:
    """Return the first `count` release numbers, with zeros where the version is shorter."""
    release = Version(tag.version or "0").release
    return (*release, *(0 for _ in range(count)))[:count]


def _read_line(prefix: str) -> tuple[int, ...]:
    """Return the numbers of a line such as `1.26`; raise UserError for anything else."""
    if not re.fullmatch(r"v?[0-9]{1,9}(?:\.[0-9]{1,9}){0,4}", prefix.strip(), re.ASCII):
        raise UserError(f"{prefix!r} names no line of releases; expected numbers such as '1.26' or '25', or 'newest'")
    return tuple(int(n) for n in prefix.strip().lstrip("v").split("."))
