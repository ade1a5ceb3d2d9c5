"""A registry on loopback, well-behaved and not: the whole truth, or a plain error."""

from __future__ import annotations

import gzip
import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import httpx
import pytest

from jobs.errors import JobsError, TryLater, UserError
from jobs.protocols import PublishedBuild, SourceAnswer
from jobs.sources import _registry_tags
from jobs.sources._registry_client import MIB
from jobs.sources.oci_registry import Limits, Login, RegistryAccess, create
from jobs.waiting import read_retry_after
from tests.fakes.odd_registry import CONFIG, MANIFEST, REPOSITORY, OddRegistry, Reply, serve_odd_registry

LIST = f"GET /v2/{REPOSITORY}/tags/list"
HEAD_100 = f"HEAD /v2/{REPOSITORY}/manifests/1.0.0"


def look(registry: OddRegistry, *, cache: Path | None = None, **options: object) -> SourceAnswer:
    return create({"repository": registry.name, "platforms": ["linux/amd64"], **options}, cache=cache).list_builds()


def tags_of(answer: SourceAnswer) -> list[str]:
    return [build.tag for build in answer.builds]


def only(answer: SourceAnswer) -> PublishedBuild:
    (build,) = answer.builds
    return build


# --- what is read ---


def test_an_image_is_listed_with_all_that_it_says_of_itself(odd_registry: OddRegistry):
    env = ["CUDA_VERSION=13.0.1", "SECRET=hush"]
    digest = odd_registry.add_image("1.0.0-cu130", env=env, labels={"org.opencontainers.image.revision": "0a1b2c3"})

    build = only(look(odd_registry))
    assert build == PublishedBuild(
        tag="1.0.0-cu130",
        kind="image",
        digest=digest,
        platform="linux/amd64",
        location=f"{odd_registry.name}@{digest}",
        published_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        size_bytes=build.size_bytes,
        facts={"CUDA_VERSION": "13.0.1", "org.opencontainers.image.revision": "0a1b2c3"},
        contains={"cuda": "13.0.1"},
    )
    assert build.size_bytes
    assert build.size_bytes > 1000


def test_of_an_index_the_wanted_platforms_are_taken_and_both_digests_kept(odd_registry: OddRegistry):
    amd64 = odd_registry.add_manifest(mark="x")
    arm64 = odd_registry.add_manifest(mark="y", platform="linux/arm64")
    index = odd_registry.add_index("1.0.0", {"linux/amd64": amd64, "linux/arm64": arm64})

    build = only(look(odd_registry))
    assert (build.digest, build.platform, build.facts["index_digest"]) == (amd64, "linux/amd64", index)
    both = look(odd_registry, platforms=["linux/amd64", "linux/arm64"])
    assert {build.platform: build.digest for build in both.builds} == {"linux/amd64": amd64, "linux/arm64": arm64}


def test_a_release_for_other_platforms_stays_in_the_list_with_its_misfit(odd_registry: OddRegistry):
    odd_registry.add_image("1.0.0", platform="linux/arm64")
    odd_registry.add_index("1.1.0", {"linux/arm64": odd_registry.add_manifest(mark="y", platform="linux/arm64")})

    answer = look(odd_registry)
    assert [build.misfit for build in answer.builds] == ["an image for linux/arm64, wanted for linux/amd64"] * 2
    assert [build.misfit for build in look(odd_registry, platforms=["linux/arm64"]).builds] == [None, None]


def test_an_index_that_names_the_wrong_platform_is_seen_through(odd_registry: OddRegistry):
    odd_registry.add_index("1.0.0", {"linux/amd64": odd_registry.add_manifest(platform="linux/arm64")})
    assert only(look(odd_registry)).misfit == "an image for linux/arm64, wanted for linux/amd64"


