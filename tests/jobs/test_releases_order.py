"""Putting lists of names in order."""

from __future__ import annotations

import itertools
import json
import random
import sys
import time

from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from jobs.releases import order_tags, read_tag

numbers = st.one_of(st.integers(0, 12), st.integers(0, 10**12))
words = st.sampled_from(
    ["latest", "nightly", "dev", "cu130", "py3", "glm5", "rc1", "20250801", "a1b2c3d", "x86_64", "0820", "main", "sha"]
)


@st.composite
def versions(draw: st.DrawFn) -> str:
    text = ".".join(str(n) for n in draw(st.lists(numbers, min_size=2, max_size=5)))
    if draw(st.booleans()) and draw(st.booleans()):
        text = f"{draw(st.integers(1, 3))}!{text}"
    text += draw(st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from(["a", "b", "rc"]), numbers)))
    text += draw(st.one_of(st.just(""), numbers.map(".post{}".format)))
    return text + draw(st.one_of(st.just(""), numbers.map(".dev{}".format)))


names = st.one_of(
    versions(),
    st.lists(st.one_of(words, versions()), min_size=1, max_size=4).map("-".join),
    st.text(max_size=12),
)


def test_real_candidates_and_their_post_releases_stand_in_order() -> None:
    right = [
        "1.0.0rc4", "1.1.0rc2.post2", "1.2.0rc0.post1", "1.2.0rc2", "1.2.0rc2.post1", "1.2.0rc2.post2",
        "1.2.0rc6.post2", "1.2.0rc8", "1.2.0", "1.2.1", "1.3.0rc0", "1.3.0rc2", "1.3.0rc11", "1.3.0rc22.post1",
    ]  # fmt: skip
    assert order_tags(reversed(right)).order == [[tag] for tag in right]


def test_dev_builds_stand_where_pep_440_puts_them_even_against_the_calendar() -> None:
    right = ["0.8.0.dev20240116", "0.8.0.dev20240123", "0.8.0.dev2024011601", "0.8.0", "0.9.0.dev2024020600"]
    assert order_tags(sorted(right)).order == [[tag] for tag in right]


def test_variants_and_pinned_digests_of_one_version_tie() -> None:
    pinned = "v0.5.14-cu130@sha256:" + "50" * 32
    tags = ["v0.5.14-rocm720-mi35x", "v0.5.9", pinned, "v0.5.14-cu130", "v0.5.10.post1", "v0.5.10"]
    assert order_tags(tags).order == [
        ["v0.5.9"],
        ["v0.5.10"],
        ["v0.5.10.post1"],
        ["v0.5.14-cu130", pinned, "v0.5.14-rocm720-mi35x"],
    ]


def test_calendar_tags_stand_by_year_and_month() -> None:
    tags = ["26.02-py3-igpu", "20.12-py3", "25.10-py3", "25.04-py3-igpu", "25.04-py3"]
    assert order_tags(tags).order == [["20.12-py3"], ["25.04-py3", "25.04-py3-igpu"], ["25.10-py3"], ["26.02-py3-igpu"]]


def test_nightlies_stand_apart_by_date_and_those_without_one_are_left_out() -> None:
    answer = order_tags(
        ["nightly-dev-20260402-d7256eb6", "v0.5.9", "nightly-dev-cu13-20260317-1eea7448", "dev-nightly-0820", "nightly"]
    )
    assert answer.order == [["v0.5.9"]]
    assert answer.nightlies == [["nightly-dev-cu13-20260317-1eea7448"], ["nightly-dev-20260402-d7256eb6"]]
    assert [tag for tag, _ in answer.excluded] == ["dev-nightly-0820", "nightly"]


def test_blanks_empty_lines_and_repetitions_do_not_count() -> None:
    answer = order_tags(["  1.0.0 ", "", "1.0.0", "\t", "latest\r"])
    assert answer.order == [["1.0.0"]]
    assert list(answer.tags) == ["1.0.0", "latest"]


def test_an_empty_list_has_an_empty_order() -> None:
    assert order_tags([]).to_json() == {"order": [], "nightlies": [], "excluded": [], "tags": {}}


def test_the_json_form_is_plain_and_complete() -> None:
    answer = order_tags(["v0.20.1-cu130", "latest", "nightly-20250801"]).to_json()
    assert json.loads(json.dumps(answer)) == {
        "order": [["v0.20.1-cu130"]],
        "nightlies": [["nightly-20250801"]],
        "excluded": [{"tag": "latest", "reason": "a moving tag"}],
        "tags": {
            "latest": {"version": None, "track": "other", "variant": []},
            "nightly-20250801": {"version": None, "track": "nightly", "variant": []},
            "v0.20.1-cu130": {"version": "0.20.1", "track": "stable", "variant": ["cu130"]},
        },
    }


@given(versions(), versions())
def test_sort_keys_compare_as_pep_440_versions_do(one: str, other: str) -> None:
    first, second = read_tag(one), read_tag(other)
    assert first.sort_key is not None
    assert second.sort_key is not None
    assert (first.sort_key < second.sort_key) == (Version(one) < Version(other))
    assert (first.sort_key == second.sort_key) == (Version(one) == Version(other))
    assert (first.identity == second.identity) == (Version(one) == Version(other))


@given(versions())
def test_every_pep_440_version_is_read_as_itself(text: str) -> None:
    tag = read_tag(text)
    assert Version(tag.version or "") == Version(tag.identity) == Version(text)


@settings(max_examples=40, deadline=None)
@given(st.lists(names, max_size=12), st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_of_the_input(tags: list[str], chance: random.Random) -> None:
    shuffled = tags * 2
    chance.shuffle(shuffled)
    assert order_tags(shuffled).to_json() == order_tags(tags).to_json()


@settings(max_examples=40, deadline=None)
@given(st.lists(names, max_size=12))
def test_every_tag_stands_in_exactly_one_list_and_ties_share_their_identity(tags: list[str]) -> None:
    answer = order_tags(tags)
    placed = [tag for group in (*answer.order, *answer.nightlies) for tag in group]
    assert sorted(placed + [tag for tag, _ in answer.excluded]) == sorted({tag.strip() for tag in tags} - {""})
    assert all(len({answer.tags[tag].identity for tag in group}) == 1 for group in answer.order)
    assert all(reason for _, reason in answer.excluded)


def test_long_lists_take_work_in_proportion_to_their_length() -> None:
    def calls(count: int) -> int:
        tags = [f"v{n % 7}.{n % 97}.{n}-cu130-amd64" for n in range(count)]
        made = itertools.count()
        sys.setprofile(lambda *_: next(made))
        try:
            order_tags(tags)
        finally:
            sys.setprofile(None)
        return next(made)

    calls(100)
    assert calls(4_000) < 4.5 * calls(1_000)


def test_a_name_as_long_as_allowed_is_read_at_once() -> None:
    worst = ["1" + ".1" * 63, "1-" + "a-" * 63, "1.0" + "-dev" * 31, "a" * 128, "1" * 128, "1.0-" + "rc-1" * 31]
    started = time.process_time()
    order_tags(worst)
    assert time.process_time() - started < 0.5
