"""A real container registry on loopback and images for it: Debian's docker-registry, filled with umoci and skopeo.

    with serve_registry(tmp_path / "registry") as registry:
        image = make_image(tmp_path / "images", {"bin/bench": "#!/bin/sh\\necho 42"}, command=["/bin/bench"])
        digest = registry.push(image, "bench/runtime", "1.0.0")
        registry.reference("bench/runtime", digest)     # 127.0.0.1:45678/bench/runtime@sha256:...

Mark such tests `@pytest.mark.real("container registry")`: without these programs they are skipped, under CI an error.
`users` asks for a user name and a password (htpasswd), `tokens` for bearer tokens (see `registry_tokens`).
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import httpx

from tests.fakes.registry_tokens import TokenServer

PROGRAMS = ("docker-registry", "umoci", "skopeo", "busybox", "htpasswd", "openssl")
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
APPLETS = ("sh", "ls", "cat", "echo", "sleep", "env", "id", "true", "false", "kill", "dd", "mkdir", "ps", "yes", "head")
_LIMIT_S = 60


def missing_programs() -> str | None:
    """Return which programs are not installed, with the cure; None when all are there."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if not missing:
        return None
    return (
        f"{', '.join(missing)} not installed "
        "(apt-get install docker-registry skopeo umoci busybox-static apache2-utils openssl)"
    )


@dataclass(frozen=True, kw_only=True)
class Image:
    """One image in an OCI layout: `layout:name` is what skopeo calls it."""

    layout: Path
    name: str
    platform: str = "linux/amd64"


@dataclass
class Registry:
    """A running registry; `address` is `127.0.0.1:PORT`."""

    address: str
    folder: Path
    user: tuple[str, str] | None = None
    tokens: TokenServer | None = None
    _log: Path = field(default=Path())

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def reference(self, repository: str, name: str) -> str:
        """Return what a tag or a digest of a repository is called by an engine."""
        return f"{self.address}/{repository}{'@' if name.startswith('sha256:') else ':'}{name}"

    def push(self, image: Image, repository: str, tag: str) -> str:
        """Put an image under a tag, moving the tag where it exists; return the manifest's digest."""
        self._skopeo(f"oci:{image.layout}:{image.name}", self.reference(repository, tag))
        return self.digest(repository, tag)

    def retag(self, repository: str, tag: str, new_tag: str) -> None:
        """Put what one tag names under another tag too."""
        body, kind = self.manifest(repository, tag)
        self._put_manifest(repository, new_tag, body, kind)

    def push_index(self, repository: str, tag: str, images: Sequence[Image]) -> str:
        """Put images of several platforms under one tag; return the index's digest."""
        entries = []
        for image in images:
            digest = json.loads((image.layout / "index.json").read_text())["manifests"][0]["digest"]
            self._skopeo(f"oci:{image.layout}:{image.name}", self.reference(repository, digest))
            body, kind = self.manifest(repository, digest)
            system, _, processor = image.platform.partition("/")
            platform = {"os": system, "architecture": processor}
            entries.append({"mediaType": kind, "digest": _digest(body), "size": len(body), "platform": platform})
        index = {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": entries}
        return self._put_manifest(repository, tag, json.dumps(index).encode(), INDEX_TYPE)

    def manifest(self, repository: str, name: str) -> tuple[bytes, str]:
        """Return a manifest's bytes and media type."""
        answer = self.ask(
            "GET", f"/v2/{repository}/manifests/{name}", headers={"Accept": f"{INDEX_TYPE}, {MANIFEST_TYPE}"}
        )
        return answer.content, answer.headers["content-type"]

    def digest(self, repository: str, tag: str) -> str:
        """Return the digest that a tag names now."""
        return _digest(self.manifest(repository, tag)[0])

    def delete(self, repository: str, tag: str) -> None:
        """Remove what a tag names, and with it every tag of it."""
        self.ask("DELETE", f"/v2/{repository}/manifests/{self.digest(repository, tag)}")

    def ask(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, content: bytes = b""
    ) -> httpx.Response:
        """Return the registry's answer to one request with the rights to do anything; an error status raises."""
        given = dict(headers or {})
        if self.tokens is not None:
            given["Authorization"] = f"Bearer {self.tokens.grant_all(path)}"
        auth = self.user if self.tokens is None else None
        answer = httpx.request(
            method, self.url + path, headers=given, content=content, auth=auth, timeout=_LIMIT_S, trust_env=False
        )
        return answer.raise_for_status()

    def _put_manifest(self, repository: str, tag: str, body: bytes, kind: str) -> str:
        self.ask("PUT", f"/v2/{repository}/manifests/{tag}", headers={"Content-Type": kind}, content=body)
        return _digest(body)

    def _skopeo(self, source: str, target: str) -> None:
        options = ["--dest-tls-verify=false", "--insecure-policy", "--quiet"]
        if self.user is not None:
            options += ["--dest-creds", ":".join(self.user)]
        _run("skopeo", "copy", *options, source, f"docker://{target}", cwd=self.folder)


@contextmanager
def serve_registry(
    folder: Path, *, user: tuple[str, str] | None = None, tokens: TokenServer | None = None
) -> Iterator[Registry]:
    """Yield a running registry that keeps its images in `folder`: open, or asking for `user`, or for `tokens`."""
    folder.mkdir(parents=True, exist_ok=True)
    settings, log = folder / "registry.json", folder / "registry.log"
    settings.write_text(json.dumps(_settings(folder, user, tokens)))
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["docker-registry", "serve", str(settings)], stdout=output, stderr=output, stdin=subprocess.DEVNULL
        )
    try:
        address = _wait_for_address(process, log)
        yield Registry(address=address, folder=folder, user=user or (tokens.user if tokens else None), tokens=tokens)
    finally:
        process.terminate()
        process.wait(timeout=_LIMIT_S)


