"""Two captured environments side by side."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from jobs.environment import Difference, compare_environments, flatten_environment

RECORD: dict[str, Any] = {
    "host": {
        "kernel": "6.1.0",
        "load_1min": 0.5,
        "gpus": [
            {"product": "NVIDIA Example A", "driver": "575.57", "uuid": "GPU-1", "state": {"temperature_c": 40.0}}
        ],
        "gpu_links": {"NV18": 1},
    },
    "packages": ["numpy==1.26.4", "torch==2.9"],
    "software": {
        "libraries": [{"name": "torch", "version": "2.9", "source": "pip torch"}],
        "system_packages": ["a==1"],
    },
    "build": {"version": "1.2"},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*RECORD, "gpus", "state"]), inner),
    max_leaves=12,
)


def test_an_environment_does_not_differ_from_itself() -> None:
    assert compare_environments(RECORD, RECORD) == ()


def test_changes_are_listed_in_order_and_what_passes_is_left_out() -> None:
    other = copy.deepcopy(RECORD)
    other["host"] |= {"kernel": "6.2.0", "load_1min": 9.0}
    other["host"]["gpus"][0] |= {"driver": "580.95", "uuid": "GPU-2", "state": {"temperature_c": 80.0}}
    other["packages"] = ["numpy==2.0", "triton==3.5"]
    assert compare_environments(RECORD, other) == (
        Difference(part="packages", name="numpy", before="1.26.4", after="2.0"),
        Difference(part="packages", name="torch", before="2.9", after=None),
        Difference(part="packages", name="triton", before=None, after="3.5"),
        Difference(part="gpus", name="gpu 0 driver", before="575.57", after="580.95"),
        Difference(part="host", name="kernel", before="6.1.0", after="6.2.0"),
    )


def test_the_facts_are_texts_under_their_part() -> None:
    facts = flatten_environment(RECORD)
    assert facts["gpus", "links"] == "NV18 1"
    assert facts["gpus", "gpu 0 state temperature_c"] == "40.0"
    assert facts["libraries", "torch (pip torch)"] == "2.9"


@given(st.dictionaries(st.sampled_from([*RECORD, "python", "container"]), JSON), JSON)
def test_a_record_of_any_shape_is_read_without_an_error(record: dict[str, Any], host: Any) -> None:
    compare_environments(record, {**record, "host": host})
