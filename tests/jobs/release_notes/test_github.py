"""A GitHub on loopback, well-behaved and not: all notes of a repository, or a plain error."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from jobs.errors import TryLater, UserError
from jobs.release_notes.github import GitHubReleases, Limits, find_wait
from jobs.release_notes.names import check_api, check_repository
from jobs.release_notes.note import NotesAnswer
from tests.fakes.github import GitHub, serve_github
from tests.fakes.odd_registry import Reply

NAME = "owner/thing"
LIST = f"GET /repos/{NAME}/releases"
DATE = "Thu, 03 Dec 2026 08:00:00 GMT"
AT_EIGHT = int(datetime(2026, 12, 3, 8, tzinfo=UTC).timestamp())


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serve_github() as running:
        yield running


def look(github: GitHub, **options: Any) -> NotesAnswer:
    return GitHubReleases(NAME, api=github.api, **options).list_notes()


def tags(answer: NotesAnswer) -> list[str]:
    return [note.tag for note in answer.notes]


def test_link_name_date_and_first_lines_of_each_release_are_kept(github: GitHub):
    body = "<!-- made by a machine -->\r\n## Highlights\r\n\r\n\r\n* faster\x00 <script>\r\n"
    github.publish(NAME, "v1.0.0", name=" Thing\n1.0 ", body=body)
    (note,) = look(github).notes
    assert note.url == "https://github.example.com/owner/thing/releases/tag/v1.0.0"
    assert (note.tag, note.title, note.prerelease) == ("v1.0.0", "Thing 1.0", False)
    assert note.excerpt == "## Highlights\n\n* faster  <script>"
    assert note.published_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_drafts_are_left_out_and_prereleases_kept(github: GitHub):
    github.publish(NAME, "v1.0.0")
    github.publish(NAME, "v1.1.0rc1", prerelease=True)
    github.publish(NAME, "v1.1.0", draft=True, published_at=None)
    answer = look(github)
    assert [(note.tag, note.prerelease) for note in answer.notes] == [("v1.1.0rc1", True), ("v1.0.0", False)]
    assert answer.unreadable == ()


def test_what_a_release_does_not_say_is_empty(github: GitHub):
    github.publish(NAME, "v1.0.0", name=None, body=None, published_at="soon")
    (note,) = look(github).notes
    assert (note.title, note.excerpt, note.published_at) == ("", "", None)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"tag_name": ""}, "has no tag that can be read"),
        ({"tag_name": "v1\n2"}, "has no tag that can be read"),
        ({"tag_name": 7}, "has no tag that can be read"),
        ({"html_url": "javascript:alert(1)"}, "v1.0.0: has no https address"),
        ({"html_url": "http://github.example.com/x"}, "v1.0.0: has no https address"),
        ({"html_url": "https://github.example.com/x|y>"}, "v1.0.0: has no https address"),
        ({"html_url": "https://me:hush@github.example.com/x"}, "v1.0.0: has no https address"),
        ({"html_url": None}, "v1.0.0: has no https address"),
        ({"draft": None}, "does not say whether it is a draft"),
    ],
)
def test_one_entry_that_cannot_be_used_hides_nothing_else(github: GitHub, wrong: dict[str, Any], reason: str):
    github.publish(NAME, "v0.9.0")
    github.publish(NAME, "v1.0.0", **wrong)
    answer = look(github)
    assert tags(answer) == ["v0.9.0"]
    assert answer.unreadable == (("entry 0", reason),)


def test_long_texts_are_cut(github: GitHub):
    github.publish(NAME, "v1.0.0", name="n" * 5000, body="\n".join(["x" * 5000] * 50))
    (note,) = look(github).notes
    assert len(note.title) == 200
    assert len(note.excerpt) < 4000
    assert note.excerpt.endswith("\n…")


# --- pages ---


def test_all_pages_are_read_and_a_release_on_two_of_them_is_one(github: GitHub):
    for number in range(5):
        github.publish(NAME, f"v1.{number}.0")
    github.releases[NAME].insert(2, dict(github.releases[NAME][1]))
    github.page_releases = 2
    answer = look(github)
    assert tags(answer) == ["v1.4.0", "v1.3.0", "v1.2.0", "v1.1.0", "v1.0.0"]
    assert answer.is_whole


def test_only_so_many_pages_are_read_and_the_answer_says_so(github: GitHub):
    for number in range(5):
        github.publish(NAME, f"v1.{number}.0")
    github.page_releases = 1
    answer = look(github, limits=Limits(pages=2))
    assert (tags(answer), answer.is_whole) == (["v1.4.0", "v1.3.0"], False)
    assert len(github.requests) == 2


def test_a_page_that_has_not_changed_is_not_sent_again(github: GitHub, tmp_path: Path):
    for number in range(4):
        github.publish(NAME, f"v1.{number}.0")
    github.page_releases = 2
    first = look(github, cache=tmp_path / "cache")
    github.requests.clear()
    assert look(github, cache=tmp_path / "cache") == first
    assert all("if-none-match" in request.headers for request in github.requests)
    assert len(github.requests) == 2
    github.releases[NAME][3]["body"] = "Told again"
    assert look(github, cache=tmp_path / "cache").notes[3].excerpt == "Told again"


def test_a_mark_of_a_page_that_cannot_be_sent_back_only_costs_time(github: GitHub, tmp_path: Path):
    github.replies[LIST] = Reply(headers={"ETag": '"\xe9"'}, body=b"[]")
    for _ in range(2):
        assert look(github, cache=tmp_path).notes == ()
    assert [request.headers.get("if-none-match") for request in github.requests] == [None, None]


def test_a_damaged_cache_is_not_believed(github: GitHub, tmp_path: Path):
    github.publish(NAME, "v1.0.0")
    first = look(github, cache=tmp_path)
    for file in tmp_path.iterdir():
        file.write_text('{"rule": 1, "etag": "x", "next": "http://evil.example.com/", "notes": [{"tag": 1}]}')
    assert look(github, cache=tmp_path) == first


def test_a_cache_that_cannot_be_written_only_costs_requests(github: GitHub, tmp_path: Path):
    github.publish(NAME, "v1.0.0")
    (tmp_path / "file").write_text("in the way")
    assert tags(look(github, cache=tmp_path / "file")) == ["v1.0.0"]


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ("<http://elsewhere.example.com/repos/owner/thing/releases?page=2>", "an address elsewhere"),
        ("<https://127.0.0.1/repos/owner/thing/releases?page=2>", "an address elsewhere"),
        ("</repos/owner/thing/releases?per_page=50>", "goes in a circle"),
    ],
)
def test_a_next_page_that_leads_astray_is_not_followed(github: GitHub, link: str, told: str):
    github.replies[LIST] = Reply(headers={"Link": f'{link}; rel="next"'}, body=b"[]")
    with pytest.raises(TryLater, match=told):
        look(github)


# --- who asks ---


def test_a_token_goes_along_and_without_one_none_does(github: GitHub):
    github.publish(NAME, "v1.0.0")
    look(github, token="ghp_0123")
    look(github)
    assert [request.headers.get("authorization") for request in github.requests] == ["Bearer ghp_0123", None]


def test_a_token_that_is_refused_is_named_and_not_shown(github: GitHub):
    github.publish(NAME, "v1.0.0")
    github.token = "another"
    with pytest.raises(UserError, match="the token in GITHUB_TOKEN was refused") as error:
        look(github, token="ghp_hush", token_name="GITHUB_TOKEN")
    assert "hush" not in str(error.value)


def test_a_token_with_a_line_break_is_refused_before_anything_is_asked(github: GitHub):
    with pytest.raises(UserError, match="the token in GITHUB_TOKEN holds blanks") as error:
        look(github, token="ghp_hush\nX: y", token_name="GITHUB_TOKEN")
    assert "hush" not in str(error.value)
    assert github.requests == []


def test_a_repository_that_was_renamed_is_followed_within_github_only(github: GitHub):
    github.publish("owner/new-name", "v1.0.0")
    github.renamed[NAME] = "owner/new-name"
    assert tags(look(github)) == ["v1.0.0"]
    github.replies[LIST] = Reply(status=301, headers={"Location": "https://elsewhere.example.com/"})
    with pytest.raises(TryLater, match="it sends on to an address elsewhere"):
        look(github, token="ghp_0123")
    github.renamed[NAME] = NAME
    github.replies.clear()
    with pytest.raises(TryLater, match="from address to address"):
        look(github)


# --- trouble ---


@pytest.mark.parametrize("status", [403, 429])
def test_a_spent_limit_says_when_to_ask_again(github: GitHub, status: int):
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4102444800", "Date": DATE}
    github.replies[LIST] = Reply(status=status, headers=headers)
    with pytest.raises(TryLater, match=r"too many requests; .* with a token it answers many more") as error:
        look(github)
    assert error.value.after_s == 86_400


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry-after": "30"}, 30.0),
        ({"retry-after": "30", "x-ratelimit-remaining": "0", "x-ratelimit-reset": str(AT_EIGHT + 600)}, 30.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(AT_EIGHT + 600), "date": DATE}, 600.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(AT_EIGHT - 600), "date": DATE}, 1.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon", "date": DATE}, 60.0),
        ({"x-ratelimit-remaining": "7", "x-ratelimit-reset": str(AT_EIGHT + 600), "date": DATE}, 60.0),
        ({}, 60.0),
    ],
)
def test_the_wait_is_what_github_says_by_its_own_clock(headers: dict[str, str], wait_s: float):
    assert find_wait(httpx.Headers(headers)) == wait_s


def test_a_limit_that_is_only_told_in_words_is_understood(github: GitHub):
    body = b'{"message": "You have exceeded a secondary rate limit."}'
    github.replies[LIST] = Reply(status=403, body=body)
    with pytest.raises(TryLater) as error:
        look(github)
    assert error.value.after_s == 60


@pytest.mark.parametrize(
    ("reply", "error", "told"),
    [
        (Reply(status=404), UserError, r"no repository owner/thing \(HTTP 404\): check the name; .* needs a token"),
        (Reply(status=403), UserError, r"no repository owner/thing \(HTTP 403\)"),
        (Reply(status=503), TryLater, "answered HTTP 503"),
        (Reply(status=204), TryLater, "answered HTTP 204"),
        (Reply(status=418), UserError, "the address of GitHub's interface"),
        (Reply(status=304), TryLater, "nothing is known yet"),
        (Reply(body=b"<html>"), TryLater, "no complete JSON"),
        (Reply(body=b'[{"tag_name": '), TryLater, "no complete JSON"),
        (Reply(body=b'{"message": "hello"}'), TryLater, "expected a list of releases, found 'hello'"),
        (Reply(body=b"[" * 100_000), TryLater, "no complete JSON"),
        (Reply(body=(b" " * 1_000_000 for _ in range(20))), TryLater, "longer than 16 MiB"),
        (Reply(raw=[b"nonsense\r\n\r\n"]), TryLater, "cannot be reached"),
    ],
    ids=lambda one: f"HTTP {one.status}" if isinstance(one, Reply) else None,
)
def test_a_github_in_trouble_is_one_plain_error(github: GitHub, reply: Reply, error: type[Exception], told: str):
    github.replies[LIST] = reply
    with pytest.raises(error, match=told):
        look(github)


def test_trouble_on_a_later_page_is_an_error_and_never_half_a_list(github: GitHub):
    body = b"[]"
    link = f'<{github.api}/repos/{NAME}/releases/more>; rel="next"'
    github.replies[LIST] = Reply(headers={"Link": link}, body=body)
    github.replies[f"{LIST}/more"] = Reply(status=502)
    with pytest.raises(TryLater, match="answered HTTP 502"):
        look(github)


def test_a_github_that_dribbles_or_takes_too_long_for_all_pages_is_left(github: GitHub):
    over = threading.Event()

    def dribble() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n"
        while not over.wait(0.01):
            yield b"A: b\r\n"

    github.replies[LIST] = Reply(raw=dribble())
    try:
        with pytest.raises(TryLater, match="not complete after 0 s"):
            look(github, limits=Limits(answer_s=0.2))
    finally:
        over.set()
    github.replies.clear()
    github.publish(NAME, "v1.0.0")
    with pytest.raises(TryLater, match="not complete after"):
        look(github, limits=Limits(look_s=-1.0))


def test_nobody_there_is_an_error_to_try_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serve_github() as running:
        gone = running
    with pytest.raises(TryLater, match="cannot be reached"):
        look(gone)


# --- settings ---


@pytest.mark.parametrize(
    "name", ["thing", "owner/thing/more", "https://github.com/a/b", "a/..", "a/.", "a b/c", "/", ""]
)
def test_what_is_no_repository_is_refused(name: str):
    with pytest.raises(ValueError, match=r"expected OWNER/NAME"):
        check_repository(name)


@pytest.mark.parametrize(
    "address", ["http://github.example.com", "ftp://x", "github.example.com", "https://me:pw@x.example", "https://x?y"]
)
def test_a_token_travels_over_tls_only(address: str):
    with pytest.raises(ValueError, match="expected an https address"):
        check_api(address)


@pytest.mark.parametrize("check", [check_repository, check_api])
def test_the_present_names_are_taken(check: Callable[[str], str]):
    names = {check_repository: "NVIDIA/TensorRT-LLM", check_api: "https://github.example.com/api/v3"}
    assert check(names[check]) == names[check]
    assert check_api("http://127.0.0.1:8080/") == "http://127.0.0.1:8080"
