"""Environments and assets: made once, kept by content, and what is said when they cannot be made."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.executors import local
from jobs.executors._attempts import Attempt
from jobs.executors._commands import Ended
from jobs.executors._environments import environment_key, explain
from jobs.executors._preparation import installer_variables, other_packages
from jobs.protocols import Asset, Executor, JobOutcome, JobSpec, JobStatus

EndedOf = Callable[[Executor, str], JobStatus]
Job = Callable[..., JobSpec]

MAKER = """
import sys
open(COUNTER, "a").write("x")
open(sys.argv[1], "wb").write(b"weights")
"""
READS_ASSET = "open('result.json', 'wb').write(open('model.bin', 'rb').read())"


@pytest.fixture
def asset(tmp_path: Path) -> Asset:
    maker = tmp_path / "maker.py"
    maker.write_text(MAKER.replace("COUNTER", repr(str(tmp_path / "made"))))
    return Asset(name="model.bin", maker=str(maker))


def _made(tmp_path: Path) -> int:
    counter = tmp_path / "made"
    return len(counter.read_text()) if counter.exists() else 0


def _run(executor: Executor, spec: JobSpec, ended: EndedOf) -> JobStatus:
    executor.start(spec)
    return ended(executor, spec.key)


def test_an_asset_is_made_once_and_found_by_every_program(
    executor: Executor, job: Job, ended: EndedOf, asset: Asset, tmp_path: Path
) -> None:
    for key in ("one", "two"):
        assert _run(executor, job(key, READS_ASSET, assets=(asset,)), ended).outcome is JobOutcome.OK
        results = [output.path for output in executor.fetch(key) if output.kind == "result"]
        assert results[0].read_bytes() == b"weights"
    assert _made(tmp_path) == 1


def test_an_asset_is_made_anew_when_its_maker_changes(
    executor: Executor, job: Job, ended: EndedOf, asset: Asset, tmp_path: Path
) -> None:
    _run(executor, job("one", READS_ASSET, assets=(asset,)), ended)
    with Path(asset.maker).open("a") as file:
        file.write("# other\n")
    _run(executor, job("two", READS_ASSET, assets=(asset,)), ended)
    assert _made(tmp_path) == 2


def test_an_asset_that_a_program_has_written_into_is_made_anew(
    executor: Executor, job: Job, ended: EndedOf, asset: Asset, tmp_path: Path
) -> None:
    spoils = "import os\nos.chmod('model.bin', 0o644)\nopen('model.bin', 'wb').write(b'spoilt!')"
    _run(executor, job("one", spoils, assets=(asset,)), ended)
    _run(executor, job("two", READS_ASSET, assets=(asset,)), ended)
    assert _made(tmp_path) == 2
    assert next(o for o in executor.fetch("two") if o.kind == "result").path.read_bytes() == b"weights"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise ValueError('no such shape')", "failed with exit code 1: ValueError: no such shape"),
        ("pass", "wrote no file of that name"),
        ("import os, sys\nos.symlink('/etc/passwd', sys.argv[1])", "wrote no file of that name"),
    ],
)
def test_a_maker_that_fails_says_why(
    executor: Executor, job: Job, ended: EndedOf, asset: Asset, text: str, reason: str
) -> None:
    Path(asset.maker).write_text(text)
    status = _run(executor, job("bad", READS_ASSET, assets=(asset,)), ended)
    assert status.outcome is JobOutcome.TOOL_FAILED
    assert "model.bin" in status.detail
    assert reason in status.detail


def test_a_missing_maker_is_named(executor: Executor, job: Job, ended: EndedOf) -> None:
    status = _run(executor, job("gone", assets=(Asset(name="m", maker="/nowhere/maker.py"),)), ended)
    assert status.outcome is JobOutcome.TOOL_FAILED
    assert "/nowhere/maker.py cannot be read" in status.detail


def test_a_set_up_that_takes_too_long_is_a_timeout(
    executor: Executor, job: Job, ended: EndedOf, asset: Asset, mentioning: Callable[[Path], list[int]]
) -> None:
    Path(asset.maker).write_text("import time\ntime.sleep(600)")
    status = _run(executor, job("slow", assets=(asset,), setup_timeout_s=1.0), ended)
    assert (status.outcome, status.detail) == (JobOutcome.TIMEOUT, "set-up took longer than its limit of 1 s")
    assert mentioning(Path(asset.maker)) == []


def test_a_half_made_environment_is_made_anew(tmp_path: Path, folder: Path, job: Job, ended: EndedOf) -> None:
    cache = tmp_path / "cache"
    half = cache / "environments" / environment_key(())
    (half / "bin").mkdir(parents=True)
    (half / "bin" / "python").write_text("no Python")
    executor = local.create({}, folder=folder, cache=cache)
    assert _run(executor, job("again"), ended).outcome is JobOutcome.OK
    assert (half / ".complete").exists()


def test_environments_are_made_without_uv_too(tmp_path: Path, folder: Path, job: Job, ended: EndedOf) -> None:
    executor = local.create({"uv": ""}, folder=folder, cache=tmp_path / "cache")
    assert _run(executor, job("venv"), ended).outcome is JobOutcome.OK


def test_the_key_of_an_environment_ignores_order_and_repetition_only() -> None:
    assert environment_key(("a==1", "b==2")) == environment_key(("b==2", "a==1", "a==1"))
    assert environment_key(("a==1",)) != environment_key(("a==2",))


def test_an_index_that_does_not_answer_is_the_machines_fault(
    folder: Path, cache: Path, job: Job, ended: EndedOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        index = f"http://127.0.0.1:{closed.getsockname()[1]}/simple"
        executor = local.create({"index_url": index}, folder=folder, cache=cache)
        spec = job("away", requirements=("a-package-that-is-in-no-cache==1.0",))
        status = _run(executor, spec, ended)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert status.detail.startswith("the package index could not be reached")


@pytest.mark.parametrize(
    ("printed", "outcome", "detail"),
    [
        (
            "error: No solution found when resolving dependencies\n"
            "  cause: Because there is no version of six==99 and you require six==99, it cannot be.\n\nhint: look",
            JobOutcome.TOOL_FAILED,
            "set-up failed: Because there is no version of six==99 and you require six==99, it cannot be.",
        ),
        (
            "ERROR: Could not find a version that satisfies the requirement six==99 (from versions: 1.16.0)\n"
            "ERROR: No matching distribution found for six==99",
            JobOutcome.TOOL_FAILED,
            "set-up failed: No matching distribution found for six==99",
        ),
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError(...)': /simple/six/\n"
            "ERROR: No matching distribution found for six==1.16.0",
            JobOutcome.INFRA_FAILED,
            "the package index could not be reached: No matching distribution found for six==1.16.0",
        ),
        (
            "error: Failed to install: x.whl\n  cause: failed to write: No space left on device (os error 28)",
            JobOutcome.INFRA_FAILED,
            "the disk is full: failed to write: No space left on device (os error 28)",
        ),
        (
            "error: Request failed\n  cause: HTTP status server error (503 Service Unavailable) for url (http://x/)",
            JobOutcome.INFRA_FAILED,
            "the package index could not be reached: HTTP status server error (503 Service Unavailable) "
            "for url (http://x/)",
        ),
        ("", JobOutcome.TOOL_FAILED, "set-up failed: the installer said nothing"),
    ],
)
def test_a_failed_installation_is_told_in_the_installers_own_words(
    tmp_path: Path, printed: str, outcome: JobOutcome, detail: str
) -> None:
    log = tmp_path / "setup.log"
    log.write_text(printed)
    end = explain(log)
    assert isinstance(end, Ended)
    assert (end.outcome, end.detail) == (outcome, detail)


def test_installers_see_proxies_and_certificates_but_not_our_settings() -> None:
    seen = installer_variables(
        {
            "HTTPS_PROXY": "http://proxy",
            "PIP_INDEX_URL": "http://index/simple",
            "PIP_CERT": "/ca.pem",
            "TRACKER_SLACK_TOKEN": "secret",
            "PYTHONPATH": "/elsewhere",
            "VIRTUAL_ENV": "/ours",
        }
    )
    assert seen == {
        "HTTPS_PROXY": "http://proxy",
        "PIP_INDEX_URL": "http://index/simple",
        "PIP_CERT": "/ca.pem",
        "UV_DEFAULT_INDEX": "http://index/simple",
        "SSL_CERT_FILE": "/ca.pem",
        "UV_SYSTEM_CERTS": "1",
    }


def test_only_what_the_suite_asked_for_besides_the_build_makes_environments_differ(job: Job) -> None:
    spec = job(
        "which",
        component="llama.cpp",
        build_location="xllamacpp-0.2.3-cp311-abi3-manylinux_2_28_x86_64.whl",
        requirements=("xllamacpp==0.2.3", "NumPy==1.26.4", "typing_extensions[x]>=4"),
    )
    installed = ("numpy==1.26.4", "protobuf==5.0", "typing-extensions==4.12", "xllamacpp==0.2.3")
    assert other_packages(spec, installed) == ("numpy==1.26.4", "typing-extensions==4.12")


@pytest.mark.real("package index")
def test_a_real_wheel_is_installed_and_listed(executor: Executor, job: Job, ended: EndedOf, folder: Path) -> None:
    text = "import json, six\njson.dump({'six': six.__version__}, open('result.json', 'w'))"
    assert _run(executor, job("six", text, requirements=("six==1.16.0",)), ended).outcome is JobOutcome.OK
    record = json.loads(Attempt(folder / "six").file("environment.json").read_text())
    assert record["packages"] == ["six==1.16.0"]
    missing = _run(executor, job("none", text, requirements=("six==99.0",)), ended)
    assert missing.outcome is JobOutcome.TOOL_FAILED
    assert "six==99.0" in missing.detail