def test_a_tag_pushed_again_has_another_digest_and_moving_latest_changes_nothing(odd_registry: OddRegistry):
    first = odd_registry.add_image("1.0.0", mark="a")
    odd_registry.tags["latest"] = first
    before = look(odd_registry)
    odd_registry.tags["latest"] = odd_registry.add_manifest(mark="b")
    assert look(odd_registry).cursor == before.cursor
    assert before.left_out == (("latest", "a moving tag"),)

    again = odd_registry.add_image("1.0.0", mark="b")
    after = look(odd_registry)
    assert only(after).digest == again != first
    assert after.cursor != before.cursor


def test_a_tag_is_asked_for_with_all_four_media_types(odd_registry: OddRegistry):
    odd_registry.add_image("1.0.0")
    look(odd_registry)
    (request,) = [request for request in odd_registry.requests if request.method == "HEAD"]
    assert [part.strip() for part in request.headers["accept"].split(",")] == [
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    ]


def test_tags_that_are_left_out_cost_no_request(odd_registry: OddRegistry):
    for tag in ("1.0.0", "1.1.0", "1.2.0", "latest", "nightly-20260101-0a1b2c3", "1.2.0-rocm700"):
        odd_registry.add_image(tag)
    assert tags_of(look(odd_registry, newest=1, exclude=["*rocm*"])) == ["1.2.0"]
    assert odd_registry.asked("HEAD", "manifests/") == [f"/v2/{REPOSITORY}/manifests/1.2.0"]


@pytest.mark.parametrize("status", [405, 501, 200])
def test_a_registry_that_does_not_answer_head_is_asked_for_the_manifest(odd_registry: OddRegistry, status: int):
    digest = odd_registry.add_image("1.0.0")
    odd_registry.replies[HEAD_100] = Reply(status=status)
    assert only(look(odd_registry)).digest == digest


# --- what is fetched again ---


def test_what_is_known_is_not_fetched_again(odd_registry: OddRegistry, tmp_path: Path):
    odd_registry.add_image("1.0.0")
    first = look(odd_registry, cache=tmp_path / "cache")
    odd_registry.requests.clear()

    assert look(odd_registry, cache=tmp_path / "cache") == first
    assert [request.method for request in odd_registry.requests] == ["GET", "HEAD"]


def test_a_damaged_cache_is_not_believed(odd_registry: OddRegistry, tmp_path: Path):
    odd_registry.add_image("1.0.0")
    odd_registry.etag = '"one"'
    cache = tmp_path / "cache"
    first = look(odd_registry, cache=cache)
    for file in cache.iterdir():
        file.write_bytes(b'{"etag": 3}')
    assert look(odd_registry, cache=cache) == first


def test_a_cache_that_cannot_be_written_only_costs_time(odd_registry: OddRegistry, tmp_path: Path):
    odd_registry.add_image("1.0.0")
    (tmp_path / "file").write_text("in the way")
    assert tags_of(look(odd_registry, cache=tmp_path / "file" / "cache")) == ["1.0.0"]


def test_an_unchanged_list_of_tags_is_not_sent_again(odd_registry: OddRegistry, tmp_path: Path):
    odd_registry.add_image("1.0.0")
    odd_registry.etag = '"one"'
    first = look(odd_registry, cache=tmp_path)
    odd_registry.tags["1.1.0"] = odd_registry.tags["1.0.0"]
    assert look(odd_registry, cache=tmp_path) == first  # as the registry says that nothing changed
    odd_registry.etag = '"two"'
    assert tags_of(look(odd_registry, cache=tmp_path)) == ["1.0.0", "1.1.0"]


@pytest.mark.parametrize("etag", ['"\xe9"', "one", '"one" two', '"' + "x" * 2000 + '"'])
def test_a_mark_of_a_list_that_cannot_be_sent_back_only_costs_time(
    odd_registry: OddRegistry, tmp_path: Path, etag: str
):
    odd_registry.add_image("1.0.0")
    odd_registry.etag = etag
    first = look(odd_registry, cache=tmp_path)
    assert look(odd_registry, cache=tmp_path) == first
    assert all("if-none-match" not in request.headers for request in odd_registry.requests)


def test_a_list_that_did_not_change_since_never_is_not_believed(odd_registry: OddRegistry):
    odd_registry.replies[LIST] = Reply(status=304)
    with pytest.raises(TryLater, match="nothing changed, but nothing is known yet"):
        look(odd_registry)


