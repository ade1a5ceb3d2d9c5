"""Which repository is meant, and which of its tags are looked at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import UserError
from jobs.releases import Track
from jobs.sources._registry_names import own_platform, read_repository
from jobs.sources._registry_options import choose_tags, read_options

TAGS = ("1.2.0rc2", "1.2.0", "1.1.0", "latest", "1.3.0-dev.1", "1.2.0.post1", "1.2.0-cu130", "gpt-model-dev")


def chosen(tags: tuple[str, ...] = TAGS, **options: object) -> list[str]:
    wanted = read_options({"repository": "example.com/a/b", **options})
    return [tag.tag for tag in choose_tags(tags, wanted)[0]]


@pytest.mark.parametrize(
    ("name", "whole", "url"),
    [
        ("nvcr.io/nvidia/thing", "nvcr.io/nvidia/thing", "https://nvcr.io/v2/nvidia/thing"),
        ("team/thing", "docker.io/team/thing", "https://registry-1.docker.io/v2/team/thing"),
        ("docker.io/thing", "docker.io/library/thing", "https://registry-1.docker.io/v2/library/thing"),
        ("index.docker.io/team/thing", "docker.io/team/thing", "https://registry-1.docker.io/v2/team/thing"),
        ("localhost:5000/thing", "localhost:5000/thing", "http://localhost:5000/v2/thing"),
        ("127.0.0.1:5000/a/b", "127.0.0.1:5000/a/b", "http://127.0.0.1:5000/v2/a/b"),
        ("10.0.0.7:5000/a/b", "10.0.0.7:5000/a/b", "https://10.0.0.7:5000/v2/a/b"),
        ("Registry.Example.com/a", "registry.example.com/a", "https://registry.example.com/v2/a"),
    ],
)
def test_a_repository_is_named_as_engines_name_it(name: str, whole: str, url: str):
    repository = read_repository(name)
    assert (repository.name, repository.api_url(plain_http=False)) == (whole, url)


def test_a_registry_is_asked_without_tls_only_where_that_was_said():
    assert read_repository("10.0.0.7:5000/a").api_url(plain_http=True) == "http://10.0.0.7:5000/v2/a"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("https://nvcr.io/nvidia/thing", "expected HOST/NAME without https://"),
        ("nvcr.io/nvidia/thing:1.0", "leave the tag out"),
        ("nvcr.io/nvidia/thing@sha256:00", "without a login or digest"),
        ("nvcr.io/Nvidia/Thing", "is no name of a repository"),
        ("nvcr.io/", "is no name of a repository"),
        ("a b/c", "is no name of a repository"),
        ("nvcr.io/../../etc", "is no name of a repository"),
    ],
)
def test_what_is_no_repository_is_refused_with_what_was_expected(name: str, told: str):
    with pytest.raises(UserError, match=told):
        read_repository(name)


def test_a_password_in_a_repository_is_not_repeated():
    with pytest.raises(UserError) as error:
        read_repository("https://me:hush@nvcr.io/nvidia/thing")
    assert "hush" not in str(error.value)


def test_releases_are_looked_at_newest_first_and_moving_tags_never():
    assert chosen() == ["1.2.0.post1", "1.2.0-cu130", "1.2.0", "1.2.0rc2", "1.1.0"]


@pytest.mark.parametrize(
    ("tag", "version", "variant"),
    [
        ("thing-1.2.0", "1.2.0", ()),
        ("thing-v1.2.0rc2-cu129-b200", "1.2.0rc2", ("cu129", "b200")),
        ("Thing_v1.2.0-cu130", "1.2.0", ("cu130",)),
        ("thing-26.02-py3", "26.02", ("py3",)),
        ("v1.2.0-thing", "1.2.0", ("thing",)),
    ],
)
def test_a_tag_may_begin_with_the_name_of_its_component(tag: str, version: str, variant: tuple[str, ...]):
    found, _ = choose_tags([tag], read_options({"repository": "a/b"}, component="thing"))
    assert [(one.version, one.variant) for one in found] == [(version, variant)]


def test_a_tag_that_begins_with_another_name_is_left_out():
    found, left_out = choose_tags(["gateway-1.2.0"], read_options({"repository": "a/b"}, component="thing"))
    assert (found, left_out[0][0]) == ([], "gateway-1.2.0")


def test_every_tag_is_chosen_or_left_out_with_a_reason():
    found, left_out = choose_tags(TAGS, read_options({"repository": "a/b"}))
    assert sorted([*(tag.tag for tag in found), *(name for name, _ in left_out)]) == sorted(TAGS)
    assert dict(left_out)["latest"] == "a moving tag"
    assert dict(left_out)["1.3.0-dev.1"] == "track dev: not in `tracks`"


def test_patterns_and_tracks_narrow_the_choice():
    assert chosen(include=["1.2.*"], exclude=["*-cu*"]) == ["1.2.0.post1", "1.2.0", "1.2.0rc2"]
    assert chosen(tracks=["stable"]) == ["1.2.0-cu130", "1.2.0", "1.1.0"]
    assert chosen(tracks=["dev"]) == ["1.3.0-dev.1"]
    assert chosen(include="1.1.*") == ["1.1.0"]


def test_the_newest_releases_count_with_all_their_variants():
    assert chosen(newest=2) == ["1.2.0.post1", "1.2.0-cu130", "1.2.0"]


def test_nightlies_are_counted_beside_the_releases():
    nightlies = ("nightly-20260101-0a1b2c3", "nightly-20260102-1a2b3c4", "nightly-20260103-2a3b4c5")
    assert chosen((*nightlies, "1.0.0"), tracks=["stable", "nightly"], newest=2) == ["1.0.0", *nightlies[:0:-1]]


@given(st.permutations(TAGS), st.integers(min_value=1, max_value=6))
def test_the_order_in_which_a_registry_lists_its_tags_means_nothing(tags: list[str], newest: int):
    assert chosen(tuple(tags), newest=newest) == chosen(newest=newest)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"newest": 0}, "'newest' must be a whole number from 1 to 10000, found 0"),
        ({"newest": True}, "'newest' must be a whole number"),
        ({"include": []}, "'include' must be a list of texts"),
        ({"exclude": [1]}, "'exclude' must be a list of texts"),
        ({"tracks": ["weekly"]}, "'weekly' is no track; expected some of stable, rc"),
        ({"tracks": ["other"]}, "'other' is no track"),
        ({"platforms": ["amd64"]}, "'amd64' is no platform; expected OS/PROCESSOR"),
        ({"newst": 3}, "did you mean 'newest'"),
    ],
)
def test_wrong_options_say_what_was_expected(options: dict[str, object], told: str):
    with pytest.raises(UserError, match=told):
        read_options({"repository": "a/b", **options})


def test_without_options_it_is_this_machines_platform_and_the_finished_tracks():
    wanted = read_options({"repository": "a/b"})
    assert (wanted.platforms, wanted.tracks) == ((own_platform(),), (Track.STABLE, Track.RC, Track.POST))


def test_the_only_variant_of_64_bit_arm_is_not_spelled():
    assert read_options({"repository": "a/b", "platforms": ["linux/arm64/v8"]}).platforms == ("linux/arm64",)
