"""Real programs that several packages' tests log in to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.ssh_server import SshServer, serve_ssh


@pytest.fixture(scope="session")
def ssh_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    """One sshd for all tests that leave it running."""
    with serve_ssh(tmp_path_factory.mktemp("ssh") / "server") as served:
        yield served