# --- pages ---


@pytest.mark.parametrize(
    "link",
    [
        lambda query: f"/v2/{REPOSITORY}/tags/list?{query}",
        lambda query: f"?{query}",
        lambda query: f"http://other.example.com:1/v2/{REPOSITORY}/tags/list?{query}",
        lambda query: f"https://inside.example.com/proxied/v2/elsewhere/tags/list?{query}",
    ],
    ids=["absolute path", "query alone", "another host", "another path"],
)
def test_a_list_goes_on_where_the_link_says_and_always_at_this_registry(
    odd_registry: OddRegistry, link: Callable[[str], str]
):
    for minor in range(7):
        odd_registry.add_image(f"1.{minor}.0")
    odd_registry.page_tags, odd_registry.link = 2, link
    assert tags_of(look(odd_registry)) == [f"1.{minor}.0" for minor in range(7)]
    assert len(odd_registry.asked("GET", "tags/list")) == 4


def test_a_link_that_is_no_next_page_ends_the_list(odd_registry: OddRegistry):
    odd_registry.add_image("1.0.0")
    body = json.dumps({"tags": ["1.0.0"]}).encode()
    link = '</v2/x/tags/list?last=1>; rel="prev", <https://[bad?n=1>; rel="next", nonsense'
    odd_registry.replies[LIST] = Reply(headers={"Link": link}, body=body)
    assert tags_of(look(odd_registry)) == ["1.0.0"]


@pytest.mark.parametrize("steps", [itertools.repeat(0), itertools.count()], ids=["the same query", "ever new queries"])
def test_a_list_that_goes_in_a_circle_is_left(odd_registry: OddRegistry, steps: Iterator[int]):
    for minor in range(3):
        odd_registry.add_image(f"1.{minor}.0")
    odd_registry.page_tags, odd_registry.link = 1, lambda query: f"?last=0&step={next(steps)}"
    with pytest.raises(TryLater, match="goes in a circle"):
        look(odd_registry)
    assert len(odd_registry.asked("GET", "tags/list")) < 10


def test_a_list_without_an_end_is_left(odd_registry: OddRegistry, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_registry_tags, "MOST_PAGES", 5)
    for minor in range(20):
        odd_registry.add_image(f"1.{minor}.0")
    odd_registry.page_tags = 1
    with pytest.raises(TryLater, match="has no end: 5 tags on 5 pages"):
        look(odd_registry)


# --- lies about one tag ---


def lie(registry: OddRegistry, digest: str, body: bytes) -> None:
    """Have a content be another than its digest says."""
    registry.contents[digest] = (body, registry.contents[digest][1])


def config_of(registry: OddRegistry, tag: str) -> str:
    return str(json.loads(registry.contents[registry.tags[tag]][0])["config"]["digest"])


def spoil_manifest(registry: OddRegistry) -> None:
    lie(registry, registry.tags["1.1.0"], b'{"schemaVersion": 2}')


def spoil_config(registry: OddRegistry) -> None:
    lie(registry, config_of(registry, "1.1.0"), b"{}")


def flood_config(registry: OddRegistry) -> None:
    lie(registry, config_of(registry, "1.1.0"), b" " * (9 * MIB))


def lose_config(registry: OddRegistry) -> None:
    del registry.contents[config_of(registry, "1.1.0")]


def name_nothing(registry: OddRegistry) -> None:
    registry.tags["1.1.0"] = f"sha256:{'0' * 64}"


def name_a_chart(registry: OddRegistry) -> None:
    chart = {"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": f"sha256:{'0' * 64}", "size": 2}
    registry.tags["1.1.0"] = registry.keep({"schemaVersion": 2, "config": chart, "layers": []}, MANIFEST)


def nest_an_index(registry: OddRegistry) -> None:
    inner = registry.add_index("1.1.0", {"linux/amd64": registry.tags["1.1.0"]})
    registry.add_index("1.1.0", {"linux/amd64": inner})


