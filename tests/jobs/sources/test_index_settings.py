"""Which index this machine uses: the environment first, then pip, and pip's own default last."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jobs.errors import UserError
from jobs.sources._index_settings import find_settings, split_credentials

ONE, TWO = "https://one.invalid/simple", "https://two.invalid/simple"


def fake_python(folder: Path, settings: str, usage: str = "") -> tuple[str, ...]:
    """Return a program that answers `-m pip config list` and `-m pip --isolated install --help`."""
    program = folder / "python"
    program.write_text(
        f"#!/bin/sh\ncase \"$3\" in config) cat <<'X'\n{settings}\nX\n;; *) cat <<'X'\n{usage}\nX\n;; esac\n"
    )
    program.chmod(0o755)
    return (str(folder / "no-such-python"), str(program))


@pytest.mark.parametrize("variable", ["PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"])
def test_the_environment_names_the_index_before_pip_does(tmp_path: Path, variable: str) -> None:
    pythons = fake_python(tmp_path, f"global.index-url='{TWO}'")
    assert find_settings({variable: ONE}, pythons=pythons).urls == (ONE,)


def test_an_index_that_uv_gives_a_name_is_known_by_its_address(tmp_path: Path) -> None:
    assert find_settings({"UV_DEFAULT_INDEX": f"own={ONE}"}, pythons=()).urls == (ONE,)


def test_pips_settings_for_installing_win_over_its_global_ones(tmp_path: Path) -> None:
    pythons = fake_python(tmp_path, f"global.cert='/etc/ca.pem'\ninstall.index-url='{ONE}'\nglobal.index-url='{TWO}'")
    settings = find_settings({}, pythons=pythons)
    assert settings.urls == (ONE,)
    assert settings.ca == "/etc/ca.pem"


def test_extra_indexes_follow_the_main_one_without_local_ones_and_repetitions(tmp_path: Path) -> None:
    listed = f"global.index-url='{ONE}'\nglobal.extra-index-url='file:///srv/simple {TWO} {ONE}'"
    assert find_settings({}, pythons=fake_python(tmp_path, listed)).urls == (ONE, TWO)


def test_an_index_of_its_own_replaces_all_others(tmp_path: Path) -> None:
    environ = {"PIP_INDEX_URL": TWO, "PIP_EXTRA_INDEX_URL": TWO, "SSL_CERT_FILE": "/etc/own.pem"}
    settings = find_settings(environ, ONE, pythons=())
    assert (settings.urls, settings.ca) == ((ONE,), "/etc/own.pem")


def test_the_public_default_is_asked_of_pip(tmp_path: Path) -> None:
    usage = f"  -i, --index-url <url>  Base URL of the index (default\n       {ONE}). This should point to"
    assert find_settings({}, pythons=fake_python(tmp_path, "", usage)).urls == (ONE,)


def test_the_pip_of_this_machine_knows_a_public_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    (url, *_) = find_settings({"PIP_CONFIG_FILE": "/dev/null"}).urls
    assert split_credentials(url)[0].startswith("https://")


def test_without_any_pip_the_cure_is_named() -> None:
    with pytest.raises(UserError, match="set PIP_INDEX_URL to the index"):
        find_settings({}, pythons=("/no/such/python",))


def test_a_pip_that_fails_counts_as_none(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    program.chmod(0o755)
    assert find_settings({"PIP_INDEX_URL": ONE}, pythons=(str(program),)).urls == (ONE,)


def test_settings_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    pythons = fake_python(tmp_path, f"global.index-url='unfinished\ninstall.index-url='{ONE}'\nhello")
    assert find_settings({}, pythons=pythons).urls == (ONE,)


@pytest.mark.parametrize(
    ("url", "place", "credentials"),
    [
        ("https://one.invalid/simple", "https://one.invalid/simple", ""),
        ("https://me:pass@one.invalid:8443/x?token=1#y", "https://one.invalid:8443/x", "me:pass"),
        ("http://me:p@ss@[::1]:80/x", "http://[::1]:80/x", "me:p@ss"),
    ],
)
def test_credentials_and_queries_are_kept_apart_from_the_address(url: str, place: str, credentials: str) -> None:
    assert split_credentials(url) == (place, credentials)


def test_this_program_is_among_the_pythons_that_are_asked() -> None:
    from jobs.sources._index_settings import _own_pythons

    assert _own_pythons()[0] == sys.executable
