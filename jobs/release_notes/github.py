"""The notes of a GitHub repository's releases, read over its REST interface (GitHub's own or an Enterprise Server's).

A page that has not changed since the last look is not sent again (ETag). With a token GitHub answers 5000 requests an
hour and does not count unchanged pages; without one it answers 60.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import NoReturn
from urllib.parse import urljoin, urlsplit

import httpx

from jobs.errors import TryLater, UserError
from jobs.release_notes._pages import NotAPage, NotesPage, PageCache, read_page
from jobs.release_notes.names import API, check_api, check_repository
from jobs.release_notes.note import NotesAnswer, ReleaseNote
from jobs.waiting import LONGEST_WAIT_S, Connections, Overdue, read_etag, read_retry_after

PAGE_RELEASES = 50
PAGE_LIMIT_BYTES = 16 * 1024 * 1024
HOPS = 3
SHORT_WAIT_S = 60.0
"""GitHub asks for a minute at least where it refuses for too many requests and does not say for how long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long GitHub is waited for, and how many pages of the newest releases are read."""

    silence_s: float = 15.0
    answer_s: float = 60.0
    look_s: float = 120.0
    pages: int = 10


class GitHubReleases:
    """The releases of one repository."""

    def __init__(
        self,
        repository: str,
        *,
        api: str = API,
        token: str | None = None,
        token_name: str = "",
        cache: Path | None = None,
        limits: Limits | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._repository = check_repository(repository)
        self._api = check_api(api)
        if token and not re.fullmatch("[!-~]+", token):
            raise UserError(f"the token in {token_name or 'use'} holds blanks or other signs that no token has")
        self._token = token
        self._token_name = token_name
        self._cache = PageCache(cache)
        self._limits = limits or Limits()
        self._transport = transport
        self._place = f"GitHub {urlsplit(self._api).hostname}"

    def list_notes(self) -> NotesAnswer:
        """Return the notes of the published releases, the newest first; TryLater or UserError, never half a list."""
        notes: dict[str, ReleaseNote] = {}
        unreadable: list[tuple[str, str]] = []
        url: str | None = f"{self._api}/repos/{self._repository}/releases?per_page={PAGE_RELEASES}"
        asked: set[str] = set()
        asking = _Asking(self._limits, self._place)
        with self._open_client() as http:
            while url is not None and len(asked) < self._limits.pages:
                if url in asked:
                    raise TryLater(f"{self._place}: its list of releases of {self._repository} goes in a circle")
                asked.add(url)
                page = self._get_page(http, asking, url)
                for note in page.notes:
                    notes.setdefault(note.tag, note)
                unreadable += page.unreadable
                url = self._stay(page.next_url, "its next page is at") if page.next_url else None
        return NotesAnswer(notes=tuple(notes.values()), unreadable=tuple(unreadable), is_whole=url is None)

    def _open_client(self) -> httpx.Client:
        login = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        headers = {
            "Accept": "application/vnd.github+json",
            "Accept-Encoding": "identity",
            "User-Agent": "release-regression-tracker",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        return httpx.Client(transport=self._transport, timeout=self._limits.silence_s, headers={**headers, **login})

    def _get_page(self, http: httpx.Client, asking: _Asking, url: str) -> NotesPage:
        """Return one page, the one that was kept where GitHub says that it has not changed."""
        known = self._cache.find(url)
        headers = {"If-None-Match": known.etag} if known and known.etag else {}
        answer, body = self._follow(http, asking, url, headers)
        if answer.status_code == httpx.codes.NOT_MODIFIED:
            if known is None:
                raise TryLater(f"{self._place}: it says that nothing changed, but nothing is known yet")
            return known
        if answer.status_code != httpx.codes.OK:
            self._refuse(answer, body)
        try:
            page = read_page(body, etag=read_etag(answer.headers.get("etag", "")), next_url=self._find_next(answer))
        except NotAPage as error:
            raise TryLater(f"{self._place}: {error}") from error
        self._cache.keep(url, page)
        return page

    def _follow(
        self, http: httpx.Client, asking: _Asking, url: str, headers: Mapping[str, str]
    ) -> tuple[httpx.Response, bytes]:
        """Return the answer behind redirects (a repository that was renamed), which stay with GitHub and its token."""
        for _ in range(HOPS + 1):
            answer, body = asking.ask(http, url, headers)
            if answer.status_code not in (301, 302, 307, 308):
                return answer, body
            url = self._stay(urljoin(url, answer.headers.get("location", "")), "it sends on to")
        raise TryLater(f"{self._place}: it sends on from address to address, more than {HOPS} times")

    def _find_next(self, answer: httpx.Response) -> str | None:
        try:
            target = answer.links.get("next", {}).get("url")
        except (ValueError, KeyError):
            return None
        return urljoin(str(answer.url), target) if target else None

    def _stay(self, url: str, what: str) -> str:
        """Return the address; TryLater where it is not at GitHub's interface, to which alone the token may go."""
        try:
            found, home = urlsplit(url), urlsplit(self._api)
            stays = (found.scheme, found.hostname, found.port) == (home.scheme, home.hostname, home.port)
        except ValueError:
            stays = False
        if not stays:
            raise TryLater(f"{self._place}: {what} an address elsewhere, which is not followed")
        return url

    def _refuse(self, answer: httpx.Response, body: bytes) -> NoReturn:
        """Raise what a status means: UserError where somebody must change something, TryLater where waiting helps."""
        status, headers = answer.status_code, answer.headers
        if status == 401:
            raise UserError(f"{self._place}: the token in {self._token_name or 'use'} was refused: renew or remove it")
        spent = headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers or b"rate limit" in body.lower()
        if status == 429 or (status == 403 and spent):
            rest_s = find_wait(headers)
            cure = "" if self._token else "; with a token it answers many more (see `[[release_notes]]` in the guide)"
            raise TryLater(f"{self._place}: too many requests; it asks to wait {rest_s:.0f} s{cure}", after_s=rest_s)
        if status in (403, 404):
            who = f"the token in {self._token_name} may not see it" if self._token else "it needs a token"
            raise UserError(
                f"{self._place}: no repository {self._repository} (HTTP {status}): check the name; if it is "
                f"private, {who}"
            )
        if status >= 500 or status < 400 or status in (408, 425):
            wait_s = read_retry_after(headers.get("retry-after", ""))
            raise TryLater(f"{self._place}: answered HTTP {status}", after_s=wait_s)
        raise UserError(f"{self._place}: answered HTTP {status}; is {self._api} the address of GitHub's interface?")


