"""Getting in: what a registry asks for (its challenges), and the Authorization header that answers it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from jobs.errors import TryLater, UserError
from jobs.sources._registry_logins import Login
from jobs.sources._registry_names import Repository, may_follow, origin

_PAIR = re.compile(r'([A-Za-z_][A-Za-z0-9_-]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_SCHEME = re.compile(r"(?:^|,)\s*(Basic|Bearer|Negotiate|Digest|NTLM)(?=\s|,|$)", re.IGNORECASE)
_HEADER_SAFE = re.compile(r"[\x21-\x7e]{1,65536}")

AskToken = Callable[[str, Mapping[str, str]], bytes]
"""Gets a URL with these headers and returns the body of a good answer; it raises for any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """One way in that a registry offers."""

    scheme: str
    """`basic`, `bearer` or another, in lower case."""
    values: Mapping[str, str] = field(default_factory=dict)


def read_challenges(headers: Sequence[str]) -> list[Challenge]:
    """Return the challenges of WWW-Authenticate headers; several may stand in one."""
    found = []
    for header in headers:
        starts = [*_SCHEME.finditer(_without_quoted(header))]
        ends = [*(match.start() for match in starts[1:]), len(header)]
        for match, end in zip(starts, ends, strict=False):  # without any start there is one end too many
            pairs = _PAIR.findall(header[match.end() : end])
            values = {key.lower(): re.sub(r"\\(.)", r"\1", quoted) or plain for key, quoted, plain in pairs}
            found.append(Challenge(scheme=match[1].lower(), values=values))
    return found


def answer_challenges(
    challenges: Sequence[Challenge], repository: Repository, login: Login | None, ask: AskToken
) -> str:
    """Return the Authorization header that lets one read a repository.

    Bearer is preferred to Basic. UserError where a login is needed or no way in is known.
    """
    ways = {challenge.scheme: challenge for challenge in reversed(challenges)}
    if "bearer" in ways:
        return "Bearer " + _get_token(ways["bearer"], repository, login, ask)
    if "basic" in ways:
        if login is None:
            raise UserError(
                f"registry {repository.host}: it asks for a user name and a password to read {repository.path}; give "
                "them in [[registries]], or log in with docker or podman on this machine"
            )
        return login.header
    offered = ", ".join(sorted(ways)) or "none"
    raise UserError(
        f"registry {repository.host}: expected that it asks for a token or a password, found other ways in ({offered})"
    )


def token_url(challenge: Challenge, repository: Repository) -> str:
    """Return where to get the token: the realm, with the scope and the service it does not hold already.

    Docker Hub names a service and a scope beside the realm; nvcr.io's realm has the scope in it, and no service.
    """
    realm = challenge.values.get("realm", "")
    parts = _split(realm)
    if parts is None or not may_follow(parts, urlsplit(f"//{repository.host}").hostname or ""):
        raise UserError(
            f"registry {repository.host}: it gives out tokens at {_shown(realm)}, expected an https:// address; no "
            "login is sent there"
        )
    query = parse_qsl(parts.query, keep_blank_values=True)
    known = {key for key, _ in query}
    if "service" not in known and challenge.values.get("service"):
        query.append(("service", challenge.values["service"]))
    if "scope" not in known:
        scope = challenge.values.get("scope") or f"repository:{repository.path}:pull"
        query += [("scope", part) for part in scope.split(" ") if part]
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(query), ""))


def _get_token(challenge: Challenge, repository: Repository, login: Login | None, ask: AskToken) -> str:
    headers = {"Authorization": login.header} if login else {}
    body = ask(token_url(challenge, repository), headers)
    try:
        answer = json.loads(body)
        token = answer.get("token") or answer.get("access_token")
    except (ValueError, AttributeError, RecursionError):
        token = None
    if not isinstance(token, str) or not _HEADER_SAFE.fullmatch(token):
        raise TryLater(f"registry {repository.host}: expected a token as JSON, found something else")
    return token


def _split(url: str) -> SplitResult | None:
    """Return the parts of an address; None where it has no host or cannot be one."""
    try:
        parts = urlsplit(url)
        return parts if parts.hostname and origin(parts) else None
    except ValueError:
        return None


def _without_quoted(header: str) -> str:
    """Return a header of the same length in which quoted texts are blank: a comma there separates nothing."""
    return re.sub(r'"(?:[^"\\]|\\.)*"', lambda match: '"' + "x" * (len(match[0]) - 2) + '"', header)


def _shown(url: str) -> str:
    """Return an address without login and query, short enough for a message."""
    parts = _split(url)
    return f"{parts.scheme}://{parts.hostname}{parts.path}"[:200] if parts else "no address"
