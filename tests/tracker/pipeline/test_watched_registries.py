"""What becomes of images: tags pushed again, moved back or deleted, waits that were asked for, platforms, contents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jobs.errors import TryLater
from jobs.protocols import PublishedBuild, SourceAnswer
from tests.tracker.pipeline.kit import REPEATS, Service
from tracker.errors import UserError
from tracker.pipeline.plan import plan
from tracker.pipeline.watch import GONE, Watched, ask_source, watch, watched_sources
from tracker.store import audit, catalog
from tracker.store.tables import BuildRow, ContainsRow, CursorRow, ReleaseRow, RunRow
from tracker.store.views.axes import place_inside
from tracker.store.views.builds import load_builds
from tracker.store.views.series import list_series, show_series

SCOPE = "registry.example.com/thing@"


class Registry:
    """A repository as the source sees it: tag -> digest."""

    def __init__(self, **tags: str) -> None:
        self.images = {tag.lstrip("v").replace("_", "."): digest for tag, digest in tags.items()}
        self.left_out: list[tuple[str, str]] = []
        self.unreadable: list[tuple[str, str]] = []
        self.more: dict[str, Any] = {}
        self.trouble: Exception | None = None
        self.asked = 0

    def list_builds(self) -> SourceAnswer:
        self.asked += 1
        if self.trouble:
            raise self.trouble
        builds = tuple(self.build(tag, digest) for tag, digest in self.images.items())
        return SourceAnswer(
            builds=builds,
            cursor=repr((builds, self.unreadable)),
            unreadable=tuple(self.unreadable),
            left_out=tuple(self.left_out),
            scope=SCOPE,
        )

    def build(self, tag: str, digest: str) -> PublishedBuild:
        given = {"platform": "linux/amd64", **self.more}
        return PublishedBuild(tag=tag, kind="image", digest=digest, location=f"{SCOPE}{digest}", **given)


@pytest.fixture
def look_at(make_service: Callable[..., Service]) -> Callable[..., Service]:
    def make(registry: Registry, **settings: Any) -> Service:
        service = make_service(**settings)
        service.source = registry  # type: ignore[assignment]
        service.look()
        return service

    return make


def standing(service: Service) -> dict[str, str]:
    """Return tag -> digest of the builds that are not superseded."""
    return {row.tag: row.digest for row in service.rows(BuildRow) if row.superseded_at is None}


def events(service: Service, kind: str) -> list[str]:
    with service.store.read() as session:
        return [row.subject for row in audit.latest(session) if row.event == kind]


def test_a_tag_pushed_again_is_a_new_build_of_the_same_release_and_measured_again(look_at):
    registry = Registry(v1_0_0="sha256:a")
    service = look_at(registry)
    service.measure()
    registry.images["1.0.0"] = "sha256:b"

    assert service.look() == REPEATS
    assert standing(service) == {"1.0.0": "sha256:b"}
    assert [row.identity for row in service.rows(ReleaseRow)] == ["1.0.0"]
    assert [(row.digest, row.replaces) for row in service.rows(BuildRow)] == [
        ("sha256:a", None),
        ("sha256:b", "sha256:a"),
    ]
    assert events(service, "build:pushed_again") == ["thing/1.0.0"]
    assert events(service, "build:seen") == ["thing/1.0.0"]


def test_measuring_what_was_pushed_again_is_a_choice(look_at):
    registry = Registry(v1_0_0="sha256:a")
    service = look_at(registry, measure_pushed_again=False)
    registry.images |= {"1.0.0": "sha256:b", "1.1.0": "sha256:c"}

    assert service.look() == REPEATS
    builds = {row.id: row.tag for row in service.rows(BuildRow)}
    assert [builds[run.build_id] for run in service.rows(RunRow)] == ["1.0.0"] * REPEATS + ["1.1.0"] * REPEATS
    assert standing(service)["1.0.0"] == "sha256:b"


def test_a_tag_that_is_moved_back_has_its_first_build_stand_again_without_a_new_run(look_at):
    registry = Registry(v1_0_0="sha256:a")
    service = look_at(registry)
    registry.images["1.0.0"] = "sha256:b"
    service.look()
    registry.images["1.0.0"] = "sha256:a"

    assert service.look() == 0
    assert standing(service) == {"1.0.0": "sha256:a"}
    assert events(service, "build:pushed_again") == ["thing/1.0.0"] * 2


def test_two_tags_of_one_release_do_not_take_turns(look_at):
    registry = Registry(v1_0_0="sha256:a")
    registry.images["1.0"] = "sha256:b"
    service = look_at(registry)
    first = standing(service)
    for digest in ("sha256:c", "sha256:d"):
        registry.images["1.1.0"] = digest
        service.look()

    assert {tag: digest for tag, digest in standing(service).items() if tag != "1.1.0"} == first == {"1.0": "sha256:b"}
    assert events(service, "build:pushed_again") == ["thing/1.1.0"]


def test_a_deleted_tag_is_withdrawn_and_one_that_comes_back_is_not(look_at):
    registry = Registry(v1_0_0="sha256:a", v1_1_0="sha256:b")
    service = look_at(registry)
    del registry.images["1.0.0"]
    service.look()
    assert {row.tag: row.yanked for row in service.rows(BuildRow)} == {"1.0.0": GONE, "1.1.0": None}
    assert events(service, "build:gone") == ["thing/1.0.0"]

    registry.images["1.0.0"] = "sha256:a"
    service.look()
    assert {row.tag: row.yanked for row in service.rows(BuildRow)} == {"1.0.0": None, "1.1.0": None}


@pytest.mark.parametrize("where", ["left_out", "unreadable"])
def test_what_is_still_named_in_any_way_was_not_deleted(look_at, where: str):
    registry = Registry(v1_0_0="sha256:a", v1_1_0="sha256:b")
    service = look_at(registry)
    del registry.images["1.0.0"]
    getattr(registry, where).append(("1.0.0", "a reason"))
    service.look()

    assert {row.yanked for row in service.rows(BuildRow)} == {None}


def test_builds_from_elsewhere_are_not_withdrawn(look_at):
    registry = Registry(v1_0_0="sha256:a")
    service = look_at(registry)
    other = PublishedBuild(
        tag="0.9.0", kind="image", digest="sha256:o", platform="any", location="registry.example.com/thing:0.9.0"
    )
    with service.store.write() as session:
        tag = catalog.read_tag("0.9.0", "thing")
        release, _ = catalog.save_release(session, 1, tag, now=service.clock.now(), historic=False)
        catalog.save_build(session, release, other, "", now=service.clock.now())
    registry.images["1.1.0"] = "sha256:b"
    service.look()

    assert {row.yanked for row in service.rows(BuildRow)} == {None}


def test_one_image_that_becomes_two_releases_is_measured_as_each(look_at):
    service = look_at(Registry(v1_0_0rc1="sha256:a", v1_0_0="sha256:a"), sources=[])
    service.write_suite(service_suite(service).replace("[releases]", '[releases]\ntracks = ["stable", "rc"]'))
    service.look()

    assert len(service.rows(RunRow)) == 2 * REPEATS
    assert plan(service.context, "thing") == 0


def service_suite(service: Service) -> str:
    return (service.suites / "thing.toml").read_text()


def test_images_of_several_platforms_are_each_measured_and_a_misfit_hides_none(look_at):
    registry = Registry(v1_0_0="sha256:a")
    service = look_at(registry)
    registry.images["1.0.0"] = "sha256:b"
    registry.more = {"platform": "linux/arm64"}
    assert service.look() == REPEATS

    registry.images["1.0.0"] = "sha256:c"
    registry.more = {"platform": "linux/s390x", "misfit": "an image for linux/s390x"}
    assert service.look() == 0
    assert plan(service.context, "thing") == 0


def test_a_source_that_asks_to_wait_is_left_alone_so_long(look_at):
    registry = Registry(v1_0_0="sha256:a")
    service = look_at(registry)
    service.clock.advance(4000)
    registry.trouble = TryLater("too many requests", after_s=600)
    watch(service.context, "thing")
    asked = registry.asked

    for _ in range(5):
        service.clock.advance(100)
        watch(service.context, "thing")
    assert registry.asked == asked
    assert service.rows(CursorRow)[0].ask_after is not None

    registry.trouble = None
    service.clock.advance(101)
    watch(service.context, "thing")
    assert registry.asked == asked + 1
    assert service.rows(CursorRow)[0].ask_after is None


def test_a_person_who_asks_does_not_wait(look_at):
    registry = Registry(v1_0_0="sha256:a")
    service = look_at(registry)
    registry.trouble = TryLater("too many requests", after_s=600)
    with pytest.raises(TryLater):
        watch(service.context, "thing", force=True)
    registry.trouble = None
    registry.images["1.1.0"] = "sha256:b"
    assert watch(service.context, "thing", force=True) == 1


def test_what_is_inside_an_image_is_kept_but_not_the_component_itself(look_at):
    registry = Registry(v1_0_0="sha256:a")
    registry.more = {"contains": {"thing": "1.0.0", "cuda": "13.0.1"}, "facts": {"CUDA_VERSION": "13.0.1"}}
    service = look_at(registry)

    assert [(row.component, row.version) for row in service.rows(ContainsRow)] == [("cuda", "13.0.1")]
    with service.store.read() as session:
        (build,) = load_builds(session, 1)
    assert (build.contains, build.facts) == ({"cuda": "13.0.1"}, {"CUDA_VERSION": "13.0.1"})


def test_one_run_stands_on_the_axis_of_what_is_inside_too(look_at):
    registry = Registry()
    inside = {"sha256:a": "10.9.0", "sha256:b": "10.14.1", "sha256:c": "10.9.0", "sha256:d": ""}
    registry.build = lambda tag, digest: PublishedBuild(  # type: ignore[method-assign]
        tag=tag,
        kind="image",
        digest=digest,
        platform="linux/amd64",
        location=f"{SCOPE}{digest}",
        contains={"tensorrt": inside[digest]} if inside[digest] else {},
    )
    registry.images = {"1.0.0": "sha256:a", "1.1.0": "sha256:b", "1.2.0": "sha256:c", "1.3.0": "sha256:d"}
    service = look_at(registry)
    service.levels = {"1.0.0": 10.0, "1.1.0": 20.0, "1.2.0": 12.0, "1.3.0": 30.0}
    service.measure()
    service.judge()

    with service.store.read() as session:
        gated = next(item for item in list_series(session, gated=True).items if item.labels["scenario"] == "prefill")
        detail = show_series(session, gated.fingerprint)
        assert detail is not None
        places = place_inside(session, detail, "tensorrt")
        with pytest.raises(UserError, match="which 'cuda' is inside; what they say: tensorrt"):
            place_inside(session, detail, "cuda")
    found = [(place.version, [release.identity for release in place.releases], place.n) for place in places]
    assert found == [
        ("10.9.0", ["1.0.0", "1.2.0"], 2 * REPEATS),
        ("10.14.1", ["1.1.0"], REPEATS),
        (None, ["1.3.0"], REPEATS),
    ]
    assert [round(place.level) for place in places] == [11, 20, 30]
    assert places[0].low < 10.1 < 11.9 < places[0].high


def test_sources_of_the_settings_are_asked_without_a_suite(look_at):
    options = {"component": "other", "kind": "oci_registry", "repository": "registry.example.com/thing"}
    registry = Registry(v1_0_0="sha256:a")
    service = look_at(registry, sources=[options])

    (source,) = watched_sources(service.context)
    assert source == Watched(
        component="other", kind="oci_registry", options={"repository": "registry.example.com/thing"}
    )
    assert source.shown == "other: oci_registry registry.example.com/thing"
    look = ask_source(service.context, source)
    assert (look.new_builds, look.builds) == (1, 1)
    assert ask_source(service.context, source).builds == 0  # not due
    assert events(service, "build:seen") == ["other/1.0.0", "thing/1.0.0"]


def test_the_same_source_in_a_suite_and_in_the_settings_is_one(service: Service):
    options = {"path": "/nowhere"}
    watch(service.context, "thing")
    ask_source(service.context, Watched(component="thing", kind="folder", options=options))
    assert service.source.asked == 1
