"""Releases on a Python package index: the wheels of one package, the best fitting one of each release."""

from __future__ import annotations

import hashlib
import os
import re
import ssl
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import httpx
from packaging.utils import InvalidName, InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from packaging.version import Version

from jobs.errors import TryLater, UserError
from jobs.protocols import PublishedBuild, ReleaseSource, SourceAnswer
from jobs.sources._answers import check_options, make_answer
from jobs.sources._index_pages import ACCEPT, IndexFile, NotAPage, read_page
from jobs.sources._index_settings import configured_index, find_settings, split_credentials
from jobs.sources._wheels import Wheel, choose_wheel, make_wheel_build, read_wheel_name, this_host
from jobs.waiting import Connections, Overdue

__all__ = ["configured_index", "create"]

ANSWER_LIMIT_BYTES = 64 * 1024 * 1024
SILENCE_LIMIT_S = 30.0
ANSWER_LIMIT_S = 180.0
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!~-]*")


def create(options: Mapping[str, object], *, transport: httpx.BaseTransport | None = None) -> ReleaseSource:
    """Return the source for one package: `package` is its name, `index_url` an index of its own if it has one."""
    given = check_options("package_index", options, {"package": True, "index_url": False})
    try:
        package = canonicalize_name(given["package"], validate=True)
    except InvalidName as error:
        raise UserError(f"source package_index: {given['package']!r} cannot be the name of a package") from error
    index_url = given.get("index_url")
    if index_url and split_credentials(index_url)[1]:
        raise UserError(
            "source package_index: index_url must hold no user name or password, since options are stored and shown; "
            "put them into PIP_INDEX_URL or pip's own settings"
        )
    return PackageIndex(package, index_url, transport)


class PackageIndex:
    """One package on the machine's indexes, or on the one named."""

    def __init__(self, package: str, index_url: str | None, transport: httpx.BaseTransport | None) -> None:
        self._package = package
        self._index_url = index_url
        self._transport = transport

    def list_builds(self) -> SourceAnswer:
        """Return one build per release: the wheel that fits this machine best, or why none does."""
        settings = find_settings(os.environ, self._index_url)
        files: dict[str, IndexFile] = {}
        unreadable: list[tuple[str, str]] = []
        answered = False
        with httpx.Client(
            transport=self._transport,
            verify=_trust(settings.ca),
            follow_redirects=True,
            timeout=SILENCE_LIMIT_S,
            headers={"Accept": ACCEPT},
        ) as client:
            for url in settings.urls:
                page = _ask_index(client, url, self._package)
                if page is None:
                    continue
                answered = True
                files = {**{file.filename: file for file in page[0]}, **files}
                unreadable += page[1]
        if not answered:
            places = ", ".join(split_credentials(url)[0] for url in settings.urls)
            raise UserError(f"no package named {self._package!r} on {places}: check the name, or set PIP_INDEX_URL")
        wheels, source_only, odd = _sort_files(files.values(), self._package)
        return make_answer(_choose_builds(wheels, source_only), unreadable + odd)


def _ask_index(
    client: httpx.Client, index_url: str, package: str
) -> tuple[list[IndexFile], list[tuple[str, str]]] | None:
    """Return the files one index lists for the package; None if it has no such package."""
    place, credentials = split_credentials(index_url)
    user, _, password = credentials.partition(":")
    # handed over apart from the URL, which is logged and quoted in errors
    auth = httpx.BasicAuth(unquote(user), unquote(password)) if credentials else None
    connections = Connections()
    try:
        with (
            connections.within(ANSWER_LIMIT_S),
            client.stream(
                "GET", f"{place.rstrip('/')}/{package}/", auth=auth, extensions={"trace": connections.note}
            ) as response,
        ):
            if response.status_code == httpx.codes.NOT_FOUND:
                return None
            _check_status(response.status_code, place)
            body = _read_body(response, place)
            return read_page(response.headers.get("content-type", ""), body)
    except Overdue as error:
        raise TryLater(f"package index {place}: the answer was not complete after {ANSWER_LIMIT_S:.0f} s") from error
    except NotAPage as error:
        raise TryLater(f"package index {place}: {error}") from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise UserError(
            f"package index {place}: it, or where it sends on to, is no address that can be asked"
        ) from error
    except httpx.TimeoutException as error:
        raise TryLater(f"package index {place}: no answer within {SILENCE_LIMIT_S:.0f} s") from error
    except httpx.HTTPError as error:
        raise TryLater(f"package index {place}: {_explain(error)}") from error


