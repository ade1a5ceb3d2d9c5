"""Talking to one repository of a registry: requests with limits, ways in, redirects, and what each status means.

A redirect is followed to https, or to this machine from this machine, and no login goes along to another place.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn, Self
from urllib.parse import urljoin, urlsplit

import httpx

from jobs.errors import TryLater, UserError
from jobs.sources._registry_logins import Login
from jobs.sources._registry_names import Repository, may_follow, origin
from jobs.sources._registry_tokens import answer_challenges, read_challenges
from jobs.waiting import Connections, Overdue, read_retry_after

MANIFEST_TYPES = (
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json"
)
MIB = 1024 * 1024
TOKEN_LIMIT_BYTES = MIB
HOPS = 5
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_BUSY = (408, 425, 429)


class BadEntry(ValueError):
    """What one tag names cannot be used; the message says why. The other tags are not concerned."""


class TooLong(ValueError):
    """An answer is longer than it may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a registry is waited for."""

    silence_s: float = 30.0
    answer_s: float = 120.0
    look_s: float = 300.0
    """All requests of one look at a repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer, its body whole."""

    status: int
    headers: httpx.Headers
    body: bytes


class RegistryClient:
    """Asks one repository; use it as a context manager."""

    def __init__(
        self, http: httpx.Client, repository: Repository, login: Login | None, *, plain_http: bool, limits: Limits
    ) -> None:
        self._http = http
        self._repository = repository
        self._login = login
        self._base = repository.api_url(plain_http=plain_http)
        self._limits = limits
        self._deadline = time.monotonic() + limits.look_s
        self._connections = Connections()
        self._authorization: str | None = None
        self._place = f"registry {repository.host}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def get_page(self, path: str, *, limit_bytes: int, headers: Mapping[str, str]) -> Answer:
        """Return a page that must be there (200), or is as it was (304); TryLater and UserError for all others."""
        try:
            answer = self._ask("GET", path, limit_bytes=limit_bytes, headers=headers)
        except TooLong as error:
            raise TryLater(f"{self._place}: {error}") from error
        if answer.status == httpx.codes.NOT_FOUND:
            raise UserError(
                f"no repository {self._repository.path!r} at {self._repository.host}: check the name, or give a login "
                "that may see it"
            )
        if answer.status not in (httpx.codes.OK, httpx.codes.NOT_MODIFIED):
            self._refuse(answer)
        return answer

    def find_digest(self, tag: str) -> tuple[str, bytes | None]:
        """Return the digest that a tag names, and the manifest where it had to be fetched; BadEntry if none is there.

        The digest is only what the registry says: what it names is checked when it is fetched.
        """
        answer = self._ask("HEAD", f"manifests/{tag}", limit_bytes=0, headers={"Accept": MANIFEST_TYPES})
        if answer.status == httpx.codes.NOT_FOUND:
            raise BadEntry("listed, but the registry has nothing under it that is an image")
        if answer.status == httpx.codes.OK:
            digest = answer.headers.get("docker-content-digest", "")
            if _DIGEST.fullmatch(digest):
                return digest, None
        elif answer.status not in (httpx.codes.METHOD_NOT_ALLOWED, httpx.codes.NOT_IMPLEMENTED):
            self._refuse(answer)
        body = self._get(f"manifests/{tag}", "its manifest", 4 * MIB, {"Accept": MANIFEST_TYPES})
        return hash_content(body), body

    def get_content(self, kind: str, digest: str, *, limit_bytes: int) -> bytes:
        """Return a manifest or a blob, checked against its digest; BadEntry where it is another, or not there."""
        headers = {"Accept": MANIFEST_TYPES} if kind == "manifests" else {}
        what = "its manifest" if kind == "manifests" else "its config"
        body = self._get(f"{kind}/{digest}", what, limit_bytes, headers)
        if (found := hash_content(body)) != digest:
            raise BadEntry(f"{what} is not what its digest says: expected {digest}, found {found}")
        return body

    def _get(self, path: str, what: str, limit_bytes: int, headers: Mapping[str, str]) -> bytes:
        try:
            answer = self._ask("GET", path, limit_bytes=limit_bytes, headers=headers)
        except TooLong as error:
            raise BadEntry(f"{what}: {error}") from error
        if answer.status == httpx.codes.NOT_FOUND:
            raise BadEntry(f"{what} is not in the registry")
        if answer.status != httpx.codes.OK:
            self._refuse(answer)
        return answer.body

    def _ask(self, method: str, path: str, *, limit_bytes: int, headers: Mapping[str, str]) -> Answer:
        """Return the answer to one request, after logging in where the registry asks for it."""
        answer = self._follow(method, f"{self._base}/{path}", limit_bytes, headers)
        if answer.status != httpx.codes.UNAUTHORIZED:
            return answer
        challenges = read_challenges(answer.headers.get_list("www-authenticate"))
        self._authorization = answer_challenges(challenges, self._repository, self._login, self._get_token)
        answer = self._follow(method, f"{self._base}/{path}", limit_bytes, headers)
        if answer.status == httpx.codes.UNAUTHORIZED:
            self._refuse(answer)
        return answer

    def _get_token(self, url: str, headers: Mapping[str, str]) -> bytes:
        try:
            answer = self._send("GET", url, TOKEN_LIMIT_BYTES, headers)
        except TooLong as error:
            raise TryLater(f"{self._place}: its token: {error}") from error
        if answer.status != httpx.codes.OK:
            self._refuse(answer)
        return answer.body

    def _follow(self, method: str, url: str, limit_bytes: int, headers: Mapping[str, str]) -> Answer:
        """Return the answer behind redirects; the login stays with the registry itself."""
        home = origin(urlsplit(self._base))
        for _ in range(HOPS + 1):
            inside = origin(urlsplit(url)) == home
            login = {"Authorization": self._authorization} if self._authorization and inside else {}
            answer = self._send(method, url, limit_bytes, {**headers, **login})
            if answer.status not in (301, 302, 303, 307, 308):
                return answer
            url = self._next_address(url, answer.headers.get("location", ""))
        raise TryLater(f"{self._place}: it sends on from address to address, more than {HOPS} times")

    def _next_address(self, url: str, location: str) -> str:
        try:
            target = urljoin(url, location)
            parts = urlsplit(target)
            allowed = bool(location) and bool(origin(parts)) and self._may_follow(target)
        except ValueError:
            allowed = False
        if not allowed:
            raise TryLater(
                f"{self._place}: it sends on to an address that is not followed; expected https, or the same registry"
            )
        return target

    def _may_follow(self, target: str) -> bool:
        """Return whether a redirect is followed: within the registry itself, or as `may_follow` says."""
        base, parts = urlsplit(self._base), urlsplit(target)
        return origin(parts) == origin(base) or may_follow(parts, base.hostname or "")

    def _send(self, method: str, url: str, limit_bytes: int, headers: Mapping[str, str]) -> Answer:
        """Return one answer with its body; TryLater where there is none, TooLong where it does not end."""
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TryLater(f"{self._place}: one look took longer than {self._limits.look_s:.0f} s; the next goes on")
        traced = {"trace": self._connections.note}
        try:
            with (
                self._connections.within(min(self._limits.answer_s, left_s)),
                self._http.stream(method, url, headers=headers, extensions=traced) as response,
            ):
                body = response.read() if method == "HEAD" else _read(response, limit_bytes)
                return Answer(status=response.status_code, headers=response.headers, body=body)
        except Overdue as error:
            raise TryLater(
                f"{self._place}: an answer was not complete after {min(self._limits.answer_s, left_s):.0f} s"
            ) from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise UserError(f"{self._place}: it, or where it sends on to, is no address that can be asked") from error
        except httpx.TimeoutException as error:
            raise TryLater(f"{self._place}: no answer within {self._limits.silence_s:.0f} s") from error
        except httpx.HTTPError as error:
            raise TryLater(f"{self._place}: {_explain(error)}") from error

    def _refuse(self, answer: Answer) -> NoReturn:
        """Raise what a status means: UserError where somebody must change something, TryLater where waiting helps."""
        status = answer.status
        if status in (401, 403, 407):
            who = f"the login {self._login.username!r} was refused" if self._login else "it was asked without a login"
            raise UserError(
                f"{self._place}: {self._repository.path} may not be read (HTTP {status}); {who}: check the name, and "
                "the login in [[registries]] or of docker on this machine"
            )
        if status >= 500 or status < 400 or status in _BUSY:
            wait_s = read_retry_after(answer.headers.get("retry-after", ""))
            limit = "too many requests" if status == 429 else f"answered HTTP {status}"
            told = f"; it asks to wait {wait_s:.0f} s" if wait_s is not None else ""
            raise TryLater(f"{self._place}: {limit}{told}", after_s=wait_s)
        raise UserError(f"{self._place}: answered HTTP {status}; is this the address of a container registry?")


def _read(response: httpx.Response, limit_bytes: int) -> bytes:
    """Return the body; of an answer that is no success at most so much as a message takes."""
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > limit_bytes:
            if not response.is_success:
                return b""
            raise TooLong(f"the answer is longer than {limit_bytes / MIB:g} MiB")
    return bytes(body)


def hash_content(body: bytes) -> str:
    """Return the digest of a manifest or a blob."""
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def _explain(error: httpx.HTTPError) -> str:
    """Return a line about a failed request, with the cure where there is a usual one."""
    text = str(error) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return f"its certificate is not trusted ({text}); name the file to trust as ca_file in [[registries]]"
    return f"cannot be reached ({text})"
