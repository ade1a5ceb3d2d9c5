"""Wheels of one release against one machine: which of them runs here, and if none does, why not."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, sys_tags
from packaging.utils import BuildTag, parse_wheel_filename
from packaging.version import Version

from jobs.protocols import PublishedBuild

_NAMED = 4
"""How many interpreters or platforms a reason names before it says how many more there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The Python and platform that wheels must fit."""

    ranks: Mapping[Tag, int]
    """Every tag that runs here, the best fitting one first (0)."""
    python: Version
    interpreter: str
    """`cp311`."""
    platform: str
    """`manylinux_2_36_x86_64`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """One wheel file as its publisher lists it."""

    filename: str
    name: str
    version: Version
    build: BuildTag
    tags: frozenset[Tag]
    digest: str
    size_bytes: int | None = None
    published_at: datetime | None = None
    requires_python: str | None = None
    yanked: str | None = None

    @property
    def platform_tag(self) -> str:
        """The last three parts of its name: `cp311-cp311-manylinux_2_28_x86_64`."""
        return "-".join(self.filename.removesuffix(".whl").split("-")[-3:])


@lru_cache(maxsize=1)
def this_host() -> Host:
    """Return the machine and the Python that run this program."""
    tags = list(sys_tags())
    return Host(
        ranks={tag: rank for rank, tag in reversed(list(enumerate(tags)))},
        python=Version(platform.python_version()),
        interpreter=tags[0].interpreter,
        platform=next((tag.platform for tag in tags if tag.platform.startswith("manylinux_")), tags[0].platform),
    )


def read_wheel_name(filename: str) -> tuple[str, Version, BuildTag, frozenset[Tag]]:
    """Return name, version, build and tags from a wheel's file name; raise ValueError if it is none."""
    return parse_wheel_filename(filename)


def choose_wheel(wheels: Sequence[Wheel], host: Host) -> tuple[Wheel, str | None]:
    """Return the wheel of a release that fits best and None, or the nearest one and why none runs on this machine."""
    fitting = [wheel for wheel in wheels if _rank(wheel, host) is not None and _takes_python(wheel, host)]
    if fitting:
        # among equals the one that is not withdrawn, then the later build of the same wheel
        latest_first = sorted(fitting, key=lambda w: (w.build, w.filename), reverse=True)
        return min(latest_first, key=lambda w: (w.yanked is not None, _rank(w, host))), None
    nearest = min(wheels, key=lambda w: (_rank(w, host) is None, w.yanked is not None, w.filename))
    return nearest, _explain_misfit(wheels, host)


def make_wheel_build(wheel: Wheel, location: str, misfit: str | None) -> PublishedBuild:
    """Return the wheel as the build of its release."""
    return PublishedBuild(
        tag=str(wheel.version),
        kind="wheel",
        digest=wheel.digest,
        platform=wheel.platform_tag,
        location=location,
        published_at=wheel.published_at,
        size_bytes=wheel.size_bytes,
        yanked=wheel.yanked,
        misfit=misfit,
    )


def _rank(wheel: Wheel, host: Host) -> int | None:
    """Return how far down the host's list of tags the wheel fits; None if it does not."""
    return min((host.ranks[tag] for tag in wheel.tags if tag in host.ranks), default=None)


def _takes_python(wheel: Wheel, host: Host) -> bool:
    """Return whether the wheel's `requires-python` lets this Python in; one that cannot be read says nothing."""
    try:
        return SpecifierSet(wheel.requires_python or "").contains(host.python, prereleases=True)
    except ValueError:  # no specifier (InvalidSpecifier), or one with a number of thousands of digits
        return True


def _explain_misfit(wheels: Sequence[Wheel], host: Host) -> str:
    """Return why none of a release's wheels runs here: the Python version, the interpreter or the platform."""
    right_tags = [wheel for wheel in wheels if _rank(wheel, host) is not None]
    if right_tags:
        return f"needs Python {right_tags[0].requires_python}, this is {host.python}"
    pythons = {(tag.interpreter, tag.abi) for tag in host.ranks}
    platforms = {tag.platform for tag in host.ranks}
    tags = [tag for wheel in wheels for tag in wheel.tags]
    elsewhere = {tag.platform for tag in tags if (tag.interpreter, tag.abi) in pythons}
    if elsewhere:
        return f"built for {_list(elsewhere)}, this is {host.platform}"
    here = {tag.interpreter for tag in tags if tag.platform in platforms}
    if here:
        return f"built for {_list(here)}, this is {host.interpreter}"
    every = {f"{tag.interpreter} on {tag.platform}" for tag in tags}
    return f"built for {_list(every)}, this is {host.interpreter} on {host.platform}"


def _list(names: Iterable[str]) -> str:
    """Return the names as a short list."""
    ordered = sorted(names, key=lambda name: [int(p) if p.isdigit() else p for p in re.split("([0-9]+)", name)])
    more = f" and {len(ordered) - _NAMED} more" if len(ordered) > _NAMED else ""
    return ", ".join(ordered[:_NAMED]) + more
