"""Result files sent to the API: with a token, once, within a limit."""

from __future__ import annotations

import json

import pytest

from tests.tracker.web.client import Client
from tracker.web import guard

PATH = "/api/v1/results?component=engine&release=1.2.0&name=a.json"
BODY = json.dumps({"results": [{"command": "a", "mean": 0.5, "median": 0.5, "times": [0.5]}]}).encode() + b"\n"


@pytest.fixture
def headers(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}", "content-type": "application/octet-stream"}


def test_a_result_is_stored_once(client: Client, headers: dict[str, str]) -> None:
    first = client.post(PATH, content=BODY, headers=headers)
    assert (first.status_code, first.json()["items"][0]["status"]) == (201, "stored")
    again = client.post(PATH, content=BODY, headers=headers)
    assert (again.status_code, again.json()["items"][0]["status"]) == (200, "unchanged")
    other = client.post(PATH, content=BODY.replace(b"0.5", b"0.6"), headers=headers)
    assert (other.status_code, other.json()["items"][0]["status"]) == (409, "conflict")
    replaced = client.post(PATH + "&replace=true", content=BODY.replace(b"0.5", b"0.6"), headers=headers)
    assert (replaced.status_code, replaced.json()["items"][0]["status"]) == (200, "replaced")


def test_what_no_parser_takes_is_422_with_the_reason(client: Client, headers: dict[str, str]) -> None:
    answer = client.post(PATH, content=b"hello\n", headers=headers)
    assert answer.status_code == 422
    assert "no parser knows" in answer.json()["items"][0]["reason"]


def test_without_a_token_nothing_is_read(client: Client) -> None:
    answer = client.post(PATH, content=BODY, headers={"content-type": "application/octet-stream"})
    assert answer.status_code in (401, 403)


def test_a_result_needs_a_name_or_an_idempotency_key(client: Client, headers: dict[str, str]) -> None:
    path = PATH.replace("&name=a.json", "")
    assert client.post(path, content=BODY, headers=headers).status_code == 400
    keyed = {**headers, "idempotency-key": "nightly-17"}
    assert client.post(path, content=BODY, headers=keyed).status_code == 201
    assert client.post(path, content=BODY, headers=keyed).status_code == 200


@pytest.mark.parametrize("query", ["&label=modl=x", "&at=today", "&image=latest", "&tool=nobody"])
def test_a_mistake_is_the_callers(client: Client, headers: dict[str, str], query: str) -> None:
    answer = client.post(PATH + query, content=BODY, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_more_than_the_limit_is_refused_while_it_comes(
    client: Client, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.web.uploads.UPLOAD_LIMIT_BYTES", 10)
    assert client.post(PATH, content=BODY, headers=headers).status_code == 413
    monkeypatch.setattr(guard, "UPLOAD_LIMIT_BYTES", 10)
    assert client.post(PATH, content=BODY, headers=headers).status_code == 413


def test_a_wrong_content_type_says_which_is_right(client: Client, headers: dict[str, str]) -> None:
    answer = client.post(PATH, content=BODY, headers={**headers, "content-type": "application/json"})
    assert (answer.status_code, "application/octet-stream" in answer.text) == (415, True)
