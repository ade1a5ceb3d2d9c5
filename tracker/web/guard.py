"""The guard: who may ask, and who may change something.

- Every request must name this service as its host, so that a foreign name that points here (DNS rebinding) gets
  nothing.
- A request that changes something must come from one of our own pages, or carry an API token. A foreign page in
  somebody's browser can do neither, so it can spend nobody's machine hours.
- Where the service listens beyond this machine, changing something always needs a token.
- What a request may send along is limited, so that nobody fills the memory of the machine that measures.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracker.settings import Settings

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
TOKEN_COOKIE = "tracker_token"
SIGN_IN_PATH = "/sign-in"
BODY_LIMIT_BYTES = 64 * 1024
RESULTS_PATH = "/api/v1/results"
"""Result files are uploaded here: streamed, and larger than anything else that is sent."""
UPLOAD_LIMIT_BYTES = 256 * 1024 * 1024
LOCAL_NAME = "page"
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a request is not served, in words that say what to do."""

    reason: str
    status: int = 403


Refuse = Callable[[Request, Refusal], Response]
VerifyToken = Callable[[str], str | None]


def is_loopback(host: str) -> bool:
    """Return whether a host name or address means this machine only."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_host(host: str | None, settings: Settings) -> Refusal | None:
    """Return why a Host header is not ours; None when it is.

    Ours are names of this machine, the configured host and that of `public_url`; where the service listens on all
    addresses, any address (not name) too, since only names can be made to point here.
    """
    name = _host_name(host)
    if name is None:
        return Refusal(reason="the request does not say which host it wants; send a Host header", status=400)
    public = urlsplit(settings.public_url).hostname if settings.public_url else None
    if is_loopback(name) or name in (settings.host, public):
        return None
    if settings.host in ("0.0.0.0", "::", "") and _is_address(name):
        return None
    return Refusal(
        reason=f"this service is not known as {name[:100]!r}; use the address it was started with, or set public_url"
        " (TRACKER_PUBLIC_URL) to the address people use"
    )


def _host_name(host: str | None) -> str | None:
    """Return the name in a Host header without its port; None when there is none."""
    try:
        return urlsplit(f"//{host}").hostname if host and not set(host) & set("/@\\?# \t") else None
    except ValueError:
        return None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def check_origin(
    headers: Headers, scheme: str, settings: Settings, *, token: bool, content_type: str = "application/json"
) -> Refusal | None:
    """Return why a request that changes something may be a foreign page's; None when it is not.

    A browser says where a request comes from in Sec-Fetch-Site and Origin; both must be ours. What says neither is
    no browser, and must carry a valid token and the content type that no form of a foreign page can send.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None and site != "same-origin":
        return Refusal(reason="this request comes from another site; open the service's own page and use its buttons")
    if origin is not None:
        public = settings.public_url.rstrip("/") if settings.public_url else None
        if origin in (f"{scheme}://{headers.get('host')}", public):
            return None
        return Refusal(reason=f"this request comes from {origin[:100]}, not from one of the service's own pages")
    if site is not None:
        return None
    if not token:
        return Refusal(reason="send 'Authorization: Bearer TOKEN'; `tracker tokens create NAME` makes a token")
    if headers.get("content-type", "").split(";")[0].strip() != content_type:
        return Refusal(reason=f"send 'Content-Type: {content_type}'", status=415)
    return None


class Guard:
    """ASGI middleware: refuses what is not ours and adds the headers that keep pages safe."""

    def __init__(self, app: ASGIApp, *, settings: Settings, verify_token: VerifyToken, refuse: Refuse) -> None:
        self.app = app
        self.settings = settings
        self.verify_token = verify_token
        self.refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, or say why not."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        scope.setdefault("state", {})["who"] = None
        refusal = check_host(headers.get("host"), self.settings)
        if refusal is None and scope["method"] not in SAFE_METHODS:
            refusal = await self._check_change(scope, headers)
            if refusal is None:
                if scope["path"] == RESULTS_PATH:
                    refusal = _check_upload(headers)
                else:
                    receive, refusal = await _limit_body(receive)
        served = self.app if refusal is None else self.refuse(Request(scope), refusal)
        await served(scope, receive, _add_headers(send))

    async def _check_change(self, scope: Scope, headers: Headers) -> Refusal | None:
        """Return why a request may change nothing; None when it may, and note who asks."""
        given = _find_token(Request(scope))
        who = await run_in_threadpool(self.verify_token, given) if given else None
        kind = "application/octet-stream" if scope["path"] == RESULTS_PATH else "application/json"
        refusal = check_origin(headers, scope["scheme"], self.settings, token=who is not None, content_type=kind)
        if refusal is not None:
            return refusal
        needs_token = not is_loopback(self.settings.host) and scope["path"] != SIGN_IN_PATH
        if who is None and (needs_token or headers.get("authorization")):
            why = "this token is not valid" if given else "changing something needs an API token here"
            return Refusal(
                reason=f"{why}: sign in at {SIGN_IN_PATH}, or send 'Authorization: Bearer TOKEN'"
                " (`tracker tokens create NAME` makes a token)",
                status=401,
            )
        scope["state"]["who"] = who or LOCAL_NAME
        return None


def _check_upload(headers: Headers) -> Refusal | None:
    """Return why an upload is too large by its own word; what does not say is counted as it comes."""
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) > UPLOAD_LIMIT_BYTES:
        return Refusal(reason=f"the file is larger than {UPLOAD_LIMIT_BYTES} bytes", status=413)
    return None


async def _limit_body(receive: Receive) -> tuple[Receive, Refusal | None]:
    """Return a source of the request's body, read already, and None; or why it is too large."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > BODY_LIMIT_BYTES:
            return receive, Refusal(reason=f"the request is larger than {BODY_LIMIT_BYTES} bytes", status=413)
        if not message.get("more_body"):
            break
    waiting = [{**message, "body": body}]

    async def give() -> Message:
        return waiting.pop() if waiting else await receive()

    return give, None


def _find_token(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else request.cookies.get(TOKEN_COOKIE)


def _add_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: Any = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
