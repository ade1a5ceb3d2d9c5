"""Posts to one Slack channel, changes its message when an alert changes, and puts the chart into the thread.

Options: `channel` (an id such as C0123456789, or a name), `timeout_s` (10), `base_url` (Slack's own).
Secret: `token`, a bot token with the scopes chat:write and files:write.
"""

from __future__ import annotations

import http.client
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web import SlackResponse

from alerts.blocks import to_blocks, to_fallback
from alerts.errors import AlertsError, TryLater, UserError
from alerts.options import read_seconds, read_secret, read_text, refuse_unknown
from alerts.protocol import Outgoing, Receipt
from alerts.secret import Secret

EVENT_TYPE = "regression_tracker_delivery"
_SLACK = "https://slack.com/api/"
_LOOK_BACK = 100
_GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})
_BUSY = frozenset(
    {"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
)
_CURES = {
    "invalid_auth": "the token is not valid: copy the bot token (xoxb-...) of the installed app again",
    "not_authed": "the token is not valid: copy the bot token (xoxb-...) of the installed app again",
    "account_inactive": "the token belongs to a removed app or user: install the app again",
    "token_revoked": "the token was revoked: install the app again",
    "missing_scope": "the app lacks a scope: add chat:write and files:write, then install it again",
    "channel_not_found": "there is no such channel, or it is private: check it and invite the app",
    "not_in_channel": "the app is not in the channel: /invite it there",
    "is_archived": "the channel is archived: choose another",
}


class SlackRefused(UserError):
    """Slack answered, and said no; `code` is its word for why."""

    def __init__(self, code: str) -> None:
        cure = _CURES.get(code, "see Slack's list of errors for the method")
        super().__init__(f"slack sink: Slack refused the message ({code}): {cure}")
        self.code = code


class SlackSink:
    """One channel of one workspace."""

    def __init__(self, client: WebClient, channel: str) -> None:
        self._client = client
        self._channel = channel

    def deliver(self, outgoing: Outgoing) -> Receipt:
        """Return where the message is; a picture that could not be added is a warning on the receipt."""
        receipt = self._change(outgoing) or self._find(outgoing) or self._post(outgoing)
        earlier = outgoing.update_of
        if earlier is not None and earlier.reference == receipt.reference and earlier.picture:
            return replace(receipt, picture=earlier.picture)
        return receipt if outgoing.picture is None else self._add_picture(outgoing, outgoing.picture, receipt)

    def _post(self, outgoing: Outgoing) -> Receipt:
        answer = _ask(
            self._client.chat_postMessage,
            channel=self._channel,
            unfurl_links=False,
            unfurl_media=False,
            **_write(outgoing),
        )
        return _make_receipt(answer["channel"], answer["ts"])

    def _change(self, outgoing: Outgoing) -> Receipt | None:
        """Return the receipt of the changed message; None where there is nothing (any more) that can be changed."""
        earlier = outgoing.update_of
        if earlier is None or not earlier.reference:
            return None
        try:
            answer = _ask(self._client.chat_update, channel=earlier.target, ts=earlier.reference, **_write(outgoing))
        except SlackRefused as error:
            if error.code in _GONE:
                return None
            raise
        return _make_receipt(answer["channel"], answer["ts"])

    def _find(self, outgoing: Outgoing) -> Receipt | None:
        """Return the receipt of a message that an unanswered earlier try left; None where that cannot be known."""
        if not outgoing.maybe_sent:
            return None
        history = self._client.conversations_history
        try:
            answer = _ask(history, channel=self._channel, limit=_LOOK_BACK, include_all_metadata=True)
        except SlackRefused:
            return None
        for message in answer.get("messages") or ():
            if _delivery_of(message) == outgoing.delivery_id:
                return _make_receipt(self._channel, message["ts"])
        return None

    def _add_picture(self, outgoing: Outgoing, picture: bytes, receipt: Receipt) -> Receipt:
        try:
            answer = _ask(
                self._client.files_upload_v2,
                channel=receipt.target,
                thread_ts=receipt.reference,
                content=picture,
                filename="trend.png",
                title=outgoing.message.title[:200],
                alt_txt=outgoing.message.summary[:900],
            )
        except AlertsError as error:
            return replace(receipt, warning=f"the chart was not added: {error}")
        return replace(receipt, picture=answer["files"][0]["id"])


def create(options: Mapping[str, object], secrets: Mapping[str, Secret]) -> SlackSink:
    """Return a sink for one channel; nothing is sent yet."""
    refuse_unknown("slack", options, ("channel", "timeout_s", "base_url"))
    timeout_s = read_seconds("slack", options, "timeout_s", 10.0)
    client = WebClient(
        token=read_secret("slack", secrets, "token").reveal().strip(),
        base_url=_check_address(read_text("slack", options, "base_url", _SLACK)),
        timeout=max(1, round(timeout_s)),
        retry_handlers=[],
    )
    return SlackSink(client, read_text("slack", options, "channel"))


def _check_address(address: str) -> str:
    """Return the address with a slash at its end; the token travels unencrypted to this machine only."""
    parts = urlsplit(address)
    local = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise UserError(f"slack sink: base_url must start with https://, found {address!r}")
    return address.rstrip("/") + "/"


def _write(outgoing: Outgoing) -> dict[str, Any]:
    """Return the arguments that posting and changing share; the metadata names the delivery to later tries."""
    payload = {"delivery_id": outgoing.delivery_id, "kind": outgoing.kind.value}
    return {
        "text": to_fallback(outgoing.message),
        "blocks": to_blocks(outgoing.message),
        "metadata": {"event_type": EVENT_TYPE, "event_payload": payload},
    }


def _delivery_of(message: Mapping[str, Any]) -> str | None:
    metadata = message.get("metadata") or {}
    if metadata.get("event_type") != EVENT_TYPE:
        return None
    delivery_id = (metadata.get("event_payload") or {}).get("delivery_id")
    return delivery_id if isinstance(delivery_id, str) else None


def _make_receipt(channel: str, ts: str) -> Receipt:
    return Receipt(sink="slack", target=channel, reference=ts)


def _ask(method: Callable[..., SlackResponse], **arguments: Any) -> SlackResponse:
    """Return Slack's answer to one call; raise SlackRefused for a no, TryLater for anything that may pass."""
    try:
        return method(**arguments)
    except SlackApiError as error:
        raise _translate(error) from error
    except HTTPError as error:
        error.close()
        raise TryLater(f"slack sink: the upload failed with HTTP status {error.code}") from error
    except (SlackClientError, OSError, http.client.HTTPException) as error:
        raise TryLater(f"slack sink: Slack cannot be reached: {error}") from error


def _translate(error: SlackApiError) -> AlertsError:
    status, headers = error.response.status_code, error.response.headers
    code = str(error.response.get("error") or "")
    if status == 429 or code in _BUSY or status >= 500:
        return TryLater(f"slack sink: Slack takes no messages now (HTTP status {status})", retry_after_s=_wait(headers))
    if not re.fullmatch(r"[a-z0-9_]+", code):
        return TryLater(f"slack sink: the answer is not Slack's (HTTP status {status}): {code[:200]!r}")
    return SlackRefused(code)


def _wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header, None where there is none."""
    value = {name.lower(): text for name, text in headers.items()}.get("retry-after", "")
    return float(value) if re.fullmatch(r"[0-9]{1,6}", value) else None
