"""Reading release names and putting them in order: pure functions, no I/O.

`read_tag` says what one published name means, `order_tags` puts a whole list in order, and the three choices
(`match_versions`, `newest_of`, `previous_release`) answer which of the known releases is meant.
"""

from __future__ import annotations

from jobs.releases.choices import match_versions, newest_of, previous_release
from jobs.releases.order import ORDER_RULE_REVISION, TagOrder, order_tags
from jobs.releases.tags import Tag, Track, read_tag

__all__ = [
    "ORDER_RULE_REVISION",
    "Tag",
    "TagOrder",
    "Track",
    "match_versions",
    "newest_of",
    "order_tags",
    "previous_release",
    "read_tag",
]
