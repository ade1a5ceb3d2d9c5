"""What people enter: releases by hand, and lists of tags."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

from jobs.protocols import PublishedBuild
from jobs.releases import read_tag
from tracker.app import App, whoami
from tracker.errors import UserError
from tracker.pipeline.watch import keep_builds

_COMPONENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def make_build(version: str, *, file: Path | None, image: str | None, digest: str | None) -> PublishedBuild:
    """Return the build that was described; UserError when it is not exactly a file, a folder or an image."""
    if (file is None) == (image is None):
        raise UserError("say what the release is: either --file WHEEL_OR_FOLDER, or --image NAME with --digest")
    if image is not None:
        if digest is None or not _DIGEST.fullmatch(digest):
            raise UserError(f"--digest: expected sha256: and 64 hexadecimal digits, found {digest!r}")
        return PublishedBuild(tag=version, kind="image", digest=digest, platform="any", location=image)
    if digest is not None:
        raise UserError("--digest belongs to --image; a file's digest is computed from the file")
    assert file is not None
    return _build_of_path(version, file)


def _build_of_path(version: str, path: Path) -> PublishedBuild:
    from jobs.sources.folder import digest_folder

    if path.is_dir():
        digest, size_bytes = digest_folder(path)
        kind, misfit = "folder", None
    elif path.suffix == ".whl":
        digest, size_bytes = _digest_file(path)
        kind, misfit = "wheel", _misfit_of(path)
    else:
        found = "nothing" if not path.exists() else "another file"
        raise UserError(f"{path}: expected a wheel (.whl) or a folder there, found {found}")
    return PublishedBuild(
        tag=version,
        kind=kind,
        digest=digest,
        platform="any",
        location=str(path.absolute()),
        size_bytes=size_bytes,
        misfit=misfit,
    )


def _digest_file(path: Path) -> tuple[str, int]:
    try:
        with path.open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}", path.stat().st_size
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; check the path") from error


def _misfit_of(path: Path) -> str | None:
    """Return why a wheel does not run on this machine, None when it does."""
    from packaging.tags import sys_tags
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    try:
        tags = parse_wheel_filename(path.name)[3]
    except InvalidWheelFilename as error:
        raise UserError(f"{path}: {error}; keep the name that the wheel was built with") from error
    if tags.isdisjoint(sys_tags()):
        return f"the wheel is for {', '.join(sorted(map(str, tags)))}, which this machine is not"
    return None


def enter_release(app: App, component: str, build: PublishedBuild) -> tuple[str, bool]:
    """Keep a release that was entered by hand; return its name and whether it is new."""
    if not _COMPONENT.fullmatch(component):
        raise UserError(f"component {component!r}: expected lower-case letters, digits, dots and dashes")
    tag = read_tag(build.tag, component)
    if tag.sort_key is None:
        raise UserError(f"{build.tag!r} names no release that has a place in the order: {tag.reason}")
    with app.store.write() as session:
        new = keep_builds(session, component, (build,), now=app.clock.now(), who=whoami())
    return f"{component}/{tag.identity}", new > 0


def read_lines(file: Path) -> list[str]:
    """Return the lines of a file, or of standard input for `-`; UserError when it cannot be read as text."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {(error.strerror or '').lower()}; check the path") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: is not UTF-8 text (byte {error.start}); expected one tag a line") from error
    return text.splitlines()
