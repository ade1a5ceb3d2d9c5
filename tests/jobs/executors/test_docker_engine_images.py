"""Images and GPUs of attempts in a real Podman: pulled from a real registry, kept, counted, looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.protocols import JobOutcome, JobStatus
from tests.fakes.podman import Podman
from tests.fakes.registry import Registry, make_image, serve_registry
from tests.jobs.executors.engine_bench import Bench, Ended

pytestmark = [pytest.mark.real("podman"), pytest.mark.timeout(180)]

GPU_LIST = """\
#!/bin/sh
[ "$1" = -L ] || exit 0
echo "GPU 0: Example GPU (UUID: GPU-0)"
echo "  MIG 1g.10gb Device 0: (UUID: MIG-0)"
echo "GPU 1: Example GPU (UUID: GPU-1)"
"""


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
