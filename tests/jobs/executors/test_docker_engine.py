"""Attempts in containers of a real Podman, with small images as benchmarks and a real registry to pull them from."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.content import Content
from jobs.errors import TryLater, UserError
from jobs.executors import docker_engine
from jobs.executors._attempts import Attempt, replace
from jobs.measurements import ParseOutcome
from jobs.protocols import Asset, ContainerLimits, Executor, JobOutcome, JobSpec, JobState, JobStatus
from jobs.reading import read_result
from tests.fakes.podman import Podman, serve_podman
from tests.fakes.registry import Registry, make_image, serve_registry

pytestmark = [pytest.mark.real("podman"), pytest.mark.timeout(180)]

CASES = Path(__file__).parents[1] / "parsers" / "cases"
PREFIX = "release-regression-tracker"
GPU_LIST = """\
#!/bin/sh
[ "$1" = -L ] || exit 0
echo "GPU 0: Example GPU (UUID: GPU-0)"
echo "  MIG 1g.10gb Device 0: (UUID: MIG-0)"
echo "GPU 1: Example GPU (UUID: GPU-1)"
"""
FILES = {
    "opt/entry": '#!/bin/sh\necho "entered with $1"\nexec "$@"\n',
    "bin/python3": '#!/bin/sh\nexec sh "$@"\n',
}


@dataclass(frozen=True, kw_only=True)
class Bench:
    """An executor on a real Podman, and jobs for it."""

    podman: Podman
    folder: Path
    image: str
    digest: str

    def executor(self, **options: Any) -> Executor:
        given = {"engine": self.podman.url, "min_free_gb": 0.01, **options}
        return docker_engine.create(given, folder=self.folder, cache=self.folder.parent / "cache")

    def job(self, script: str, key: str = "run-1-1", **fields: Any) -> JobSpec:
        named = {"component": "thing", "version": "1.0", "build_kind": "image"}
        named |= {"build_location": self.image, "build_digest": self.digest}
        return JobSpec(**{**named, "key": key, "program": "sh", "arguments": ("-c", script), **fields})

    def file(self, name: str, key: str = "run-1-1") -> Path:
        return self.folder / key / name

    def record(self, key: str = "run-1-1") -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.file("environment.json", key).read_text())
        return found

    def carrier(self, key: str = "run-1-1") -> int:
        return int(json.loads(self.file("carrier.json", key).read_text())["pid"])

    def own(self) -> list[str]:
        """Return the names of the containers of this folder."""
        home = json.loads((self.folder / ".engine.json").read_text())["home"]
        return [name for name in self.podman.containers() if home in name]


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("engine-images")


@pytest.fixture(scope="session")
def tools_digest(podman: Podman, images: Path) -> str:
    """Return the digest of `localhost/tools`: a shell, something called python3, an entry point."""
    return podman.load(make_image(images, FILES, name="tools"), "localhost/tools:1.0")


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with serve_registry(tmp_path_factory.mktemp("registry")) as served:
        yield served


@pytest.fixture
def bench(podman: Podman, tools_digest: str, folder: Path) -> Iterator[Bench]:
    made = Bench(podman=podman, folder=folder, image="localhost/tools:1.0", digest=tools_digest)
    yield made
    if (folder / ".engine.json").exists():
        made.executor().sweep(frozenset())
        assert made.own() == []


Ended = Callable[[Executor, str], JobStatus]


@pytest.fixture
def run(bench: Bench, ended: Ended) -> Callable[..., JobStatus]:
    """Run a script as a job to its end; return how it ended."""

    def carry(script: str, options: dict[str, Any] | None = None, **fields: Any) -> JobStatus:
        executor, job = bench.executor(**(options or {})), bench.job(script, **fields)
        executor.start(job)
        return ended(executor, job.key)

    return carry


def _running(executor: Executor, key: str, until: Callable[..., Any]) -> None:
    until(lambda: executor.poll(key).state is JobState.RUNNING, f"{key} to run")


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
    assert "32 MB" in status.detail
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
    assert status.detail == "more than 19 MB of files in its working folder"


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
    _running(executor, job.key, until)
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
    _running(executor, job.key, until)
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


# --- GPUs ---


def test_gpus_that_the_engine_does_not_hand_out_are_noticed_before_anything_is_measured(
    bench: Bench, run: Callable[..., JobStatus]
) -> None:
    status = run("echo '{}' > result.json; echo measured", gpus=1)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "the suite needs 1 GPU(s), its container sees 0" in status.detail
    assert "nvidia-smi: not found" in status.detail
    assert "measured" not in bench.file("run.log").read_text()


@pytest.mark.parametrize(("asked", "outcome"), [(2, JobOutcome.OK), (4, JobOutcome.INFRA_FAILED)])
def test_the_gpus_inside_the_container_are_counted_and_written_down(
    podman: Podman, images: Path, folder: Path, ended: Ended, asked: int, outcome: JobOutcome
) -> None:
    digest = podman.load(make_image(images, {"bin/nvidia-smi": GPU_LIST}, name="gpus"), "localhost/gpus:1.0")
    bench = Bench(podman=podman, folder=folder, image="localhost/gpus:1.0", digest=digest)
    executor, job = bench.executor(), bench.job("echo '{}' > result.json", gpus=asked)
    executor.start(job)
    status = ended(executor, job.key)
    assert status.outcome is outcome
    assert len(bench.record()["gpus_inside"]["listed"]) == 3
    if outcome is not JobOutcome.OK:
        assert "needs 4 GPU(s), its container sees 2" in status.detail


# --- images ---


def test_an_image_is_pulled_by_its_digest_whatever_its_tag_means_now(
    bench: Bench, registry: Registry, images: Path, ended: Ended
) -> None:
    first = registry.push(make_image(images, {"etc/said": "first"}, name="moving-1"), "bench/moving", "1.0")
    registry.push(make_image(images, {"etc/said": "second"}, name="moving-2"), "bench/moving", "1.0")
    location = registry.reference("bench/moving", "1.0")
    executor = bench.executor()
    job = bench.job("cat /etc/said", build_location=location, build_digest=first, result_file="run.log")
    executor.start(job)
    assert ended(executor, job.key).outcome is JobOutcome.OK
    assert bench.file("run.log").read_text() == "first"
    assert bench.record()["software"]["image"] == first
    assert bench.record()["container"]["engine"] == "podman"
    setup = bench.file("setup.log").read_text()
    assert f"pulled {registry.reference('bench/moving', first)}" in setup
    assert "layers" in setup


def test_an_image_that_is_gone_from_the_registry_is_a_fact_about_the_release(
    registry: Registry, run: Callable[..., JobStatus]
) -> None:
    gone = {"build_location": registry.reference("bench/gone", "1.0"), "build_digest": "sha256:" + "0" * 64}
    status = run("true", **gone)
    assert status.outcome is JobOutcome.TOOL_FAILED
    assert "the registry has no" in status.detail


def test_a_registry_that_does_not_answer_is_a_matter_of_the_infrastructure(run: Callable[..., JobStatus]) -> None:
    status = run("true", build_location="127.0.0.1:1/bench/away:1.0", build_digest="sha256:" + "0" * 64)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "connection refused" in status.detail


def test_a_private_image_is_pulled_with_the_login_of_its_registry(
    bench: Bench, images: Path, tmp_path: Path, ended: Ended
) -> None:
    with serve_registry(tmp_path / "private", user=("tester", "s3cret")) as private:
        digest = private.push(make_image(images, {"etc/x": "private"}, name="private"), "bench/private", "1.0")
        fields = {"build_location": private.reference("bench/private", "1.0"), "build_digest": digest}
        found = {}
        logins = {"none": None, "wrong": ("tester", "guess"), "right": ("tester", "s3cret")}
        for number, (name, login) in enumerate(logins.items()):
            executor = bench.executor(login=lambda reference, login=login: login)
            job = bench.job("echo '{}' > result.json", key=f"run-{number}-1", **fields)
            executor.start(job)
            found[name] = ended(executor, job.key)
    assert {name: status.outcome for name, status in found.items()} == {
        "none": JobOutcome.INFRA_FAILED,
        "wrong": JobOutcome.INFRA_FAILED,
        "right": JobOutcome.OK,
    }
    assert "there is no login for it" in found["none"].detail
    assert "its login was refused" in found["wrong"].detail
    kept = "".join(path.read_text(errors="replace") for path in bench.folder.rglob("*") if path.is_file())
    assert "s3cret" not in kept


def test_without_room_on_the_disk_nothing_is_pulled(registry: Registry, images: Path, run: Callable[..., JobStatus]):
    digest = registry.push(make_image(images, {"etc/x": "room"}, name="room"), "bench/room", "1.0")
    fields = {"build_location": registry.reference("bench/room", "1.0"), "build_digest": digest}
    status = run("true", {"min_free_gb": 10**6}, **fields)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "lower min_free_gb in the settings" in status.detail


def test_only_the_newest_images_that_were_pulled_here_stay(
    bench: Bench, registry: Registry, images: Path, ended: Ended
) -> None:
    executor = bench.executor(keep_images=1)
    digests = []
    for number in (1, 2):
        made = make_image(images, {"etc/x": f"kept {number}"}, name=f"kept-{number}")
        digests.append(registry.push(made, "bench/kept", f"{number}.0"))
        fields = {"build_location": registry.reference("bench/kept", f"{number}.0"), "build_digest": digests[-1]}
        executor.start(bench.job("echo '{}' > result.json", key=f"run-{number}-1", **fields))
        assert ended(executor, f"run-{number}-1").outcome is JobOutcome.OK
    listed = bench.podman.run("images", "--digests")
    assert digests[0] not in listed
    assert digests[1] in listed
    assert "localhost/tools" in listed


# --- crashes ---


def test_a_carrier_that_is_killed_leaves_the_container_to_the_next_one(
    bench: Bench, until: Callable[..., Any], ended: Ended
) -> None:
    executor = bench.executor()
    job = bench.job("for i in 1 2 3; do echo $i; sleep 1; done; echo '{}' > result.json")
    executor.start(job)
    _running(executor, job.key, until)
    os.kill(bench.carrier(), signal.SIGKILL)
    status = ended(bench.executor(), job.key)
    assert status.outcome is JobOutcome.OK
    assert bench.file("run.log").read_text() == "1\n2\n3\n"
    assert sum(name.endswith(f"-{job.key}") for name in _started(bench)) == 1


def _started(bench: Bench) -> list[str]:
    home = json.loads((bench.folder / ".engine.json").read_text())["home"]
    return [name for name in bench.podman.started() if home in name]


def test_a_container_made_but_not_started_before_a_crash_is_made_anew(bench: Bench, ended: Ended) -> None:
    executor, job = bench.executor(), bench.job("echo '{}' > result.json")
    home = docker_engine._home(bench.folder, make=True)
    label = f"{PREFIX}.attempt={job.key}"
    bench.podman.run("create", "--name", f"tracker-{home}-{job.key}", "--label", label, "localhost/tools:1.0", "true")
    executor.start(job)
    assert ended(executor, job.key).outcome is JobOutcome.OK


def test_an_attempt_whose_carriers_all_die_is_given_up_and_its_container_removed(bench: Bench) -> None:
    executor, job = bench.executor(), bench.job("true")
    home = docker_engine._home(bench.folder, make=True)
    name = f"tracker-{home}-{job.key}"
    bench.podman.run(
        "run", "--detach", "--network=none", "--stop-timeout=1", "--name", name, bench.image, "sleep", "60"
    )
    attempt = Attempt(bench.folder / job.key)
    attempt.claim({"executor": "docker_engine"})
    replace(attempt.file("launched.json"), {"pid": 1, "began": "long ago", "times": 50})
    attempt.file("carrier.log").write_text("Traceback ...\nMemoryError\n")
    status = executor.poll(job.key)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert status.detail == "its carrier ended 50 times before its work was done: MemoryError"
    assert bench.own() == []


def test_a_container_of_somebody_else_under_our_name_is_left_alone(bench: Bench, ended: Ended) -> None:
    executor, job = bench.executor(), bench.job("true")
    name = f"tracker-{docker_engine._home(bench.folder, make=True)}-{job.key}"
    bench.podman.run("create", "--name", name, "localhost/tools:1.0", "true")
    executor.start(job)
    status = ended(executor, job.key)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "is not ours" in status.detail
    assert bench.own() == [name]
    bench.podman.run("rm", name)


def test_a_container_that_somebody_removes_is_lost_and_not_run_again(
    bench: Bench, until: Callable[..., Any], ended: Ended
) -> None:
    executor, job = bench.executor(), bench.job("sleep 60")
    executor.start(job)
    _running(executor, job.key, until)
    bench.podman.run("rm", "--force", "--time", "0", *bench.own())
    status = ended(executor, job.key)
    assert status.outcome is JobOutcome.LOST
    assert "removed by somebody else" in status.detail
    assert len(_started(bench)) == 1


def test_a_sweep_removes_containers_that_no_attempt_speaks_for(bench: Bench) -> None:
    executor = bench.executor()
    home = docker_engine._home(bench.folder, make=True)
    labels = ["--label", f"{PREFIX}.home={home}", "--label", f"{PREFIX}.attempt=run-9-1"]
    for name in ("stray", "wanted"):
        labels[-1] = f"{PREFIX}.attempt={name}"
        bench.podman.run(
            "run", "--detach", "--network=none", "--name", f"{name}-{home}", *labels, bench.image, "sleep", "60"
        )
    assert list(executor.sweep(frozenset({"wanted"}))) == ["stray"]
    assert bench.own() == [f"wanted-{home}"]


@pytest.fixture
def own_podman(images: Path) -> Iterator[Podman]:
    """A Podman for one test that ends its service."""
    with serve_podman() as served:
        served.load(make_image(images, FILES, name="tools"), "localhost/tools:1.0")
        yield served


def test_an_engine_that_is_away_during_a_run_fails_nothing(
    own_podman: Podman, tools_digest: str, folder: Path, until: Callable[..., Any], ended: Ended
) -> None:
    bench = Bench(podman=own_podman, folder=folder, image="localhost/tools:1.0", digest=tools_digest)
    executor, job = bench.executor(), bench.job("sleep 3; echo '{}' > result.json")
    executor.start(job)
    _running(executor, job.key, until)
    own_podman.kill()
    until(lambda: _is_away(executor, job.key), "the engine to be missed")
    own_podman.start()
    until(lambda: not _is_away(executor, job.key), "the engine to be back")
    assert ended(executor, job.key).outcome is JobOutcome.OK


def test_what_is_cancelled_while_the_engine_is_away_ends_when_it_is_back(
    own_podman: Podman, tools_digest: str, folder: Path, until: Callable[..., Any], ended: Ended
) -> None:
    bench = Bench(podman=own_podman, folder=folder, image="localhost/tools:1.0", digest=tools_digest)
    executor, job = bench.executor(), bench.job("sleep 600")
    executor.start(job)
    _running(executor, job.key, until)
    own_podman.kill()
    until(lambda: _is_away(executor, job.key), "the engine to be missed")
    with pytest.raises(TryLater, match="does not answer"):
        executor.cancel(job.key)
    own_podman.start()
    until(lambda: not _is_away(executor, job.key), "the engine to be back")
    assert ended(executor, job.key).outcome is JobOutcome.CANCELLED
    assert bench.own() == []


def test_a_container_that_ends_while_the_engine_is_away_says_nothing_about_the_release(
    own_podman: Podman, tools_digest: str, folder: Path, until: Callable[..., Any], ended: Ended
) -> None:
    bench = Bench(podman=own_podman, folder=folder, image="localhost/tools:1.0", digest=tools_digest)
    executor, job = bench.executor(), bench.job("sleep 600")
    executor.start(job)
    _running(executor, job.key, until)
    own_podman.kill()
    until(lambda: _is_away(executor, job.key), "the engine to be missed")
    own_podman.run("kill", *bench.own())
    own_podman.start()
    until(lambda: not _is_away(executor, job.key), "the engine to be back")
    status = ended(executor, job.key)
    assert status.outcome is JobOutcome.LOST
    assert "the engine was away during the run" in status.detail


def _is_away(executor: Executor, key: str) -> bool:
    try:
        executor.poll(key)
    except TryLater:
        return True
    return False
