"""The source against a real registry: open, with a password, and with tokens."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.errors import UserError
from jobs.protocols import SourceAnswer
from jobs.sources.oci_registry import Login, RegistryAccess, create
from tests.fakes.registry import Image, Registry, make_image, serve_registry
from tests.fakes.registry_tokens import TokenServer, serve_tokens
from tests.patience import patient

pytestmark = [pytest.mark.real("container registry"), pytest.mark.usefixtures("no_logins")]
REPOSITORY = "bench/runtime"
ENV = {"CUDA_VERSION": "13.0.1", "TENSORRT_VERSION": "10.14.1.48", "PATH": "/bin"}


def image(folder: Path, version: str, *, mark: str = "", platform: str = "linux/amd64") -> Image:
    """Return a small image that says which version it is; a mark makes it another one."""
    name = f"{version}{mark}-{platform.partition('/')[2]}"
    files = {"etc/version": version + mark}
    return make_image(folder / "images", files, name=name, env=ENV, platform=platform, shell=False)


def look(registry: Registry, login: Login | None = None) -> SourceAnswer:
    access = RegistryAccess(host=registry.address, login=login)
    options = {"repository": registry.reference(REPOSITORY, "x").rpartition(":")[0], "platforms": ["linux/amd64"]}
    return create(options, find_access={access.host: access}.get).list_builds()


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with serve_registry(tmp_path / "registry") as running:
        yield running


def test_images_are_found_with_digest_platform_time_and_what_is_inside(registry: Registry, tmp_path: Path):
    digest = registry.push(image(tmp_path, "1.0.0"), REPOSITORY, "1.0.0")

    (build,) = look(registry).builds
    assert (build.digest, build.platform, build.misfit) == (digest, "linux/amd64", None)
    assert build.location == registry.reference(REPOSITORY, digest)
    assert build.published_at is not None
    assert build.published_at.isoformat() == "2026-01-02T03:04:05+00:00"
    assert build.contains == {"cuda": "13.0.1", "tensorrt": "10.14.1.48"}


def test_the_platform_within_an_index_is_what_an_engine_would_pull(registry: Registry, tmp_path: Path):
    amd64, arm64 = image(tmp_path, "1.0.0"), image(tmp_path, "1.0.0", platform="linux/arm64")
    single = registry.push(amd64, "bench/alone", "1")
    index = registry.push_index(REPOSITORY, "1.0.0", [amd64, arm64])

    (build,) = look(registry).builds
    assert (build.digest, build.facts["index_digest"]) == (single, index)


def test_tags_come_in_release_order_whatever_the_registry_says(registry: Registry, tmp_path: Path):
    for version in ("1.10.0", "1.2.0", "1.9.1", "1.2.0rc1"):
        registry.push(image(tmp_path, version), REPOSITORY, version)
    registry.retag(REPOSITORY, "1.10.0", "latest")

    answer = look(registry)
    assert [build.tag for build in answer.builds] == ["1.2.0rc1", "1.2.0", "1.9.1", "1.10.0"]
    assert answer.left_out == (("latest", "a moving tag"),)


def test_a_tag_pushed_again_is_another_build_and_a_moved_latest_is_none(registry: Registry, tmp_path: Path):
    registry.push(image(tmp_path, "1.0.0"), REPOSITORY, "1.0.0")
    registry.push(image(tmp_path, "1.0.0"), REPOSITORY, "latest")
    before = look(registry)
    registry.push(image(tmp_path, "1.0.0", mark="b"), REPOSITORY, "latest")
    assert look(registry).cursor == before.cursor

    again = registry.push(image(tmp_path, "1.0.0", mark="b"), REPOSITORY, "1.0.0")
    after = look(registry)
    assert [build.digest for build in after.builds] == [again] != [build.digest for build in before.builds]


def test_a_deleted_tag_is_no_longer_listed_and_an_empty_repository_is_an_error(registry: Registry, tmp_path: Path):
    registry.push(image(tmp_path, "1.0.0"), REPOSITORY, "1.0.0")
    registry.push(image(tmp_path, "1.1.0"), REPOSITORY, "1.1.0")
    registry.delete(REPOSITORY, "1.1.0")
    assert [build.tag for build in look(registry).builds] == ["1.0.0"]

    registry.delete(REPOSITORY, "1.0.0")
    with pytest.raises(UserError, match=r"has no tags|no repository"):
        look(registry)


def test_an_unknown_repository_is_named(registry: Registry):
    with pytest.raises(UserError, match=f"no repository '{REPOSITORY}' at 127"):
        look(registry)


def test_a_password_is_asked_for_and_checked(tmp_path: Path):
    user = ("tester", "s3cret-word")
    with serve_registry(tmp_path / "registry", user=user) as registry:
        registry.push(image(tmp_path, "1.0.0"), REPOSITORY, "1.0.0")
        with pytest.raises(UserError, match="asks for a user name and a password"):
            look(registry)
        with pytest.raises(UserError, match="the login 'tester' was refused") as error:
            look(registry, Login(username="tester", password="wrong-word"))
        assert "wrong-word" not in str(error.value)
        assert len(look(registry, Login(username=user[0], password=user[1])).builds) == 1


@pytest.fixture
def tokens(tmp_path: Path) -> Iterator[TokenServer]:
    with serve_tokens(tmp_path / "tokens") as running:
        yield running


def test_a_token_is_fetched_as_anybody_or_with_a_login(tokens: TokenServer, tmp_path: Path):
    with serve_registry(tmp_path / "registry", tokens=tokens) as registry:
        registry.push(image(tmp_path, "1.0.0"), REPOSITORY, "1.0.0")
        with pytest.raises(UserError, match=r"may not be read \(HTTP 401\); it was asked without a login"):
            look(registry)
        with pytest.raises(UserError, match="the login 'tester' was refused"):
            look(registry, Login(username="tester", password="wrong-word"))
        login = Login(username=tokens.user[0], password=tokens.user[1])
        assert len(look(registry, login).builds) == 1

        tokens.public.add(REPOSITORY)
        assert len(look(registry).builds) == 1
        assert tokens.asked[-1] == (
            "/token?service=tests-registry&scope=repository%3Abench%2Fruntime%3Apull",
            "",
        )


def test_fifty_tags_are_looked_at_again_in_a_moment(registry: Registry, tmp_path: Path):
    registry.push(image(tmp_path, "1.0.0"), REPOSITORY, "1.0.0")
    for minor in range(1, 50):
        registry.retag(REPOSITORY, "1.0.0", f"1.{minor}.0")
    source = create({"repository": registry.reference(REPOSITORY, "x").rpartition(":")[0]}, cache=tmp_path / "cache")
    first, started = source.list_builds(), time.monotonic()

    assert source.list_builds() == first
    assert len(first.builds) == 50
    assert time.monotonic() - started < patient(20)
