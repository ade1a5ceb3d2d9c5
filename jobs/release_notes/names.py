"""Where a publisher's notes are: the repository and the interface it is read over."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

API = "https://api.github.com"
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_LOCAL = ("127.0.0.1", "::1", "localhost")


def check_repository(name: str) -> str:
    """Return the name; ValueError where it is not OWNER/NAME."""
    if not _REPOSITORY.fullmatch(name):
        raise ValueError(f"expected OWNER/NAME as in NVIDIA/TensorRT-LLM, found {name[:100]!r}")
    return name


def check_api(address: str) -> str:
    """Return the address without a slash at its end; ValueError where a token would travel unencrypted."""
    parts = urlsplit(address)
    local = parts.scheme == "http" and parts.hostname in _LOCAL
    if not (parts.scheme == "https" or local) or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ValueError("expected an https address such as https://github.example.com/api/v3")
    return address.rstrip("/")
