"""Who may ask and who may change something."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tracker.seed import Seeded
from tests.tracker.web.client import HTML, SAME_ORIGIN, Client, asked
from tracker.app import App
from tracker.settings import Settings
from tracker.web.guard import check_host

MakeApp = Callable[..., App]
MakeClient = Callable[..., Client]
JSON = {"content-type": "application/json"}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "localhost", "127.9.9.9"])
def test_names_of_this_machine_are_served(reader: Client, host: str) -> None:
    assert reader.get("/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8765", "10.0.0.7"])
def test_a_foreign_name_that_points_here_gets_nothing(reader: Client, seeded: Seeded, host: str) -> None:
    answer = reader.get("/api/v1/runs", headers={"host": host})
    assert answer.status_code == 403
    assert "public_url" in answer.json()["error"]


def test_the_public_url_is_a_name_of_this_service(
    make_app: Callable[..., App], make_client: Callable[..., Client]
) -> None:
    client = make_client(make_app(public_url="https://perf.example/"), "https://perf.example")
    assert client.get("/healthz").status_code == 200


def test_listening_on_all_addresses_serves_addresses_but_no_unknown_names(
    make_app: Callable[..., App], make_client: Callable[..., Client]
) -> None:
    client = make_client(make_app(host="0.0.0.0"))
    assert client.get("/healthz", headers={"host": "10.0.0.7:8765"}).status_code == 200
    assert client.get("/healthz", headers={"host": "evil.example"}).status_code == 403


@given(st.text(alphabet="abc.:[]@/\\ 019%-", max_size=30))
def test_no_host_text_breaks_the_check(text: str) -> None:
    refusal = check_host(text, Settings(home="/nowhere"))
    assert refusal is None or refusal.reason


def test_our_own_page_may_ask_for_a_rerun(client: Client, app: App, seeded: Seeded) -> None:
    run = seeded.runs["1.28.0"][0]
    answer = client.post(f"/runs/{run}/rerun", headers=SAME_ORIGIN)
    assert answer.status_code == 303
    assert asked(app) == [("run:rerun", run, "page")]
    assert "queued" in client.get(answer.headers["location"], headers=HTML).text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://evil.example", "sec-fetch-site": "cross-site"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "http://localhost:8765", "sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "https://127.0.0.1:8765"},
        {},
        JSON,
        {"content-type": "text/plain"},
    ],
)
def test_no_other_page_can_spend_machine_hours(
    reader: Client, shared: App, seeded: Seeded, headers: dict[str, str]
) -> None:
    for path in (f"/runs/{seeded.runs['1.28.0'][0]}/rerun", f"/api/v1/runs/{seeded.runs['1.28.0'][0]}/rerun"):
        answer = reader.post(path, headers=headers)
        assert answer.status_code == 403
        assert answer.json()["error"]
    assert asked(shared) == []


def test_a_token_in_another_pages_request_is_refused(client: Client, app: App, seeded: Seeded, token: str) -> None:
    headers = {**bearer(token), "origin": "http://evil.example"}
    assert client.post(f"/runs/{seeded.runs['1.28.0'][0]}/rerun", headers=headers).status_code == 403
    assert asked(app) == []


def test_a_program_with_a_token_may_ask_and_is_named(client: Client, app: App, seeded: Seeded, token: str) -> None:
    run = seeded.runs["1.28.0"][0]
    answer = client.post(f"/api/v1/runs/{run}/rerun", headers={**bearer(token), **JSON})
    assert answer.status_code == 201
    assert len(answer.json()["runs"]) == 1
    assert asked(app) == [("run:rerun", run, "ci")]


def test_a_program_must_send_json(client: Client, app: App, seeded: Seeded, token: str) -> None:
    run = seeded.runs["1.28.0"][0]
    form = {**bearer(token), "content-type": "application/x-www-form-urlencoded"}
    assert client.post(f"/api/v1/runs/{run}/rerun", headers=form).status_code == 415
    assert asked(app) == []


def test_a_wrong_token_is_refused_even_from_our_own_page(client: Client, app: App, seeded: Seeded) -> None:
    wrong = {**SAME_ORIGIN, "authorization": "Bearer trk_wrong"}
    answer = client.post(f"/runs/{seeded.runs['1.28.0'][0]}/rerun", headers=wrong)
    assert answer.status_code == 401
    assert "tracker tokens create" in answer.json()["error"]
    assert asked(app) == []


def test_beyond_this_machine_every_change_needs_a_token(
    make_app: MakeApp, make_client: MakeClient, seeded: Seeded, token: str
) -> None:
    app = make_app(host="0.0.0.0")
    client = make_client(app)
    path = f"/runs/{seeded.runs['1.28.0'][0]}/rerun"
    assert "sign in" in client.get("/", headers=HTML).text
    assert client.post(path, headers=SAME_ORIGIN).status_code == 401
    assert client.post("/sign-in", data={"token": "trk_wrong"}, headers=SAME_ORIGIN).status_code == 401
    signed_in = client.post("/sign-in", data={"token": token}, headers=SAME_ORIGIN)
    cookie = signed_in.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.post(path, headers=SAME_ORIGIN).status_code == 303
    assert asked(app) == [("run:rerun", seeded.runs["1.28.0"][0], "ci")]


def test_the_cookie_is_no_passport_for_other_pages(
    make_app: MakeApp, make_client: MakeClient, seeded: Seeded, token: str
) -> None:
    app = make_app(host="0.0.0.0")
    client = make_client(app)
    client.cookies.set("tracker_token", token)
    path = f"/runs/{seeded.runs['1.28.0'][0]}/rerun"
    assert client.post(path, headers={"origin": "http://evil.example"}).status_code == 403
    assert asked(app) == []


@pytest.mark.parametrize("host", ["127.0.0.1#.evil.example", "127.0.0.1?x", "me@127.0.0.1", "127.0.0.1/x", "[::1", ""])
def test_a_host_that_is_no_host_is_told_so(reader: Client, host: str) -> None:
    assert reader.get("/healthz", headers={"host": host}).status_code == 400


@pytest.mark.parametrize("path", ["/api/v1/runs", "/sign-in", "/runs/nope/rerun"])
@pytest.mark.parametrize("chunked", [False, True])
def test_what_is_sent_along_is_limited(reader: Client, path: str, chunked: bool) -> None:
    parts = [b'{"suite":"'] + [b"a" * 1024] * 65

    async def send() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    content = send() if chunked else b"".join(parts)
    answer = reader.post(path, headers={**SAME_ORIGIN, **JSON}, content=content)
    assert answer.status_code == 413
    assert "65536 bytes" in answer.json()["error"]


def test_what_is_not_allowed_is_not_even_read(reader: Client) -> None:
    async def send() -> AsyncIterator[bytes]:
        raise AssertionError("the body of a refused request was read")
        yield b""

    assert reader.post("/api/v1/runs", headers=JSON, content=send()).status_code == 403


@pytest.mark.parametrize("path", ["/", "/series", "/runs/nope", "/static/app.css", "/api/v1/runs"])
def test_every_answer_carries_the_headers_that_keep_pages_safe(reader: Client, path: str) -> None:
    headers = reader.get(path, headers=HTML).headers
    policy = headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"


def test_refusals_carry_the_headers_too(reader: Client) -> None:
    answer = reader.get("/", headers={"host": "evil.example", **HTML})
    assert "frame-ancestors" in answer.headers["content-security-policy"]
    assert "<h1>Refused</h1>" in answer.text


def test_a_page_in_a_foreign_frame_cannot_preflight(reader: Client) -> None:
    asked = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    answer = reader.request("OPTIONS", "/api/v1/runs", headers=asked)
    assert "access-control-allow-origin" not in answer.headers
