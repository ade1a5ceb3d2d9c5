"""What a person reads of a release source's name."""

from __future__ import annotations

import pytest

from tracker.store.views.overview import SourceView


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ('tiny oci_registry {"repository": "10.0.0.7:5000/a/tiny"}', "tiny: oci_registry 10.0.0.7:5000/a/tiny"),
        ('tiny folder {"path": "/data/my releases"}', "tiny: folder /data/my releases"),
        ("tiny folder {}", "tiny: folder"),
        ("named otherwise", "named otherwise"),
    ],
)
def test_a_source_is_shown_without_its_json(name: str, shown: str) -> None:
    assert SourceView(source=name, asked_at=None, answered_at=None, problem=None).shown == shown