LIES = {
    spoil_manifest: "its manifest is not what its digest says",
    spoil_config: "its config is not what its digest says",
    flood_config: "its config: the answer is longer than 8 MiB",
    lose_config: "its config is not in the registry",
    name_nothing: "the registry has nothing under it",
    name_a_chart: "not a container image: its config is application/vnd.cncf.helm.config",
    nest_an_index: "names another index",
}


@pytest.mark.parametrize(("spoil", "told"), LIES.items(), ids=[one.__name__ for one in LIES])
def test_one_tag_that_lies_is_named_and_hides_nothing_else(
    odd_registry: OddRegistry, spoil: Callable[[OddRegistry], None], told: str
):
    odd_registry.add_image("1.0.0")
    odd_registry.add_image("1.1.0")
    spoil(odd_registry)
    answer = look(odd_registry)
    assert tags_of(answer) == ["1.0.0"]
    assert [name for name, _ in answer.unreadable] == ["1.1.0"]
    assert told in answer.unreadable[0][1]


@pytest.mark.parametrize("spoil", LIES, ids=[one.__name__ for one in LIES])
def test_a_registry_of_which_every_tag_lies_is_not_believed(
    odd_registry: OddRegistry, spoil: Callable[[OddRegistry], None]
):
    odd_registry.add_image("1.1.0")
    spoil(odd_registry)
    with pytest.raises(TryLater, match=r"none of 1 tags can be used; 1\.1\.0: "):
        look(odd_registry)


def test_a_digest_that_is_none_is_not_used(odd_registry: OddRegistry):
    digest = odd_registry.add_image("1.0.0")
    odd_registry.replies[HEAD_100] = Reply(headers={"Docker-Content-Digest": "../../etc/passwd"})
    assert only(look(odd_registry)).digest == digest


# --- trouble with the registry itself ---


def flood() -> Iterator[bytes]:
    for _ in range(500):
        yield b" " * MIB


