"""What the sources of this package share: checking options, and making an answer of builds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from difflib import get_close_matches

from jobs.characters import find_unstorable, replace_unstorable
from jobs.errors import UserError
from jobs.protocols import PublishedBuild, SourceAnswer


def check_options(source: str, options: Mapping[str, object], known: Mapping[str, bool]) -> dict[str, str]:
    """Return the options as text; `known` maps each to whether it is required. Raise UserError for anything else."""
    for key, value in options.items():
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise UserError(f"source {source}: unknown option {key!r}, expected {', '.join(known)}{hint}")
        if not isinstance(value, str) or not value.strip():
            raise UserError(f"source {source}: option {key!r} must be a text that is not empty, found {value!r}")
    missing = [key for key, required in known.items() if required and key not in options]
    if missing:
        raise UserError(f"source {source}: option {missing[0]!r} is missing; expected {', '.join(known)}")
    return {key: str(value).strip() for key, value in options.items()}


def make_answer(
    builds: Iterable[PublishedBuild],
    unreadable: Iterable[tuple[str, str]],
    *,
    left_out: Iterable[tuple[str, str]] = (),
    scope: str | None = None,
) -> SourceAnswer:
    """Return the answer with a cursor that is a hash of all it found: it changes exactly when that does.

    A build whose names hold characters that cannot be stored counts as unreadable; in remarks they are replaced.
    """
    all_builds, odd = [], []
    for build in builds:
        if character := find_unstorable([build.tag, build.location, build.digest, build.platform]):
            odd.append((build.tag, f"its name holds the unusable character {character}"))
        else:
            all_builds.append(replace(build, yanked=_storable(build.yanked), misfit=_storable(build.misfit)))
    pairs = ((replace_unstorable(name), replace_unstorable(reason)) for name, reason in (*unreadable, *odd))
    all_unreadable = tuple(sorted(set(pairs)))
    text = json.dumps([[_without_empty(asdict(b)) for b in all_builds], all_unreadable], sort_keys=True, default=str)
    cursor = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    others = tuple((replace_unstorable(name), replace_unstorable(reason)) for name, reason in left_out)
    return SourceAnswer(
        builds=tuple(all_builds), cursor=cursor, unreadable=all_unreadable, left_out=others, scope=scope
    )


def _without_empty(build: dict[str, object]) -> dict[str, object]:
    """Return a build's fields without what only images have and this one has not: cursors of other kinds stay."""
    return {key: value for key, value in build.items() if value or key not in ("facts", "contains")}


def _storable(remark: str | None) -> str | None:
    return None if remark is None else replace_unstorable(remark)
