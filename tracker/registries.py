"""From the settings to the logins at registries and publishers, each secret read where the settings say it is."""

from __future__ import annotations

import os
from pathlib import Path

from jobs.errors import UserError
from jobs.release_notes.github import GitHubReleases
from jobs.release_notes.names import API
from jobs.sources.oci_registry import Login, RegistryAccess, find_login, read_host, read_repository
from tracker.setting_tables import RegistrySettings, ReleaseNotesSettings
from tracker.settings import Settings


def find_access(settings: Settings, host: str) -> RegistryAccess | None:
    """Return how a registry is reached, None where the settings do not name it.

    UserError where they name what is no registry, or where its password is not where it should be.
    """
    for one in settings.registries:
        name = read_host(one.host)
        if name is None:
            raise UserError(
                f"[[registries]] host {one.host!r}: expected the registry as image names begin with it, such as "
                "nvcr.io or 10.0.0.7:5000, without https:// and without a path"
            )
        if name == host:
            ca_file = one.ca_file.expanduser() if one.ca_file else None
            return RegistryAccess(host=host, login=_read_login(one), plain_http=one.plain_http, ca_file=ca_file)
    return None


def login_for(settings: Settings, reference: str) -> tuple[str, str] | None:
    """Return user name and password for an image's reference, from the settings or from docker's and podman's files."""
    folder, slash, last = reference.partition("@")[0].rpartition("/")
    repository = read_repository(folder + slash + last.partition(":")[0])
    login = find_login(repository, find_access(settings, repository.host))
    return (login.username, login.password) if login else None


def open_release_notes(entry: ReleaseNotesSettings, *, cache: Path) -> GitHubReleases:
    """Return where an entry's notes are read; UserError where the variable it names for the token is not set.

    The usual variable is for GitHub itself: another server must be given its own by name.
    """
    usual = "GITHUB_TOKEN" if entry.api == API else ""
    name = entry.token_variable or usual
    token = os.environ.get(name, "").strip() if name else ""
    if entry.token_variable and not token:
        raise UserError(
            f"[[release_notes]] {entry.component}: the variable {name} is not set; set it to the token, or leave "
            "token_variable out"
        )
    return GitHubReleases(entry.repository, api=entry.api, token=token or None, token_name=name, cache=cache)


def _read_login(registry: RegistrySettings) -> Login | None:
    if registry.username is None:
        return None
    return Login(username=registry.username, password=_read_password(registry))


def _read_password(registry: RegistrySettings) -> str:
    """Return the password from the settings, a file or a variable; the message of an error never shows it."""
    where = f"[[registries]] {registry.host}"
    if registry.password is not None:
        return registry.password.get_secret_value()
    if registry.password_variable is not None:
        password = os.environ.get(registry.password_variable, "").strip()
        if not password:
            raise UserError(f"{where}: the variable {registry.password_variable} is not set; set it to the password")
        return password
    assert registry.password_file is not None, "a login without a password is refused by the settings"
    file = registry.password_file.expanduser()
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UserError(f"{where}: password_file {file} cannot be read: {reason}") from error
    if not lines or not lines[0].strip():
        raise UserError(f"{where}: password_file {file}: its first line is empty; write the password there")
    return lines[0].strip()
