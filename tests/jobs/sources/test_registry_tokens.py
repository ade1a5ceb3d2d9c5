"""What a registry asks for is read as it is written, and the token is asked for where and as it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import TryLater, UserError
from jobs.sources._registry_logins import Login
from jobs.sources._registry_names import read_repository
from jobs.sources._registry_tokens import Challenge, answer_challenges, read_challenges, token_url

REMOTE = read_repository("registry.example.com/team/thing")
LOCAL = read_repository("127.0.0.1:5000/team/thing")
LOGIN = Login(username="$oauthtoken", password="key")


def bearer(**values: str) -> Challenge:
    return Challenge(scheme="bearer", values=values)


@pytest.mark.parametrize(
    ("header", "schemes"),
    [
        ('Bearer realm="https://a.example/token",service="a, b"', ["bearer"]),
        ('bearer realm="https://a.example/token" , Basic realm="Bearer x, y"', ["bearer", "basic"]),
        ("Basic realm=plain", ["basic"]),
        ('Negotiate, Basic realm="a"', ["negotiate", "basic"]),
        ("Unheard-Of x=1", []),
        ("", []),
    ],
)
def test_challenges_are_told_apart_also_within_one_header(header: str, schemes: list[str]):
    assert [challenge.scheme for challenge in read_challenges([header])] == schemes


def test_values_may_be_quoted_escaped_or_plain():
    (found,) = read_challenges(
        [r'Bearer realm="https://a.example/t\"x", service=plain, scope="r:a:pull,push r:b:pull"']
    )
    assert found.values == {"realm": 'https://a.example/t"x', "service": "plain", "scope": "r:a:pull,push r:b:pull"}


@given(st.lists(st.text(max_size=200), max_size=3))
def test_no_header_is_too_odd_to_be_read(headers: list[str]):
    assert all(challenge.scheme for challenge in read_challenges(headers))


def test_a_scope_within_the_realm_is_kept_and_no_service_is_made_up():
    url = token_url(bearer(realm="https://registry.example.com/proxy_auth?scope=repository:team/thing:pull"), REMOTE)
    assert url == "https://registry.example.com/proxy_auth?scope=repository%3Ateam%2Fthing%3Apull"


def test_service_and_scope_beside_the_realm_are_passed_on():
    challenge = bearer(realm="https://auth.example.com/token", service="registry", scope="repository:team/thing:pull")
    expected = "https://auth.example.com/token?service=registry&scope=repository%3Ateam%2Fthing%3Apull"
    assert token_url(challenge, REMOTE) == expected


def test_without_any_scope_the_right_to_read_is_asked_for():
    url = token_url(bearer(realm="https://auth.example.com/token"), REMOTE)
    assert url == "https://auth.example.com/token?scope=repository%3Ateam%2Fthing%3Apull"


@pytest.mark.parametrize(
    "realm",
    [
        "http://auth.example.com/token",
        "https://127.0.0.1/token",
        "ftp://x/",
        "//auth",
        "",
        "https://[bad/token",
        "https://",
    ],
)
def test_a_token_is_not_asked_for_at_an_address_that_cannot_be_trusted(realm: str):
    with pytest.raises(UserError, match="no login is sent there"):
        token_url(bearer(realm=realm), REMOTE)


def test_a_registry_on_this_machine_may_have_its_token_server_here():
    assert token_url(bearer(realm="http://127.0.0.1:5001/token"), LOCAL).startswith("http://127.0.0.1:5001/token?")


def test_bearer_is_preferred_and_the_login_goes_to_the_token_server():
    asked: list[dict[str, str]] = []

    def ask(url: str, headers: object) -> bytes:
        asked.append(dict(headers))  # type: ignore[call-overload]
        return b'{"access_token": "abc"}'

    challenges = [Challenge(scheme="basic"), bearer(realm="https://auth.example.com/token")]
    assert answer_challenges(challenges, REMOTE, LOGIN, ask) == "Bearer abc"
    assert asked == [{"Authorization": "Basic JG9hdXRodG9rZW46a2V5"}]
    assert answer_challenges(challenges[:1], REMOTE, LOGIN, ask) == "Basic JG9hdXRodG9rZW46a2V5"


def test_a_password_that_is_asked_for_and_not_there_is_said():
    with pytest.raises(UserError, match="asks for a user name and a password to read team/thing"):
        answer_challenges([Challenge(scheme="basic")], REMOTE, None, lambda url, headers: b"")


@pytest.mark.parametrize(("schemes", "told"), [([], "none"), (["negotiate", "digest"], "digest, negotiate")])
def test_other_ways_in_are_named(schemes: list[str], told: str):
    challenges = [Challenge(scheme=scheme) for scheme in schemes]
    with pytest.raises(UserError, match=rf"found other ways in \({told}\)"):
        answer_challenges(challenges, REMOTE, LOGIN, lambda url, headers: b"")


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"token": 3}', b'{"token": "a b"}', b'{"token": "a\\r\\nX: y"}']
)
def test_what_is_no_token_is_not_used(body: bytes):
    with pytest.raises(TryLater, match="expected a token as JSON"):
        answer_challenges([bearer(realm="https://auth.example.com/token")], REMOTE, LOGIN, lambda url, headers: body)