def _check_status(status: int, place: str) -> None:
    """Raise unless the answer is a page: the input is wrong where asking again cannot help."""
    if status == httpx.codes.OK:
        return
    if status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN, httpx.codes.PROXY_AUTHENTICATION_REQUIRED):
        raise UserError(f"package index {place}: refused (HTTP {status}); it needs a user name and a password or token")
    if status >= 500 or status in (httpx.codes.REQUEST_TIMEOUT, httpx.codes.TOO_MANY_REQUESTS) or status < 400:
        raise TryLater(f"package index {place}: answered HTTP {status} instead of a page")
    raise UserError(f"package index {place}: answered HTTP {status}; is this the address of a package index?")


def _read_body(response: httpx.Response, place: str) -> bytes:
    """Return the answer's body; raise TryLater where it is too long."""
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > ANSWER_LIMIT_BYTES:
            raise TryLater(f"package index {place}: the answer is longer than {ANSWER_LIMIT_BYTES >> 20} MiB")
    return bytes(body)


def _explain(error: httpx.HTTPError) -> str:
    """Return a line about a failed request, with the cure where there is a usual one."""
    if isinstance(error, httpx.TooManyRedirects):
        return "it sends on from address to address without end"
    text = str(error) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return f"its certificate is not trusted ({text}); set PIP_CERT to the file of certificates to trust"
    return f"cannot be reached ({text})"


def _trust(ca: str | None) -> ssl.SSLContext | bool:
    """Return the certificates to trust: a file, a folder, or the usual ones."""
    if ca is None:
        return True
    path = Path(ca)
    try:
        return ssl.create_default_context(
            cafile=None if path.is_dir() else str(path), capath=str(path) if path.is_dir() else None
        )
    except (OSError, ssl.SSLError) as error:
        raise UserError(
            f"the certificates in {ca} cannot be read ({error}); check PIP_CERT, SSL_CERT_FILE, REQUESTS_CA_BUNDLE "
            "and pip's cert setting"
        ) from error


def _sort_files(
    files: Iterable[IndexFile], package: str
) -> tuple[dict[Version, list[Wheel]], dict[Version, IndexFile], list[tuple[str, str]]]:
    """Return the wheels and the source distributions by version, and the files that are neither."""
    wheels: dict[Version, list[Wheel]] = defaultdict(list)
    sources: dict[Version, IndexFile] = {}
    odd: list[tuple[str, str]] = []
    for file in files:
        if not _PLAIN_NAME.fullmatch(file.filename):
            odd.append((file.filename, "not a plain file name"))
            continue
        try:
            if file.filename.endswith(".whl"):
                wheel = _read_wheel(file)
                name, version = wheel.name, wheel.version
            else:
                wheel = None
                name, version = parse_sdist_filename(file.filename)
        except (ValueError, InvalidSdistFilename) as error:
            odd.append((file.filename, str(error)))
            continue
        if name != package:
            odd.append((file.filename, f"belongs to {name}, not to {package}"))
        elif wheel is not None:
            wheels[version].append(wheel)
        else:
            sources[version] = file
    return wheels, sources, odd


def _read_wheel(file: IndexFile) -> Wheel:
    name, version, build, tags = read_wheel_name(file.filename)
    return Wheel(
        filename=file.filename,
        name=name,
        version=version,
        build=build,
        tags=tags,
        digest=_digest(file),
        size_bytes=file.size_bytes,
        published_at=file.published_at,
        requires_python=file.requires_python,
        yanked=file.yanked,
    )


def _digest(file: IndexFile) -> str:
    """Return the file's identity: its content where the index gives a hash, else its name, which is never reused.

    The URL is left out on purpose: it differs between mirrors and may be signed anew for each answer.
    """
    if file.sha256:
        return f"sha256:{file.sha256}"
    return "name-sha256:" + hashlib.sha256(file.filename.encode()).hexdigest()


def _choose_builds(
    wheels: Mapping[Version, Sequence[Wheel]], sources: Mapping[Version, IndexFile]
) -> list[PublishedBuild]:
    """Return one build per version, oldest first."""
    host = this_host()
    builds = []
    for version in sorted({*wheels, *sources}):
        if version in wheels:
            wheel, misfit = choose_wheel(wheels[version], host)
            builds.append(make_wheel_build(wheel, wheel.filename, misfit))
        else:
            builds.append(_make_source_build(version, sources[version]))
    return builds


def _make_source_build(version: Version, file: IndexFile) -> PublishedBuild:
    """Return a release that has no wheel at all, so that its absence is reported and not silent."""
    return PublishedBuild(
        tag=str(version),
        kind="wheel",
        digest=_digest(file),
        platform="source",
        location=file.filename,
        published_at=file.published_at,
        size_bytes=file.size_bytes,
        yanked=file.yanked,
        misfit="only a source distribution",
    )
