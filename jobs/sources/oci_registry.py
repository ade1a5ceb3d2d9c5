"""Releases in a container registry: the images of one repository, by tag, each known by its digest.

Read over the OCI distribution API: the list of tags, then for each tag that is wanted what it names now. What a
registry says about a content is checked against the content's digest.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import httpx

from jobs.errors import TryLater, UserError
from jobs.protocols import PublishedBuild, ReleaseSource, SourceAnswer
from jobs.releases import Tag
from jobs.sources._answers import make_answer
from jobs.sources._registry_cache import RegistryCache
from jobs.sources._registry_client import MIB, BadEntry, Limits, RegistryClient
from jobs.sources._registry_images import Manifest, Part, choose_part, read_config, read_manifest
from jobs.sources._registry_logins import Login, RegistryAccess, find_login
from jobs.sources._registry_names import read_host, read_repository
from jobs.sources._registry_options import Wanted, choose_tags, read_options
from jobs.sources._registry_tags import list_tags

__all__ = ["Limits", "Login", "RegistryAccess", "create", "find_login", "read_host", "read_repository"]

MANIFEST_LIMIT_BYTES = 4 * MIB
CONFIG_LIMIT_BYTES = 8 * MIB


def create(
    options: Mapping[str, object],
    *,
    component: str | None = None,
    find_access: Callable[[str], RegistryAccess | None] | None = None,
    cache: Path | None = None,
    transport: httpx.BaseTransport | None = None,
    limits: Limits | None = None,
) -> ReleaseSource:
    """Return the source for one repository (see `jobs/sources/README.md` for the options).

    `component` is the software's name, which may stand before the version in its tags: `thing-1.2.0`.
    `find_access` gives what the service's settings say of a registry, asked at each look; `cache` is a folder in which
    contents are kept between looks.
    """
    finder = find_access or (lambda host: None)
    return OciRegistry(read_options(options, component), finder, RegistryCache(cache), transport, limits or Limits())


class OciRegistry:
    """One repository of one registry."""

    def __init__(
        self,
        wanted: Wanted,
        find_access: Callable[[str], RegistryAccess | None],
        cache: RegistryCache,
        transport: httpx.BaseTransport | None,
        limits: Limits,
    ) -> None:
        self._wanted = wanted
        self._find_access = find_access
        self._cache = cache
        self._transport = transport
        self._limits = limits

    def list_builds(self) -> SourceAnswer:
        """Return a build for each wanted tag and platform, the oldest release first, and the tags left out."""
        repository = self._wanted.repository
        with self._connect() as client:
            chosen, left_out = choose_tags(list_tags(client, repository, self._cache), self._wanted)
            builds: list[PublishedBuild] = []
            unreadable: list[tuple[str, str]] = []
            for (
                tag
            ) in chosen:  # the newest first: what is fetched before a rate limit strikes need not be fetched again
                try:
                    builds += self._read_tag(client, tag)
                except BadEntry as error:
                    unreadable.append((tag.tag, str(error)))
        if unreadable and not builds:
            tag_name, reason = unreadable[0]
            raise TryLater(f"{repository.name}: none of {len(unreadable)} tags can be used; {tag_name}: {reason}")
        return make_answer(builds[::-1], unreadable, left_out=left_out, scope=f"{repository.name}@")

    def _connect(self) -> RegistryClient:
        access, limits = self._find_access(self._wanted.repository.host), self._limits
        http = httpx.Client(
            transport=self._transport,
            verify=_trust(access.ca_file if access else None),
            timeout=limits.silence_s,
            headers={"Accept-Encoding": "identity"},
        )
        return RegistryClient(
            http,
            self._wanted.repository,
            find_login(self._wanted.repository, access),
            plain_http=access.plain_http if access else False,
            limits=limits,
        )

    def _read_tag(self, client: RegistryClient, tag: Tag) -> list[PublishedBuild]:
        """Return the builds that a tag names, one for each wanted platform; BadEntry where it names no image."""
        digest, body = client.find_digest(tag.tag)
        if body is not None:
            self._cache.keep(digest, body)
        found = read_manifest(self._get(client, "manifests", digest))
        if isinstance(found, Manifest):
            return [self._make_build(client, tag, digest, found, {}, self._wanted.platforms)]
        builds = []
        for part, platform in self._choose_parts(found):
            manifest = read_manifest(self._get(client, "manifests", part.digest))
            if not isinstance(manifest, Manifest):
                raise BadEntry(f"its index names another index for {part.platform}")
            builds.append(self._make_build(client, tag, part.digest, manifest, {"index_digest": digest}, (platform,)))
        return builds

    def _choose_parts(self, parts: Sequence[Part]) -> list[tuple[Part, str]]:
        """Return the wanted parts of an index with the platform each is for; the first part of all if none fits."""
        pairs = ((choose_part(tuple(parts), platform), platform) for platform in self._wanted.platforms)
        return [(part, name) for part, name in pairs if part] or [(parts[0], self._wanted.platforms[0])]

    def _make_build(
        self,
        client: RegistryClient,
        tag: Tag,
        digest: str,
        manifest: Manifest,
        facts: Mapping[str, str],
        platforms: Sequence[str],
    ) -> PublishedBuild:
        """Return one image as a build; one for none of the wanted platforms says so as its misfit."""
        config = read_config(self._get(client, "blobs", manifest.config_digest))
        fits = any(config.platform == name or config.platform.startswith(f"{name}/") for name in platforms)
        return PublishedBuild(
            tag=tag.tag,
            kind="image",
            digest=digest,
            platform=config.platform,
            location=f"{self._wanted.repository.name}@{digest}",
            published_at=config.created_at,
            size_bytes=manifest.size_bytes,
            misfit=None if fits else f"an image for {config.platform}, wanted for {' or '.join(platforms)}",
            facts={**config.facts, **facts},
            contains=config.contains,
        )

    def _get(self, client: RegistryClient, kind: str, digest: str) -> bytes:
        """Return a manifest or config, asked for once: what a digest names never changes."""
        body = self._cache.find(digest)
        if body is None:
            limit_bytes = MANIFEST_LIMIT_BYTES if kind == "manifests" else CONFIG_LIMIT_BYTES
            body = client.get_content(kind, digest, limit_bytes=limit_bytes)
            self._cache.keep(digest, body)
        return body


def _trust(ca_file: Path | None) -> ssl.SSLContext | bool:
    """Return the certificates to trust: those of a file, or the usual ones."""
    if ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(ca_file))
    except (OSError, ssl.SSLError) as error:
        raise UserError(f"[[registries]] ca_file {ca_file}: cannot be read as certificates ({error})") from error