class _Asking:
    """The requests of one look, which share its time."""

    def __init__(self, limits: Limits, place: str) -> None:
        self._limits = limits
        self._place = place
        self._deadline = time.monotonic() + limits.look_s
        self._connections = Connections()

    def ask(self, http: httpx.Client, url: str, headers: Mapping[str, str]) -> tuple[httpx.Response, bytes]:
        """Return one answer with its body; TryLater where there is none, or none that ends."""
        left_s = max(0.0, min(self._limits.answer_s, self._deadline - time.monotonic()))
        traced = {"trace": self._connections.note}
        try:
            with (
                self._connections.within(left_s),
                http.stream("GET", url, headers=headers, extensions=traced) as response,
            ):
                return response, self._read(response)
        except Overdue as error:
            raise TryLater(f"{self._place}: its answer was not complete after {left_s:.0f} s") from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise UserError(f"{self._place}: no address that can be asked") from error
        except httpx.TimeoutException as error:
            raise TryLater(f"{self._place}: no answer within {self._limits.silence_s:.0f} s") from error
        except httpx.HTTPError as error:
            raise TryLater(f"{self._place}: cannot be reached ({error or type(error).__name__})") from error

    def _read(self, response: httpx.Response) -> bytes:
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > PAGE_LIMIT_BYTES:
                raise TryLater(f"{self._place}: its answer is longer than {PAGE_LIMIT_BYTES >> 20} MiB")
        return bytes(body)


def find_wait(headers: httpx.Headers) -> float:
    """Return for how many seconds GitHub asks to be left alone: Retry-After, else until its count begins anew.

    That moment is measured against GitHub's own clock, so that a wrong clock here does no harm.
    """
    told = read_retry_after(headers.get("retry-after", ""))
    if told is not None:
        return told
    reset = headers.get("x-ratelimit-reset", "")
    if headers.get("x-ratelimit-remaining") != "0" or not re.fullmatch("[0-9]{1,11}", reset):
        return SHORT_WAIT_S
    return min(max(float(reset) - _find_now(headers).timestamp(), 1.0), LONGEST_WAIT_S)


def _find_now(headers: httpx.Headers) -> datetime:
    try:
        now = parsedate_to_datetime(headers.get("date", ""))
    except ValueError:
        return datetime.now(UTC)
    return now if now.tzinfo else now.replace(tzinfo=UTC)
