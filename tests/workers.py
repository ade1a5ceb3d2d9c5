"""How the tests are shared among the workers of `make test`: in what units, and which begin."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

#: Where tests share nothing that takes long to make: each goes where there is room.
APART = (
    "tests/chaos/",
    "tests/jobs/suites/test_for_real",
    "tests/jobs/parsers/test_damage.py",
    "tests/tracker/test_pushed_tag.py",
    "tests/tracker/test_two_hosts.py",
)
#: Folders that stay in one worker: their files share a server.
TOGETHER = ("tests/tracker/store/",)
#: What waits longest begins, and what fills gaps comes last.
FIRST = ("tests/chaos/", "tests/tracker/test_", "tests/jobs/executors/", "tests/jobs/suites/", "tests/tracker/store/")
LAST = ("tests/jobs/parsers/test_damage.py",)


def unit_of(nodeid: str) -> str:
    """Return the name of what runs in one worker, one after the other: a file, unless it says otherwise above."""
    if nodeid.startswith(APART):
        return nodeid
    return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid.partition("::")[0])


def rank(nodeid: str) -> int:
    """Return a smaller number for what is to begin earlier."""
    if nodeid.startswith(LAST):
        return len(FIRST) + 1
    return next((place for place, start in enumerate(FIRST) if nodeid.startswith(start)), len(FIRST))


class Units(LoadScopeScheduling):
    """Hands out units in the order of the tests."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)
