"""A release is judged when the runs that it is to be judged by are final; then the suite's series wait for analysis.

Those are its planned runs, or those that were asked for first. Hardware classes are judged apart, so that one whose
hosts are away holds up no other. Where a cluster picks the node, results were recorded, or a host has not been seen
yet, only the result tells the class: such runs hold all classes of their suite back.
"""

from __future__ import annotations

from tracker.pipeline.plan import ELSEWHERE
from tracker.pipeline.suites import read_suite_text
from tracker.store import series, settling
from tracker.store.engine import Session


def settle(session: Session, run_id: int) -> bool:
    """Mark the suite's series dirty if this run's end settles its release; call it where a run becomes final."""
    suite, release, hardware = settling.place_of_run(session, run_id)
    held = settling.find_held(session, suite)
    settled = all((one.release_id, one.hardware_class_id) != (release, hardware) for one in held)
    if settled:
        series.mark_suite_dirty(session, suite)
    return settled


def held_back(session: Session) -> frozenset[tuple[str, int, int]]:
    """Return what is too early to judge: suite, release id, id of the hardware class that the values belong to."""
    held = settling.find_held(session)
    measured = settling.measured_classes(session, {one.suite for one in held})
    found = set()
    for one in held:
        own = (one.suite, one.hardware_class_id)
        elsewhere = own not in measured or _picks_its_node(one.suite_text, one.suite_file)
        classes = {hardware for suite, hardware in measured if suite == one.suite} if elsewhere else set()
        found |= {(one.suite, one.release_id, hardware) for hardware in classes | {one.hardware_class_id}}
    return frozenset(found)


def _picks_its_node(text: str, file: str) -> bool:
    """Return whether a cluster, or a recording, says where the suite's runs are; a text of old that is none says no."""
    try:
        return read_suite_text(text, file).run.executor in ELSEWHERE
    except ValueError:
        return False