TROUBLES: Mapping[str, tuple[Reply, type[JobsError], str]] = {
    "html": (Reply(body=b"<html>login</html>"), TryLater, "a login page, or an answer that broke off"),
    "cut": (Reply(body=b'{"tags": ["1.0'), TryLater, "expected the tags"),
    "other json": (Reply(body=b'{"tags": {"1.0.0": 1}}'), TryLater, "expected the tags"),
    "other tags": (Reply(body=b'{"tags": [1, 2]}'), TryLater, "expected the tags"),
    "deep": (Reply(body=b"[" * 200_000), TryLater, "expected the tags"),
    "empty": (Reply(body=b'{"tags": null}'), UserError, "has no tags"),
    "missing": (Reply(status=404), UserError, f"no repository '{REPOSITORY}' at 127"),
    "denied": (Reply(status=403), UserError, r"may not be read \(HTTP 403\); it was asked without a login"),
    "odd status": (Reply(status=418), UserError, "is this the address of a container registry"),
    "broken": (Reply(status=500), TryLater, "answered HTTP 500"),
    "away": (Reply(status=503, headers={"Retry-After": "7"}), TryLater, "HTTP 503; it asks to wait 7 s"),
    "too many": (Reply(status=429, headers={"Retry-After": "90"}), TryLater, "too many requests; it asks to wait 90 s"),
    "flood": (Reply(body=flood()), TryLater, "longer than 16 MiB"),
    "cut off": (Reply(headers={"Content-Length": "1000"}, body=b"{"), TryLater, "cannot be reached"),
    "plain redirect": (Reply(status=302, headers={"Location": "http://other.example.com/"}), TryLater, "not followed"),
    "redirect to a file": (Reply(status=302, headers={"Location": "file:///etc/passwd"}), TryLater, "not followed"),
    "redirect to nowhere": (Reply(status=302), TryLater, "not followed"),
    "redirect to nonsense": (Reply(status=302, headers={"Location": "https://[x"}), TryLater, "not followed"),
    "redirect circle": (Reply(status=302, headers={"Location": "?again"}), TryLater, "from address to address"),
    "not modified": (Reply(status=304), TryLater, "nothing is known yet"),
    "login of no kind": (Reply(status=401), UserError, r"found other ways in \(none\)"),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_registry_in_trouble_is_one_plain_error(odd_registry: OddRegistry, trouble: str):
    odd_registry.add_image("1.0.0")
    reply, kind, told = TROUBLES[trouble]
    if trouble == "cut off":
        reply.headers["Connection"] = "close"
    odd_registry.replies[LIST] = reply
    with pytest.raises(kind, match=told) as error:
        look(odd_registry)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("trouble", ["broken", "too many", "denied", "plain redirect"])
@pytest.mark.parametrize("where", [HEAD_100, "GET config"])
def test_trouble_in_the_middle_is_an_error_and_never_half_a_list(odd_registry: OddRegistry, trouble: str, where: str):
    odd_registry.add_image("1.0.0")
    odd_registry.add_image("1.1.0")
    reply, kind, told = TROUBLES[trouble]
    path = where if where == HEAD_100 else f"GET /v2/{REPOSITORY}/blobs/{config_of(odd_registry, '1.0.0')}"
    odd_registry.replies[path] = reply
    with pytest.raises(kind, match=told):
        look(odd_registry)


def test_what_was_fetched_before_a_rate_limit_is_not_fetched_again(odd_registry: OddRegistry, tmp_path: Path):
    odd_registry.add_image("1.0.0")
    odd_registry.add_image("1.1.0")
    odd_registry.replies[HEAD_100] = Reply(status=429, headers={"Retry-After": "30"}, times=1)
    with pytest.raises(TryLater) as error:
        look(odd_registry, cache=tmp_path)
    assert error.value.after_s == 30

    odd_registry.requests.clear()
    assert tags_of(look(odd_registry, cache=tmp_path)) == ["1.0.0", "1.1.0"]
    assert len(odd_registry.asked("GET", "manifests/")) == 1


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("0", 0, 0), ("15", 15, 15), ("999999999", 86_400, 86_400), ("Thu, 01 Jan 2026 00:00:00 GMT", 0, 0)],
)
def test_retry_after_is_a_number_of_seconds_a_day_at_most(text: str, low: float, high: float):
    found = read_retry_after(text)
    assert found is not None
    assert low <= found <= high


def test_retry_after_may_be_a_time_or_say_nothing():
    soon = read_retry_after(format_datetime(datetime.now(UTC) + timedelta(seconds=120), usegmt=True))
    assert soon is not None
    assert 100 < soon <= 120
    assert [read_retry_after(text) for text in ("", "soon", "-5", "1e3")] == [None] * 4


def test_a_registry_that_falls_silent_is_not_waited_for(odd_registry: OddRegistry):
    over = threading.Event()

    def drip() -> Iterator[bytes]:
        yield b" "
        over.wait(20)

    odd_registry.replies[LIST] = Reply(body=drip())
    source = create({"repository": odd_registry.name}, limits=Limits(silence_s=0.2))
    try:
        with pytest.raises(TryLater, match="no answer within 0 s"):
            source.list_builds()
    finally:
        over.set()


def test_an_answer_that_never_ends_is_left(odd_registry: OddRegistry):
    def drip() -> Iterator[bytes]:
        while True:
            yield b" "

    odd_registry.replies[LIST] = Reply(body=drip())
    source = create({"repository": odd_registry.name}, limits=Limits(answer_s=0.1))
    with pytest.raises(TryLater, match="was not complete after 0 s"):
        source.list_builds()


def test_a_look_has_an_end_however_many_tags_there_are(odd_registry: OddRegistry):
    odd_registry.add_image("1.0.0")
    source = create({"repository": odd_registry.name}, limits=Limits(look_s=-1.0))
    with pytest.raises(TryLater, match="one look took longer"):
        source.list_builds()


def test_a_small_answer_that_unpacks_to_a_flood_is_left(odd_registry: OddRegistry):
    bomb = gzip.compress(b" " * (17 * MIB))
    odd_registry.replies[LIST] = Reply(headers={"Content-Encoding": "gzip"}, body=bomb)
    with pytest.raises(TryLater, match="longer than 16 MiB"):
        look(odd_registry)


