"""Putting a list of published names in release order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from jobs.releases.tags import Tag, read_tag

ORDER_RULE_REVISION = 1
"""Raised whenever the same name may get another sort key, so that stored keys can be made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TagOrder:
    """A list of tags in order, oldest first; every tag is in one of the three lists, and once."""

    order: list[list[str]]
    """Releases; the tags of one group are the same version and tie."""
    nightlies: list[list[str]]
    """Dated builds, ordered among themselves only; those of one date tie."""
    excluded: list[tuple[str, str]]
    """Tags without a place, with the reason."""
    tags: dict[str, Tag]

    def to_json(self) -> dict[str, object]:
        """Return plain lists and dictionaries."""
        return {
            "order": self.order,
            "nightlies": self.nightlies,
            "excluded": [{"tag": tag, "reason": reason} for tag, reason in self.excluded],
            "tags": {
                name: {"version": tag.version, "track": str(tag.track), "variant": list(tag.variant)}
                for name, tag in self.tags.items()
            },
        }


def order_tags(tags: Iterable[str], component: str | None = None) -> TagOrder:
    """Return the tags in order; blanks around a tag, empty lines and repetitions do not count."""
    names = sorted({tag.strip() for tag in tags} - {""})
    read = {name: read_tag(name, component) for name in names}
    releases: dict[str, list[str]] = defaultdict(list)
    nightlies: dict[str, list[str]] = defaultdict(list)
    excluded: list[tuple[str, str]] = []
    for name, tag in read.items():
        if tag.sort_key is not None:
            releases[tag.sort_key].append(name)
        elif tag.nightly_key is not None:
            nightlies[tag.nightly_key].append(name)
        else:
            excluded.append((name, tag.reason or ""))
    return TagOrder(
        order=[releases[key] for key in sorted(releases)],
        nightlies=[nightlies[key] for key in sorted(nightlies)],
        excluded=excluded,
        tags=read,
    )
