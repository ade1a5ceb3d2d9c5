"""What a repository and a platform are called: `nvcr.io/nvidia/tensorrt`, `vllm/vllm-openai`, `linux/arm64/v8`."""

from __future__ import annotations

import ipaddress
import platform
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from jobs.errors import UserError

HUB = "docker.io"
_HUB_API = "registry-1.docker.io"
_HUB_NAMES = (HUB, _HUB_API, "index.docker.io", "registry.hub.docker.com", "https://index.docker.io/v1/")
_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_PATH = re.compile(rf"{_PART}(?:/{_PART})*")
_HOST = re.compile(r"(?:\[[0-9a-fA-F:]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::[0-9]{1,5})?")
_PLATFORM = re.compile(r"[a-z0-9_.-]+/[a-z0-9_.-]+(?:/[a-z0-9_.-]+)?")
_PROCESSORS = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """Where images of one name are kept."""

    host: str
    """As engines write it, with the port if it has one: `nvcr.io`, `docker.io`, `127.0.0.1:5000`."""
    path: str

    @property
    def name(self) -> str:
        """The whole name, as an engine pulls it."""
        return f"{self.host}/{self.path}"

    def api_url(self, *, plain_http: bool) -> str:
        """Return where its API answers; a registry on this machine is asked without TLS, as engines do."""
        host = _HUB_API if self.host == HUB else self.host
        plain = plain_http or is_loopback(urlsplit(f"//{host}").hostname or "")
        return f"{'http' if plain else 'https'}://{host}/v2/{self.path}"


def read_repository(name: str) -> Repository:
    """Return the repository of that name; one without a host is Docker Hub's. UserError says what is wrong."""
    text = name.strip()
    if "://" in text or "@" in text:
        raise UserError(
            f"source oci_registry: repository {_shown(text)!r}: expected HOST/NAME without https:// and without a "
            "login or digest, such as nvcr.io/nvidia/tensorrt-llm/release"
        )
    first, slash, rest = text.partition("/")
    has_host = bool(slash) and ("." in first or ":" in first or first == "localhost")
    host, path = (read_host(first), rest) if has_host else (HUB, text)
    if host == HUB and "/" not in path:
        path = f"library/{path}"
    if ":" in path:
        raise UserError(f"source oci_registry: repository {text!r}: leave the tag out, all tags are looked at")
    if host is None or not _PATH.fullmatch(path) or len(path) > 255:
        raise UserError(
            f"source oci_registry: repository {text!r} is no name of a repository; expected HOST/NAME in lower case, "
            "such as nvcr.io/nvidia/tensorrt-llm/release or vllm/vllm-openai"
        )
    return Repository(host=host, path=path)


def read_host(text: str) -> str | None:
    """Return a registry's host as it is compared, Docker Hub's names as one; None for what is no host."""
    host = text.strip().lower()
    if host in _HUB_NAMES:
        return HUB
    return host if _HOST.fullmatch(host) else None


def is_loopback(host: str) -> bool:
    """Return whether a host's name or address means this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def may_follow(url: SplitResult, registry_host: str) -> bool:
    """Return whether a registry may send one on to an address: https elsewhere, or this machine from this machine.

    No registry out there may have this machine asked, and none may have TLS left off.
    """
    here, there = is_loopback(registry_host), is_loopback(url.hostname or "")
    return (there and here and url.scheme in ("http", "https")) or (not there and url.scheme == "https")


def origin(url: SplitResult) -> tuple[str, str, int | None]:
    """Return scheme, host and port: credentials stay within one. ValueError for a port that is none."""
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    return url.scheme, (url.hostname or "").lower(), port


def own_platform() -> str:
    """Return this machine's platform as images name it."""
    machine = platform.machine().lower()
    return f"linux/{_PROCESSORS.get(machine, machine)}"


def read_platform(text: str) -> str:
    """Return a platform such as `linux/amd64`, 64-bit Arm without its only variant; UserError for anything else."""
    if not _PLATFORM.fullmatch(text):
        raise UserError(
            f"source oci_registry: option 'platforms': {text!r} is no platform; expected OS/PROCESSOR such as "
            "linux/amd64 or linux/arm64"
        )
    return text.removesuffix("/v8") if text.endswith("/arm64/v8") else text


def _shown(text: str) -> str:
    """Return a name without what may be a login in it."""
    scheme, mark, rest = text.rpartition("://")
    return f"{scheme}{mark}***@{rest.rpartition('@')[2]}" if "@" in rest else text
