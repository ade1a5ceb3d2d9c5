"""A server that sends a byte now and then is left when the time for a request is up, wherever in its answer it is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import httpx
import pytest

from jobs.errors import TryLater
from jobs.sources import package_index
from jobs.sources.oci_registry import Limits, create
from jobs.waiting import Connections, Overdue
from tests.fakes.odd_registry import REPOSITORY, OddRegistry, Reply

LIST = f"GET /v2/{REPOSITORY}/tags/list"
HEAD_100 = f"HEAD /v2/{REPOSITORY}/manifests/1.0.0"
OK = b"HTTP/1.1 200 OK\r\n"
DRIBBLES = {
    "status line": (b"HTTP/1.1 200 O", b"K"),
    "headers": (OK + b"X-One: ", b"a"),
    "many headers": (OK, b"A: b\r\n"),
    "length of a chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
    "body": (OK + b"Content-Length: 1000\r\n\r\n", b" "),
    "body without a length": (OK + b"Connection: close\r\n\r\n", b" "),
}


@pytest.fixture
def dribble() -> Iterator[Callable[[str], Reply]]:
    """Return a maker of answers that go on, a byte now and then, until the test is over."""
    over = threading.Event()

    def pieces(kind: str) -> Iterator[bytes]:
        start, drop = DRIBBLES[kind]
        yield start
        while not over.wait(0.01):
            yield drop

    yield lambda kind: Reply(raw=pieces(kind))
    over.set()


@pytest.mark.parametrize(
    ("where", "kind"), [*((LIST, kind) for kind in DRIBBLES), (HEAD_100, "status line"), (HEAD_100, "many headers")]
)
def test_a_registry_that_dribbles_is_left(
    odd_registry: OddRegistry, dribble: Callable[[str], Reply], kind: str, where: str
):
    odd_registry.add_image("1.0.0")
    odd_registry.replies[where] = dribble(kind)
    source = create({"repository": odd_registry.name}, limits=Limits(answer_s=0.2, silence_s=10.0))
    with pytest.raises(TryLater, match="an answer was not complete after 0 s"):
        source.list_builds()


def test_a_registry_that_dribbles_once_is_read_at_the_next_look(
    odd_registry: OddRegistry, dribble: Callable[[str], Reply]
):
    odd_registry.add_image("1.0.0")
    odd_registry.replies[LIST] = dribble("headers")
    odd_registry.replies[LIST].times = 1
    source = create({"repository": odd_registry.name, "platforms": ["linux/amd64"]}, limits=Limits(answer_s=0.2))
    with pytest.raises(TryLater):
        source.list_builds()
    assert [build.tag for build in source.list_builds().builds] == ["1.0.0"]


@pytest.mark.parametrize("kind", DRIBBLES)
def test_a_package_index_that_dribbles_is_left(
    odd_registry: OddRegistry, dribble: Callable[[str], Reply], kind: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(package_index, "ANSWER_LIMIT_S", 0.2)
    odd_registry.replies["GET /simple/thing/"] = dribble(kind)
    options = {"package": "thing", "index_url": f"http://{odd_registry.address}/simple"}
    with pytest.raises(TryLater, match="was not complete after 0 s"):
        package_index.create(options).list_builds()


def test_a_client_goes_on_with_its_connection_after_a_request_that_was_in_time(odd_registry: OddRegistry):
    connections = Connections()
    with httpx.Client() as client:
        for _ in range(3):
            with connections.within(5.0):
                answer = client.get(f"http://{odd_registry.address}/", extensions={"trace": connections.note})
            assert answer.status_code == 404


def test_what_goes_wrong_in_time_stays_what_it_is():
    with pytest.raises(ValueError, match="another"), Connections().within(5.0):
        raise ValueError("another")


def be_late(connections: Connections, outcome: Exception | None) -> None:
    with connections.within(0.0):
        threading.Event().wait(0.2)
        if outcome:
            raise outcome


@pytest.mark.parametrize("outcome", [None, ValueError("what came of it")])
def test_what_ends_after_its_time_is_not_used_whatever_it_was(outcome: Exception | None):
    with pytest.raises(Overdue):
        be_late(Connections(), outcome)