def test_nobody_there_is_an_error_to_try_again(no_logins: Path):
    with serve_odd_registry() as registry:
        name = registry.name
    with pytest.raises(TryLater, match=r"registry 127\.0\.0\.1:[0-9]+: cannot be reached"):
        create({"repository": name}).list_builds()


# --- logins ---

KEY = "hush-hush"
BASIC = Reply(status=401, headers={"WWW-Authenticate": 'Basic realm="r"'})


def guarded(registry: OddRegistry, **more: object) -> SourceAnswer:
    access = RegistryAccess(host=registry.address, login=Login(username="me", password=KEY))
    return create({"repository": registry.name}, find_access={access.host: access}.get, **more).list_builds()  # type: ignore[arg-type]


def test_a_login_is_sent_only_once_it_is_asked_for(odd_registry: OddRegistry):
    odd_registry.add_image("1.0.0")
    guarded(odd_registry)
    assert not any("authorization" in request.headers for request in odd_registry.requests)

    odd_registry.replies[LIST] = Reply(status=401, headers=BASIC.headers, times=1)
    odd_registry.requests.clear()
    guarded(odd_registry)
    sent = ["authorization" in request.headers for request in odd_registry.requests]
    assert sent == [False] + [True] * (len(sent) - 1)


def test_a_token_that_ran_out_is_asked_for_again(odd_registry: OddRegistry):
    odd_registry.add_image("1.0.0")
    challenge = {"WWW-Authenticate": f'Bearer realm="http://{odd_registry.address}/token"'}
    odd_registry.replies["GET /token"] = Reply(body=b'{"token": "abc"}')
    for path in (LIST, HEAD_100):
        odd_registry.replies[path] = Reply(status=401, headers=challenge, times=1)
    assert tags_of(guarded(odd_registry)) == ["1.0.0"]
    assert len(odd_registry.asked("GET", "/token")) == 2


@pytest.mark.parametrize("login", [None, Login(username="$oauthtoken", password=KEY)], ids=["anybody", "an API key"])
def test_a_token_is_got_where_the_realm_holds_the_scope_and_no_service(odd_registry: OddRegistry, login: Login | None):
    odd_registry.add_image("1.0.0")
    realm = f"http://{odd_registry.address}/proxy_auth?scope=repository:{REPOSITORY}:pull"
    odd_registry.replies[LIST] = Reply(status=401, headers={"WWW-Authenticate": f'Bearer realm="{realm}"'}, times=1)
    odd_registry.replies["GET /proxy_auth"] = Reply(body=b'{"token": "abc", "expires_in": 600}')

    access = RegistryAccess(host=odd_registry.address, login=login)
    answer = create({"repository": odd_registry.name}, find_access=lambda host: access).list_builds()
    assert tags_of(answer) == ["1.0.0"]
    (asked,) = [request for request in odd_registry.requests if request.path.startswith("/proxy_auth")]
    assert asked.path == "/proxy_auth?scope=repository%3Abench%2Fruntime%3Apull"
    assert asked.headers.get("authorization") == (login.header if login else None)
    assert odd_registry.requests[-1].headers["authorization"] == "Bearer abc"


def test_a_login_that_is_refused_is_named_and_its_password_is_not(odd_registry: OddRegistry):
    echo = {"WWW-Authenticate": f'Basic realm="{KEY}"'}
    odd_registry.replies[LIST] = Reply(status=401, headers=echo, body=KEY.encode())
    with pytest.raises(UserError, match="the login 'me' was refused") as error:
        guarded(odd_registry)
    assert KEY not in str(error.value)
    assert error.value.__cause__ is None
    assert len(odd_registry.requests) == 2


