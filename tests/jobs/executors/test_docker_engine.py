"""Attempts in containers of a real Podman: how they end, and what they are given."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.content import Content
from jobs.errors import UserError
from jobs.measurements import ParseOutcome
from jobs.protocols import Asset, ContainerLimits, JobOutcome, JobStatus
from jobs.reading import read_result
from tests.fakes.podman import Podman
from tests.fakes.registry import make_image
from tests.jobs.executors.engine_bench import PREFIX, Bench, Ended, running

pytestmark = [pytest.mark.real("podman"), pytest.mark.timeout(180)]

CASES = Path(__file__).parents[1] / "parsers" / "cases"


# --- how a run ends ---


@pytest.mark.parametrize(
    ("script", "outcome", "detail"),
    [
        ("echo '{}' > result.json", JobOutcome.OK, ""),
        ("echo no luck; exit 3", JobOutcome.TOOL_FAILED, "exit code 3: no luck"),
        ("true", JobOutcome.TOOL_FAILED, "wrote no result.json"),
        ("mkdir result.json", JobOutcome.TOOL_FAILED, "wrote something that is not a plain file as result.json"),
        ("sh -c 'kill -SEGV $$'; exit $?", JobOutcome.TOOL_FAILED, "exit code 139 (SIGSEGV)"),
        ("head -c 300000 /dev/zero > result.json", JobOutcome.TOOL_FAILED, "more than 200000 bytes"),
        ("no-such-tool", JobOutcome.TOOL_FAILED, "exit code 127: sh: no-such-tool: not found"),
        ("echo write: No space left on device; exit 1", JobOutcome.INFRA_FAILED, "the disk is full"),
    ],
)
def test_an_end_says_in_one_line_what_happened(
    run: Callable[..., JobStatus], script: str, outcome: JobOutcome, detail: str
) -> None:
    status = run(script, output_limit_bytes=200_000)
    assert status.outcome is outcome
    assert detail in status.detail


def test_a_result_that_is_a_link_is_not_followed_out_of_the_container(
    bench: Bench, run: Callable[..., JobStatus]
) -> None:
    assert run("ln -s /etc/hostname result.json").outcome is JobOutcome.TOOL_FAILED
    assert not bench.file("result").exists()


def test_what_a_program_prints_is_its_result_where_the_suite_says_so(bench: Bench, ended: Ended) -> None:
    executor, job = bench.executor(), bench.job("echo throughput 7; echo to errors >&2", result_file="run.log")
    executor.start(job)
    assert ended(executor, job.key).outcome is JobOutcome.OK
    result = next(output for output in executor.fetch(job.key) if output.kind == "result")
    assert sorted(result.path.read_text().splitlines()) == ["throughput 7", "to errors"]


@pytest.mark.parametrize(
    "log", ["trtexec/v10_whole_with_options", "trtllm_benchmark_serving/energy_and_decoded_tokens"]
)
def test_what_tools_print_in_an_image_is_read_as_their_result(
    podman: Podman, images: Path, folder: Path, ended: Ended, log: str
) -> None:
    printed = (CASES / log / "input.log").read_text()
    name = log.partition("/")[0].replace("_", "-")
    digest = podman.load(make_image(images, {"log": printed}, name=name), f"localhost/{name}:1.0")
    bench = Bench(podman=podman, folder=folder, image=f"localhost/{name}:1.0", digest=digest)
    executor, job = bench.executor(), bench.job("cat /log", result_file="run.log")
    executor.start(job)
    assert ended(executor, job.key).outcome is JobOutcome.OK
    (result,) = (output for output in executor.fetch(job.key) if output.kind == "result")
    assert result.path.read_text() == printed
    parsed = read_result(Content(result.name, result.path), "auto")
    assert parsed.outcome is ParseOutcome.OK
    assert parsed.runs


def test_a_command_that_the_image_does_not_have_is_a_fact_about_the_release(run: Callable[..., JobStatus]) -> None:
    status = run("", program="trtllm-bench", arguments=())
    assert status.outcome is JobOutcome.TOOL_FAILED
    assert status.detail.startswith("the image localhost/tools@sha256:")
    assert "has no program 'trtllm-bench'; name one that it has in run.program" in status.detail
    assert "The engine said: " in status.detail


def test_eating_more_memory_than_allowed_is_told_apart_from_a_failure(run: Callable[..., JobStatus]) -> None:
    eats = "x=0123456789; while true; do x=$x$x; done"
    status = run(eats, container=ContainerLimits(memory_bytes=32 << 20))
    assert status.outcome is JobOutcome.TOOL_FAILED
    assert "out of memory" in status.detail
    assert "34 MB" in status.detail
    assert status.exit_code == 137


def test_over_its_time_a_program_is_asked_to_stop_first(bench: Bench, run: Callable[..., JobStatus]) -> None:
    status = run("trap 'echo leaving; exit 5' TERM; sleep 60 & wait", timeout_s=1)
    assert (status.outcome, status.exit_code) == (JobOutcome.TIMEOUT, 5)
    assert status.detail.startswith("over the time limit of 1 s; it ")
    assert bench.file("run.log").read_text() == "leaving\n"


def test_a_program_that_never_stops_is_killed_with_all_it_started(bench: Bench, run: Callable[..., JobStatus]) -> None:
    status = run("trap '' TERM; (trap '' TERM; sleep 777) & sleep 777", timeout_s=1)
    assert (status.outcome, status.exit_code) == (JobOutcome.TIMEOUT, 137)
    assert bench.own() == []


def test_a_flood_of_output_ends_the_run_and_fills_no_disk(bench: Bench, run: Callable[..., JobStatus]) -> None:
    status = run("yes", output_limit_bytes=100_000)
    assert status.outcome is JobOutcome.TOOL_FAILED
    assert status.detail == "more than 100000 bytes of output"
    assert bench.file("run.log").stat().st_size == 100_000


def test_a_program_that_fills_its_working_folder_is_ended(run: Callable[..., JobStatus]) -> None:
    script = "dd if=/dev/zero of=big bs=1000000 count=60; sleep 60"
    status = run(script, {"work_limit_gb": 0.02})
    assert status.outcome is JobOutcome.TOOL_FAILED
    assert status.detail == "more than 20 MB of files in its working folder"


# --- what a container is given ---


def test_a_container_has_no_network_and_only_the_variables_it_was_given(
    bench: Bench, run: Callable[..., JobStatus]
) -> None:
    os.environ["TRACKER_TEST_TOKEN"] = "not for containers"
    try:
        run("ls /sys/class/net; env", environment={"BATCH": "8"})
    finally:
        del os.environ["TRACKER_TEST_TOKEN"]
    lines = bench.file("run.log").read_text().splitlines()
    assert lines[0] == "lo"
    assert "BATCH=8" in lines
    assert "not for containers" not in "\n".join(lines)


def test_a_secret_reaches_the_program_and_nobody_who_looks(
    bench: Bench, until: Callable[..., Any], ended: Ended
) -> None:
    executor = bench.executor(secrets={"HF_TOKEN": "hf_0123"})
    finds = '[ ${#HF_TOKEN} = 7 ] && [ "$HF_TOKEN" = "$(cat /tracker/secrets/HF_TOKEN)" ] && echo "{}" > result.json'
    job = bench.job(f"{finds}; trap 'exit 0' TERM; sleep 60 & wait")
    executor.start(job)
    running(executor, job.key, until)
    (name,) = bench.own()
    assert "hf_0123" not in bench.podman.run("inspect", name)
    kept = [path.read_text(errors="replace") for path in (bench.folder / job.key).rglob("*") if path.is_file()]
    assert "hf_0123" not in "".join(kept)
    bench.podman.run("stop", name)
    assert ended(executor, job.key).outcome is JobOutcome.OK


def test_models_are_mounted_for_reading_only(bench: Bench, tmp_path: Path, run: Callable[..., JobStatus]) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "weights").write_text("w")
    script = "cat /models/weights; echo x > /models/weights && exit 9; echo '{}' > result.json"
    status = run(script, {"mounts": {"/models": str(tmp_path / "models")}})
    assert status.outcome is JobOutcome.OK
    assert "Read-only file system" in bench.file("run.log").read_text()


def test_a_mount_that_the_host_does_not_have_is_a_matter_of_the_host(run: Callable[..., JobStatus]) -> None:
    status = run("true", {"mounts": {"/models": "/nonexistent/models"}})
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "/nonexistent/models" in status.detail


def test_limits_reach_the_engine_and_are_written_down(bench: Bench, until: Callable[..., Any]) -> None:
    limits = ContainerLimits(
        memory_bytes=64 << 20, cpus=0.5, pids=50, shm_bytes=8 << 20, ulimits={"nofile": 1000, "nproc": 1000}
    )
    executor, job = bench.executor(), bench.job("trap 'exit 0' TERM; sleep 60 & wait", container=limits)
    executor.start(job)
    running(executor, job.key, until)
    (found,) = json.loads(bench.podman.run("inspect", *bench.own()))
    assert found["HostConfig"]["Memory"] == 64 << 20
    assert found["HostConfig"]["CpuQuota"] == 50_000
    assert found["HostConfig"]["PidsLimit"] == 50
    assert found["HostConfig"]["ShmSize"] == 8 << 20
    assert {"Name": "RLIMIT_NOFILE", "Soft": 1000, "Hard": 1000} in found["HostConfig"]["Ulimits"]
    assert found["Config"]["Labels"][f"{PREFIX}.attempt"] == job.key
    executor.cancel(job.key)
    assert bench.record()["limits"]["pids"] == 50


@pytest.mark.parametrize("kept", [True, False])
def test_the_entry_point_of_an_image_is_kept_unless_the_suite_says_otherwise(
    podman: Podman, images: Path, folder: Path, ended: Ended, kept: bool
) -> None:
    podman.run("build", "--quiet", "--format", "docker", "-t", "localhost/entered:1.0", str(_entered(images)))
    digest = podman.run("inspect", "--format", "{{.Digest}}", "localhost/entered:1.0").strip()
    bench = Bench(podman=podman, folder=folder, image="localhost/entered:1.0", digest=digest)
    executor, job = bench.executor(), bench.job("echo done", container=ContainerLimits(entrypoint=kept))
    executor.start(job)
    ended(executor, job.key)
    assert bench.file("run.log").read_text().splitlines() == (["entered with sh"] if kept else []) + ["done"]


def _entered(images: Path) -> Path:
    folder = images / "entered"
    folder.mkdir(exist_ok=True)
    (folder / "Dockerfile").write_text('FROM localhost/tools:1.0\nENTRYPOINT ["/opt/entry"]\nCMD ["never"]\n')
    return folder


def test_a_script_of_the_suite_and_its_assets_are_put_into_the_container(
    bench: Bench, tmp_path: Path, ended: Ended
) -> None:
    (tmp_path / "bench.py").write_text('cp model.bin result.json; echo "args $*"')
    (tmp_path / "maker.py").write_text("import sys\nopen(sys.argv[1], 'w').write('made once')")
    job = bench.job(
        "",
        program=str(tmp_path / "bench.py"),
        arguments=("--x", "1"),
        assets=(Asset(name="model.bin", maker=str(tmp_path / "maker.py")),),
    )
    executor = bench.executor()
    executor.start(job)
    assert ended(executor, job.key).outcome is JobOutcome.OK
    assert bench.file("run.log").read_text() == "args --x 1\n"
    assert bench.file("result").joinpath("result.json").read_text() == "made once"
    assert bench.record()["assets"][0]["name"] == "model.bin"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"build_kind": "wheel"}, "measures images, found a wheel"),
        ({"build_digest": "sha256:12"}, "expected an image's reference and its digest"),
        ({"requirements": ("numpy==2.0.0",)}, "an image brings its own packages"),
        ({"program": "/nonexistent/bench.py"}, "does not exist"),
    ],
)
def test_a_job_that_cannot_be_run_in_a_container_is_refused(bench: Bench, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        bench.executor().start(bench.job("true", **fields))
