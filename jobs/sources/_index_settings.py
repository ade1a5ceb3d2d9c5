"""Which package indexes this machine is set up for, and the certificates to trust: asked of its environment and pip."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from jobs.errors import UserError

_INDEX_VARIABLES = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
_EXTRA_VARIABLES = ("PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL")
_CA_VARIABLES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_PIP_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSettings:
    """The main index first, then the extra ones; `ca` is a file or folder of certificates, None for the system's."""

    urls: tuple[str, ...]
    ca: str | None = None


def find_settings(
    environ: Mapping[str, str], index_url: str | None = None, pythons: tuple[str, ...] | None = None
) -> IndexSettings:
    """Return this machine's settings, in the order in which pip and uv look; `index_url` replaces the indexes.

    `pythons` are asked for their pip, the first that has one answers: this program's own, then the one its environment
    was made from (an environment made by uv has no pip).
    """
    asked = _own_pythons() if pythons is None else pythons
    pip = _pip_settings(asked, environ.get("PIP_CONFIG_FILE"))
    ca = _first(environ, _CA_VARIABLES) or pip.get("cert")
    if index_url:
        return IndexSettings(urls=(index_url,), ca=ca)
    main = _first(environ, _INDEX_VARIABLES) or pip.get("index-url") or _public_default(asked)
    extra = (_first(environ, _EXTRA_VARIABLES) or pip.get("extra-index-url", "")).split()
    # uv writes an index as `name=url`
    urls = [re.sub(r"^[A-Za-z0-9_.-]+=(?=[a-z]+:)", "", url) for url in (main, *extra)]
    return IndexSettings(
        urls=tuple(dict.fromkeys([urls[0], *(u for u in urls[1:] if not u.startswith("file:"))])), ca=ca
    )


def configured_index() -> str | None:
    """Return the index that pip's settings name, for installers that do not read them; None where they name none."""
    return _pip_settings(_own_pythons(), os.environ.get("PIP_CONFIG_FILE")).get("index-url")


def split_credentials(url: str) -> tuple[str, str]:
    """Return the URL without credentials and query, and the credentials as written (empty if none)."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UserError(
            "the package index's URL cannot be read; expected https://host/path, check PIP_INDEX_URL"
        ) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(
            f"the package index's URL must begin with https:// or http:// and name a host, found one that begins with "
            f"{parts.scheme + ':' if parts.scheme else 'neither'!r}; check PIP_INDEX_URL and pip's index-url"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    place = f"{host}:{port}" if port else host
    return urlunsplit((parts.scheme, place, parts.path, "", "")), parts.netloc.rpartition("@")[0]


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((environ[name].strip() for name in names if environ.get(name, "").strip()), None)


@lru_cache(maxsize=8)
def _pip_settings(pythons: tuple[str, ...], config_file: str | None) -> dict[str, str]:
    """Return pip's settings for installing, once per process and configuration file; empty where there is no pip."""
    listing = _ask_pip(pythons, "config", "list")
    settings: dict[str, str] = {}
    for section in ("global", "install"):
        for name, value in re.findall(rf"^{section}\.([a-z-]+)=(.*)$", listing or "", re.MULTILINE):
            try:
                settings[name] = str(ast.literal_eval(value)).strip()
            except (ValueError, SyntaxError):
                continue
    return settings


@lru_cache(maxsize=8)
def _public_default(pythons: tuple[str, ...]) -> str:
    """Return the index that pip uses when nobody told it otherwise, from its own help text."""
    text = _ask_pip(pythons, "--isolated", "install", "--help") or ""
    found = re.search(r"--index-url\b.*?\(default\s+(\S+?)\)", text, re.DOTALL)
    if not found:
        raise UserError(
            "no package index is set up and there is no pip to ask for the usual one: "
            "set PIP_INDEX_URL to the index that packages come from"
        )
    return found[1]


def _own_pythons() -> tuple[str, ...]:
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    return tuple(dict.fromkeys([sys.executable, getattr(sys, "_base_executable", sys.executable), str(base)]))


def _ask_pip(pythons: tuple[str, ...], *arguments: str) -> str | None:
    """Return what the first pip that there is prints; None if there is none or it fails."""
    for python in pythons:
        try:
            done = subprocess.run(
                [python, "-m", "pip", *arguments],
                capture_output=True,
                text=True,
                timeout=_PIP_TIMEOUT_S,
                check=False,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "COLUMNS": "200", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            )
        except (OSError, subprocess.SubprocessError):
            continue
        if done.returncode == 0:
            return done.stdout
    return None