def make_image(
    folder: Path,
    files: Mapping[str, str | bytes] | None = None,
    *,
    name: str = "image",
    command: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    created: str = "2026-01-02T03:04:05Z",
    platform: str = "linux/amd64",
    shell: bool = True,
) -> Image:
    """Return an image made without any network: `files` (path to content, all executable) over busybox.

    The same arguments give the same digest. `shell=False` leaves busybox out: smaller, but nothing runs in it.
    """
    layout = folder / name
    if layout.exists():
        shutil.rmtree(layout)
    folder.mkdir(parents=True, exist_ok=True)
    layer = folder / f"{name}.tar"
    layer.write_bytes(_pack(files or {}, shell))
    _run("umoci", "init", "--layout", str(layout))
    _run("umoci", "new", "--image", f"{layout}:{name}")
    dated = ["--history.created", created]
    _run("umoci", "raw", "add-layer", "--image", f"{layout}:{name}", *dated, str(layer))
    system, _, processor = platform.partition("/")
    settings = ["--os", system, "--architecture", processor, "--created", created]
    for part in command:
        settings += ["--config.cmd", part]
    settings += [word for key, value in (env or {}).items() for word in ("--config.env", f"{key}={value}")]
    settings += [word for key, value in (labels or {}).items() for word in ("--config.label", f"{key}={value}")]
    _run("umoci", "config", "--image", f"{layout}:{name}", *dated, *settings)
    return Image(layout=layout, name=name, platform=platform)


def _pack(files: Mapping[str, str | bytes], shell: bool) -> bytes:
    """Return a layer: a tar with the folders, the files and, for a shell, busybox under its usual names."""
    contents = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    if shell:
        contents["bin/busybox"] = Path(shutil.which("busybox") or "/bin/busybox").read_bytes()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        folders = {str(parent) for path in contents for parent in Path(path).parents} | {"tmp", "etc"}
        for path in sorted(folders - {"."}):
            entry = tarfile.TarInfo(path)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if path == "tmp" else 0o755
            tar.addfile(entry)
        for path, content in sorted(contents.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o755
            tar.addfile(entry, io.BytesIO(content))
        for applet in APPLETS if shell else ():
            entry = tarfile.TarInfo(f"bin/{applet}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(entry)
    return packed.getvalue()


def _settings(folder: Path, user: tuple[str, str] | None, tokens: TokenServer | None) -> dict[str, object]:
    settings: dict[str, object] = {
        "version": "0.1",
        "log": {"level": "info", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}, "delete": {"enabled": True}},
        "http": {"addr": "127.0.0.1:0", "secret": "only for tests"},
    }
    if user is not None:
        passwords = folder / "htpasswd"
        passwords.write_text(_run("htpasswd", "-Bbn", *user))
        settings["auth"] = {"htpasswd": {"realm": "tests", "path": str(passwords)}}
    if tokens is not None:
        settings["auth"] = {
            "token": {
                "realm": tokens.realm,
                "service": tokens.service,
                "issuer": tokens.issuer,
                "rootcertbundle": str(tokens.certificate),
            }
        }
    return settings


def _wait_for_address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Return the address the registry says it listens on."""
    deadline = time.monotonic() + _LIMIT_S
    while time.monotonic() < deadline:
        text = log.read_text(errors="replace")
        if found := re.search(r"listening on (127\.0\.0\.1:[0-9]+)", text):
            return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise RuntimeError(f"docker-registry did not start: {log.read_text(errors='replace')[-2000:]}")


def _run(*command: str, cwd: Path | None = None) -> str:
    """Return what a program prints; RuntimeError with its words where it fails."""
    environment = {**os.environ, "REGISTRY_AUTH_FILE": "/nonexistent/auth.json"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_LIMIT_S, cwd=cwd, env=environment, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} {command[1]}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def _digest(body: bytes) -> str:
    return f"sha256:{sha256(body).hexdigest()}"