@pytest.mark.parametrize(
    ("reply", "kind", "told"),
    [
        (Reply(status=401), UserError, "the login 'me' was refused"),
        (Reply(status=429, headers={"Retry-After": "5"}), TryLater, "it asks to wait 5 s"),
        (Reply(body=flood()), TryLater, "its token: the answer is longer"),
        (Reply(body=b"<html>"), TryLater, "expected a token as JSON"),
        (Reply(status=302, headers={"Location": "/elsewhere"}), TryLater, "answered HTTP 302"),
    ],
)
def test_a_token_server_in_trouble_is_one_plain_error(
    odd_registry: OddRegistry, reply: Reply, kind: type[JobsError], told: str
):
    challenge = {"WWW-Authenticate": f'Bearer realm="http://{odd_registry.address}/token"'}
    odd_registry.replies |= {LIST: Reply(status=401, headers=challenge), "GET /token": reply}
    with pytest.raises(kind, match=told) as error:
        guarded(odd_registry)
    assert KEY not in str(error.value)


def test_a_login_does_not_go_along_with_a_redirect(odd_registry: OddRegistry):
    odd_registry.add_image("1.0.0")
    digest = config_of(odd_registry, "1.0.0")
    with serve_odd_registry() as store:
        store.tags["x"] = store.keep(odd_registry.contents[digest][0], CONFIG)
        target = f"http://{store.address}/v2/{REPOSITORY}/blobs/{digest}?signature=abc"
        path = f"GET /v2/{REPOSITORY}/blobs/{digest}"
        odd_registry.replies |= {LIST: Reply(status=401, headers=BASIC.headers, times=1)}
        odd_registry.replies[path] = Reply(status=307, headers={"Location": target})
        assert tags_of(guarded(odd_registry)) == ["1.0.0"]
        (request,) = store.requests
    assert "authorization" not in request.headers
    assert "authorization" in odd_registry.requests[-1].headers


def answer_over_tls(requests: list[httpx.Request]) -> httpx.MockTransport:
    """Return a registry out there that asks for a token elsewhere and keeps its contents elsewhere."""

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        if request.url.host == "auth.example.com":
            return httpx.Response(200, json={"token": "abc"})
        if "authorization" not in request.headers and request.url.host == "registry.example.com":
            realm = 'Bearer realm="https://auth.example.com/token",service="s",scope="repository:team/thing:pull"'
            return httpx.Response(401, headers={"WWW-Authenticate": realm})
        if request.url.host == "registry.example.com" and "cdn" not in request.url.path:
            return httpx.Response(307, headers={"Location": "https://cdn.example.com/tags?signature=secret"})
        return httpx.Response(200, json={"tags": ["latest"]})

    return httpx.MockTransport(answer)


def test_out_there_the_password_goes_to_the_token_server_alone_and_the_token_to_the_registry(no_logins: Path):
    requests: list[httpx.Request] = []
    access = RegistryAccess(host="registry.example.com", login=Login(username="me", password=KEY))
    source = create(
        {"repository": "registry.example.com/team/thing"},
        find_access={access.host: access}.get,
        transport=answer_over_tls(requests),
    )
    assert source.list_builds().builds == ()
    seen = [(r.url.host, r.headers.get("authorization", "").partition(" ")[0]) for r in requests]
    assert seen == [
        ("registry.example.com", ""),
        ("auth.example.com", "Basic"),
        ("registry.example.com", "Bearer"),
        ("cdn.example.com", ""),
    ]


@pytest.mark.parametrize("target", ["http://127.0.0.1:1/", "https://localhost/", "http://registry.example.com/"])
def test_a_registry_out_there_cannot_send_this_machine_to_itself_or_off_tls(no_logins: Path, target: str):
    transport = httpx.MockTransport(lambda request: httpx.Response(302, headers={"Location": target}))
    with pytest.raises(TryLater, match="sends on to an address that is not followed"):
        create({"repository": "registry.example.com/team/thing"}, transport=transport).list_builds()


def test_certificates_that_cannot_be_read_are_named(tmp_path: Path, no_logins: Path):
    access = RegistryAccess(host="registry.example.com", ca_file=tmp_path / "missing.pem")
    with pytest.raises(UserError, match=r"\[\[registries\]\] ca_file .*missing\.pem: cannot be read"):
        create({"repository": "registry.example.com/team/thing"}, find_access={access.host: access}.get).list_builds()
