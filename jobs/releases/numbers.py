"""Release numbers as text: how a version is written, what it is called, and where it stands in the order."""

from __future__ import annotations

import re

from packaging.version import Version

_YEAR_MONTH = re.compile(r"(?:20)?[1-9][0-9]\.(?:0[1-9]|1[0-2])")
_PRE_RANK = {"a": "1", "b": "2", "rc": "3"}


def read_version(base: str, marks: str) -> Version:
    """Return the version of a number and its marks; a patch or hotfix is a post release, a snapshot a dev build."""
    return Version(base + re.sub("patch|hotfix", "post", marks).replace("snapshot", "dev"))


def write_version(version: Version, base: str) -> str:
    """Return the public version in PEP 440 form; a year.month keeps the zero of its month (`26.02`, `24.05rc1`)."""
    if not _YEAR_MONTH.fullmatch(base) or not _is_year(version.release[0]):
        return version.public
    return spell_version(version, base)


def spell_version(version: Version, base: str) -> str:
    """Return the public version with its numbers as they were spelled (`25.04.01`)."""
    return base + version.public.removeprefix(version.base_version)


def name_release(version: Version) -> str:
    """Return the one name that all spellings of a version share: `1.0` and `1.0.0` are one release.

    Three numbers at least, further ones only while they say something; two where the first is a year and the
    second a month (`26.02`, `2026.10`).
    """
    numbers = _without_zeros(version.release)
    if len(numbers) == 2 and _is_year(numbers[0]) and 1 <= numbers[1] <= 12:
        text = f"{numbers[0]}.{numbers[1]:02d}" if numbers[0] < 100 else f"{numbers[0]}.{numbers[1]}"
    else:
        text = ".".join(str(n) for n in (*numbers, 0, 0, 0)[: max(3, len(numbers))])
    epoch = f"{version.epoch}!" if version.epoch else ""
    return epoch + text + version.public.removeprefix(version.base_version)


def place_version(version: Version) -> str:
    """Return digits that sort as text the way PEP 440 sorts the public version, under any collation.

    Each number is written behind its own length; the release numbers end with `00`, so that a shorter release
    comes before a longer one. Then pre-release (0 = dev build of the release itself, 1 to 3 = a, b, rc, 4 = none),
    post release (0 = none) and dev build (1 = none).
    """
    release = "".join(_sized(n) for n in _without_zeros(version.release))
    if version.pre is not None:
        pre = _PRE_RANK[version.pre[0]] + _sized(version.pre[1])
    else:
        pre = "0" if version.is_devrelease and version.post is None else "4"
    post = "0" if version.post is None else "1" + _sized(version.post)
    dev = "1" if version.dev is None else "0" + _sized(version.dev)
    return f"{_sized(version.epoch)}{release}00{pre}{post}{dev}"


def _sized(number: int) -> str:
    """Return the number behind the count of its digits: `0210` for 10; at most 128 digits, as long as a tag may be."""
    digits = str(number)
    return f"{len(digits):02d}{digits}" if len(digits) < 99 else f"99{len(digits):03d}{digits}"


def _without_zeros(release: tuple[int, ...]) -> tuple[int, ...]:
    """Return the release numbers without the zeros at the end that PEP 440 does not count."""
    end = len(release)
    while end and release[end - 1] == 0:
        end -= 1
    return release[:end]


def _is_year(number: int) -> bool:
    """Return whether a release number reads as a year: 15 to 40 or 2015 to 2099."""
    return 15 <= number <= 40 or 2015 <= number <= 2099
