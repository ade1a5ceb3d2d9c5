"""Enough of Slack's Web API, on loopback, for slack-sdk's real client: post, update, history, upload, and failures."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

TOKEN = "xoxb-the-right-one"
CHANNELS = {"C0123456789": "C0123456789", "#perf": "C0123456789"}


@dataclass
class Failure:
    """The next call of a method answers with this instead."""

    method: str
    status: int = 200
    error: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    after: bool = False
    """True: the call is carried out, and only its answer is lost."""


@dataclass
class SlackServer:
    """What the server holds: look at `messages`, `files` and `calls`; append to `failures` to break it."""

    base_url: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    scopes: set[str] = field(default_factory=lambda: {"chat:write", "files:write", "channels:history"})

    def answer(self, method: str, given: dict[str, Any]) -> dict[str, Any]:
        """Return Slack's answer to one call of a method."""
        known = {
            "chat.postMessage": self._post,
            "chat.update": self._update,
            "conversations.history": self._history,
            "files.getUploadURLExternal": self._offer_upload,
            "files.completeUploadExternal": self._complete_upload,
        }
        return known[method](given) if method in known else _refuse("unknown_method")

    def _post(self, given: dict[str, Any]) -> dict[str, Any]:
        channel = CHANNELS.get(given.get("channel", ""))
        if channel is None:
            return _refuse("channel_not_found")
        if len(given.get("blocks") or ()) > 50:
            return _refuse("invalid_blocks")
        ts = f"1700000000.{len(self.messages) + 1:06d}"
        self.messages.append({**given, "channel": channel, "ts": ts})
        return {"ok": True, "channel": channel, "ts": ts}

    def _update(self, given: dict[str, Any]) -> dict[str, Any]:
        for message in self.messages:
            if (message["channel"], message["ts"]) == (given.get("channel"), given.get("ts")):
                message.update(given)
                return {"ok": True, "channel": message["channel"], "ts": message["ts"]}
        return _refuse("message_not_found" if given.get("channel") in CHANNELS.values() else "channel_not_found")

    def _history(self, given: dict[str, Any]) -> dict[str, Any]:
        if "channels:history" not in self.scopes:
            return _refuse("missing_scope")
        if given.get("channel") not in CHANNELS.values():
            return _refuse("channel_not_found")
        return {"ok": True, "messages": list(reversed(self.messages))}

    def _offer_upload(self, given: dict[str, Any]) -> dict[str, Any]:
        file_id = f"F{len(self.files) + 1:03d}"
        self.files[file_id] = {"name": given["filename"], "length": int(given["length"])}
        return {"ok": True, "file_id": file_id, "upload_url": f"{self.base_url}upload/{file_id}"}

    def _complete_upload(self, given: dict[str, Any]) -> dict[str, Any]:
        files = given["files"]
        listed = json.loads(files) if isinstance(files, str) else files
        for one in listed:
            self.files[one["id"]].update(
                title=one["title"], channel=given.get("channel_id"), thread_ts=given.get("thread_ts")
            )
        return {"ok": True, "files": [{"id": one["id"], "title": one["title"]} for one in listed]}


@contextmanager
def serve_slack() -> Iterator[SlackServer]:
    """Yield a running server; its `base_url` is what the sink's option of that name takes."""
    state = SlackServer()
    handler = type("Handler", (_Handler,), {"state": state})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        state.base_url = f"http://127.0.0.1:{server.server_address[1]}/api/"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


def _refuse(error: str) -> dict[str, Any]:
    return {"ok": False, "error": error}


class _Handler(BaseHTTPRequestHandler):
    state: SlackServer

    def do_POST(self) -> None:
        method = self.path.removeprefix("/api/").partition("?")[0]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.state.calls.append(method)
        failure = self._take_failure(method)
        if failure is not None and not failure.after:
            return self._fail(failure)
        answer = self._carry_out(method, body)
        if failure is not None:
            return self._fail(failure)
        return self._send(200, answer, {"Content-Type": "application/json; charset=utf-8"})

    def _carry_out(self, method: str, body: bytes) -> bytes:
        if method.startswith("upload/"):
            self.state.files[method.removeprefix("upload/")]["bytes"] = body
            return b"OK"
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return json.dumps(_refuse("invalid_auth")).encode()
        return json.dumps(self.state.answer(method, _read_form(self.headers, body))).encode()

    def _take_failure(self, method: str) -> Failure | None:
        for failure in self.state.failures:
            if method.startswith(failure.method):
                self.state.failures.remove(failure)
                return failure
        return None

    def _fail(self, failure: Failure) -> None:
        body = failure.body if failure.body is not None else json.dumps(_refuse(failure.error)).encode()
        self._send(failure.status, body, {"Content-Type": "application/json; charset=utf-8", **failure.headers})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body)), "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test output clean."""


def _read_form(headers: Message, body: bytes) -> dict[str, Any]:
    """Return the arguments of a call, however the client chose to send them."""
    kind = headers.get_content_type()
    if kind == "application/json":
        return dict(json.loads(body))
    if kind == "multipart/form-data":
        whole = BytesParser().parsebytes(b"Content-Type: " + headers["Content-Type"].encode() + b"\r\n\r\n" + body)
        parts = whole.get_payload()
        return {part.get_param("name", header="Content-Disposition"): part.get_payload() for part in parts}
    return dict(parse_qsl(body.decode(), keep_blank_values=True))
