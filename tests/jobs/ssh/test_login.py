"""An address of a login is read strictly: nothing in it can be taken for an option, a second word or a password."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import UserError
from jobs.ssh import SshLogin, read_login, read_path
from jobs.ssh.login import login_from_json


@pytest.mark.parametrize(
    ("address", "user", "host", "port", "path"),
    [
        ("ssh://gpu-box", None, "gpu-box", None, "/default"),
        ("ssh://bench@gpu-box:2222", "bench", "gpu-box", 2222, "/default"),
        ("ssh://bench@gpu-box/", "bench", "gpu-box", None, "/default"),
        ("ssh://bench@GpuBox/run/podman/podman.sock", "bench", "GpuBox", None, "/run/podman/podman.sock"),
        ("ssh://bench@corp@10.0.0.7", "bench@corp", "10.0.0.7", None, "/default"),
        ("ssh://bench@[::1]:22", "bench", "::1", 22, "/default"),
    ],
)
def test_an_address_names_user_host_port_and_path(
    address: str, user: str | None, host: str, port: int | None, path: str
) -> None:
    login = read_login(address)
    assert (login.user, login.host, login.port) == (user, host, port)
    assert read_path(address, "/default") == path
    assert login_from_json(login.to_json()) == login


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ssh://-oProxyCommand=touch${IFS}x", "is no name of a host"),
        ("ssh://bench@-oProxyCommand=x", "is no name of a host"),
        ("ssh://-lroot@gpu-box", "is no user name"),
        ("ssh://gpu-box;reboot", "is no name of a host"),
        ("ssh://$(reboot)", "is no name of a host"),
        ("ssh://gpu%0abox", "is no name of a host"),
        ("ssh://gpu-box\nProxyCommand x", "odd character"),
        ("ssh://gpu-box x", "white space"),
        ("ssh://gpü-box", "odd character"),
        ("ssh://", "is no name of a host"),
        ("ssh://@gpu-box", "is no user name"),
        ("ssh://gpu-box:", "is no port"),
        ("ssh://gpu-box:0", "is no port"),
        ("ssh://gpu-box:65536", "is no port"),
        ("ssh://gpu-box:22:22", "expected ssh://user@host"),
        ("ssh://[gpu-box]", "is no IPv6 address"),
        ("tcp://gpu-box", "expected ssh://user@host"),
        ("bench@gpu-box", "expected ssh://user@host"),
    ],
)
def test_what_cannot_be_an_address_is_refused_in_words(address: str, words: str) -> None:
    with pytest.raises(UserError, match="address") as caught:
        read_login(address)
    assert words in str(caught.value)


@pytest.mark.parametrize("path", ["/a:b", "/a b", "/../run/x", "/run//x", "/$HOME/x", "/%h", "/x?y", "/x#y", "/a\\b"])
def test_a_path_that_ssh_would_read_otherwise_is_refused(path: str) -> None:
    with pytest.raises(UserError, match="address"):
        read_path(f"ssh://gpu-box{path}", "/default")


@pytest.mark.parametrize("address", ["ssh://bench:s3cret@gpu-box", "ssh://bench:s3 cret@gpu-box", "ssh:bench:s3cret@x"])
def test_a_password_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(UserError, match="address") as caught:
        read_login(address)
    assert "s3" not in str(caught.value)


@given(st.text(max_size=30), st.text(max_size=30))
def test_whatever_is_accepted_is_one_plain_word_for_ssh(user: str, host: str) -> None:
    try:
        login = read_login(f"ssh://{user}@{host}")
    except UserError:
        return
    assert not login.host.startswith("-")
    assert not str(login.user).startswith("-")
    assert login.host.isascii()
    assert not set(login.host) & set(" \t\r\n;|&$`\\\"'<>()*?%")
    assert login.words()[-2:] == ["--", login.host]


def test_files_are_checked_and_quoted_for_ssh(tmp_path: Path) -> None:
    odd = tmp_path / "my 100% key"
    odd.write_text("")
    login = read_login("ssh://gpu-box", identity=odd)
    assert f'IdentityFile="{tmp_path}/my 100%% key"' in login.words()
    with pytest.raises(UserError, match=r"known_hosts: .* cannot be read: No such file"):
        read_login("ssh://gpu-box", known_hosts=tmp_path / "none")
    with pytest.raises(UserError, match="expected an absolute path"):
        read_login("ssh://gpu-box", identity=Path("relative"))


def test_a_login_is_told_as_it_is_written() -> None:
    assert str(SshLogin(user="bench", host="::1", port=22)) == "bench@[::1]:22"
    assert str(read_login("ssh://gpu-box")) == "gpu-box"
