"""A real Podman of one's own: its images, containers and settings lie in one folder, its API is on a socket there.

    with serve_podman() as podman:
        podman.load(make_image(tmp_path / "images", {"bin/bench": "#!/bin/sh\\necho 42"}), "localhost/bench:1")
        httpx.Client(transport=httpx.HTTPTransport(uds=podman.socket), base_url="http://engine")

Mark such tests `@pytest.mark.real("podman")`. It needs root, Debian's podman with runc, and no systemd. The API
service may be stopped, killed and started again; containers live on without it. Images are pulled from any registry
on 127.0.0.1 without TLS (see `tests/fakes/registry.py`), from nowhere else.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes.registry import Image

PROGRAMS = ("podman", "runc", "conmon", "skopeo")
_LIMIT_S = 60
# No right to raise limits is needed, and no systemd; soft and hard limits are equal, as podman 4.3 mixes them up.
# Locks lie in files: those in shared memory belong to all of a user's Podmans, and each new one frees them all.
_CONTAINERS = """\
[containers]
default_ulimits = ["nofile=16384:16384", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
"""
_REGISTRIES = """\
unqualified-search-registries = []
short-name-mode = "disabled"
[[registry]]
location = "127.0.0.1"
insecure = true
"""


def why_missing() -> str | None:
    """Return why no Podman can be run here, with the cure; None when it can."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} not installed (apt-get install podman runc skopeo)"
    return None if os.geteuid() == 0 else "it is run as root only"


@dataclass
class Podman:
    """A Podman with its API service; `socket` is where that listens."""

    folder: Path
    _service: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def socket(self) -> str:
        return str(self.folder / "engine.sock")

    @property
    def url(self) -> str:
        """Return the socket as settings name it."""
        return f"unix://{self.socket}"

    def start(self) -> None:
        """Start the API service and wait until it listens."""
        Path(self.socket).unlink(missing_ok=True)
        with (self.folder / "service.log").open("ab") as log:
            self._service = subprocess.Popen(
                [*self._words(), "system", "service", "--time=0", self.url],
                env=self._variables(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )
        deadline = time.monotonic() + _LIMIT_S
        while not Path(self.socket).exists():
            if time.monotonic() > deadline or self._service.poll() is not None:
                raise RuntimeError(f"podman did not start: {(self.folder / 'service.log').read_text()[-2000:]}")
            time.sleep(0.02)

    def kill(self) -> None:
        """End the API service as a crash would; containers live on."""
        if self._service is not None:
            self._service.kill()
            self._service.wait(timeout=_LIMIT_S)
            self._service = None

    def run(self, *words: str) -> str:
        """Return what a podman command prints; RuntimeError with its words where it fails."""
        command = [*self._words(), *words]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            env=self._variables(),
            cwd=self.folder,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"podman {' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def load(self, image: Image, name: str) -> str:
        """Put an image under a name without any registry; return its digest."""
        link = self.folder / "layout"  # podman makes a name of the path, and not every path is one
        link.unlink(missing_ok=True)
        link.symlink_to(image.layout)
        identity = self.run("pull", "--quiet", f"oci:layout:{image.name}").split()[-1]
        self.run("tag", identity, name)
        digest: str = json.loads((image.layout / "index.json").read_text())["manifests"][0]["digest"]
        return digest

    def containers(self) -> list[str]:
        """Return the names of all containers, running or not."""
        return self.run("ps", "--all", "--format", "{{.Names}}").split()

    def started(self) -> list[str]:
        """Return the name of a container for each time that one was started, gone ones too."""
        only = ["--stream=false", "--filter", "event=start", "--format", "{{.Name}}"]
        return self.run("events", *only).split()

    def clean(self) -> None:
        """Remove everything: containers, volumes, images."""
        self.run("rm", "--all", "--force", "--time", "0")
        self.run("volume", "prune", "--force")
        self.run("rmi", "--all", "--force")

    def _words(self) -> list[str]:
        root = ["--root", str(self.folder / "root"), "--runroot", str(self.folder / "run")]
        return ["podman", *root, "--tmpdir", str(self.folder / "tmp"), "--runtime", "runc"]

    def _variables(self) -> dict[str, str]:
        own = {
            "CONTAINERS_CONF": str(self.folder / "containers.conf"),
            "CONTAINERS_REGISTRIES_CONF": str(self.folder / "registries.conf"),
            "REGISTRY_AUTH_FILE": str(self.folder / "auth.json"),
        }
        return {**{name: value for name, value in os.environ.items() if not name.startswith("TRACKER_")}, **own}


@contextmanager
def serve_podman() -> Iterator[Podman]:
    """Yield a running Podman that is removed with all it holds; the folder's name is short, for the socket's sake."""
    folder = Path(tempfile.mkdtemp(prefix="pm-"))
    (folder / "containers.conf").write_text(_CONTAINERS)
    (folder / "registries.conf").write_text(_REGISTRIES)
    (folder / "auth.json").write_text("{}")
    podman = Podman(folder)
    try:
        podman.start()
        yield podman
    finally:
        podman.kill()
        try:
            podman.run("rm", "--all", "--force", "--time", "0")
        finally:
            subprocess.run(["umount", "-R", str(folder / "root" / "overlay")], capture_output=True, check=False)
            shutil.rmtree(folder, ignore_errors=True)
