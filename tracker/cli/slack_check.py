"""Whether Slack takes a token: one question to its API (auth.test), which sends nothing to anybody."""

from __future__ import annotations

import json
from urllib.error import URLError
from urllib.request import Request, urlopen

from tracker.errors import TryLater, UserError

ANSWER_WITHIN_S = 10
ANSWER_LIMIT_BYTES = 100_000


def check_token(api_url: str, token: str) -> str:
    """Return the name of the token's workspace; UserError when Slack refuses it, TryLater without an answer."""
    try:
        request = Request(f"{api_url.rstrip('/')}/auth.test", data=b"", headers={"Authorization": f"Bearer {token}"})
        if request.type not in ("http", "https"):
            raise UserError(f"slack.api_url: expected an https address, found {api_url!r}")
        with urlopen(request, timeout=ANSWER_WITHIN_S) as response:
            answer = json.loads(response.read(ANSWER_LIMIT_BYTES))
    except (URLError, TimeoutError) as error:
        raise TryLater(f"Slack at {api_url} did not answer ({getattr(error, 'reason', error)})") from error
    except ValueError as error:
        raise UserError(f"what answers at {api_url} is not Slack's API; check slack.api_url") from error
    if not isinstance(answer, dict) or not answer.get("ok"):
        why = answer.get("error", "no reason given") if isinstance(answer, dict) else "no reason given"
        raise UserError(f"Slack refused the token ({why})")
    return str(answer.get("team", "Slack"))
