"""The Kubernetes executor against a server that speaks the API and runs containers as processes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import TryLater, UserError
from jobs.executors import kubernetes as plugin
from jobs.executors._kubernetes_ends import Look
from jobs.executors._kubernetes_manifest import image_of, job_manifest, job_name
from jobs.executors._kubernetes_options import read_options
from jobs.executors._kubernetes_outcome import pod_record
from jobs.executors._kubernetes_report import read_report
from jobs.protocols import Asset, ContainerLimits, Executor, JobOutcome, JobSpec, JobState, JobStatus
from tests.fakes.kubernetes import KubernetesServer

Ended = Callable[[Executor, str], JobStatus]
Job = Callable[..., JobSpec]
Until = Callable[..., object]
DIGEST = "sha256:" + "ab" * 32
WRITES = "open('result.json', 'w').write('{}')"
HANGS = "import time\ntime.sleep(600)"


@pytest.fixture
def make(kubernetes_options: dict[str, object], folder: Path, cache: Path) -> Callable[..., Executor]:
    """Make an executor on the server, with options of the test's own."""

    def create(**options: object) -> Executor:
        return plugin.create({**kubernetes_options, **options}, folder=folder, cache=cache)

    return create


def _image(job: Job, key: str, program: str = WRITES, **fields: Any) -> JobSpec:
    location = "nvcr.io/nvidia/tensorrt-llm/release:1.2.0"
    return job(key, program, build_kind="image", build_location=location, build_digest=DIGEST, **fields)


def _run(executor: Executor, spec: JobSpec, ended: Ended) -> JobStatus:
    executor.start(spec)
    return ended(executor, spec.key)


def _texts(executor: Executor, key: str) -> dict[str, str]:
    return {output.kind: output.path.read_text() for output in executor.fetch(key)}


# --- how a program may end -------------------------------------------------------------------------------------


def test_log_result_and_where_it_ran_come_back(make: Callable[..., Executor], job: Job, ended: Ended) -> None:
    executor = make()
    spec = _image(job, "bench", "print('812.5 tokens/s')\nopen('result.json', 'wb').write(bytes(range(256)) * 50)")
    status = _run(executor, spec, ended)
    assert (status.outcome, status.exit_code) == (JobOutcome.OK, 0)
    outputs = {output.kind: output for output in executor.fetch("bench")}
    assert outputs["log"].path.read_text() == "812.5 tokens/s\n"
    assert outputs["result"].path.read_bytes() == bytes(range(256)) * 50
    environment = json.loads(outputs["environment"].path.read_text())
    assert environment["scheduler"]["node"] == "node-1"
    assert environment["build"]["digest"] == DIGEST
    assert environment["host"]["kernel"]


@pytest.mark.parametrize(
    ("program", "detail", "code"),
    [
        ("import sys\nprint('no engine')\nsys.exit(7)", "exit code 7: no engine", 7),
        ("import os\nos.kill(os.getpid(), 11)", "ended by SIGSEGV", -11),
        ("print('done')", "wrote no result.json", 0),
        ("import os\nos.symlink('/etc/passwd', 'result.json')", "wrote something that is not a plain file", 0),
    ],
)
def test_ends_of_a_program_are_told_apart(
    make: Callable[..., Executor], job: Job, ended: Ended, program: str, detail: str, code: int
) -> None:
    executor = make()
    status = _run(executor, _image(job, "ends", program), ended)
    assert (status.outcome, status.exit_code) == (JobOutcome.TOOL_FAILED, code)
    assert detail in status.detail
    assert "result" not in _texts(executor, "ends")


def test_a_time_limit_is_kept(make: Callable[..., Executor], job: Job, ended: Ended) -> None:
    status = _run(make(), _image(job, "late", HANGS, timeout_s=1.0), ended)
    assert (status.outcome, status.detail) == (JobOutcome.TIMEOUT, "over the time limit of 1 s")


def test_a_flood_of_output_is_cut_and_a_failure(make: Callable[..., Executor], job: Job, ended: Ended) -> None:
    executor = make(files_within_s=0)
    spec = _image(job, "flood", f"print('x' * 400_000)\n{WRITES}", output_limit_bytes=1000)
    status = _run(executor, spec, ended)
    assert (status.outcome, status.detail) == (JobOutcome.TOOL_FAILED, "more than 1000 bytes of output")
    assert len(_texts(executor, "flood")["log"]) <= 1000


def test_what_a_program_prints_is_not_taken_for_the_wrappers_words(
    make: Callable[..., Executor], job: Job, ended: Ended, folder: Path
) -> None:
    mark = f"::{job_name(folder.resolve(), 'liar')}::"
    program = f"""
        print({f"{mark} ended 2026-01-01T00:00:00Z 0"!r})
        print({f"{mark} end"!r})
        raise SystemExit(3)
    """
    status = _run(make(), _image(job, "liar", program), ended)
    assert (status.outcome, status.exit_code) == (JobOutcome.TOOL_FAILED, 3)


def test_an_image_without_the_program_says_so(make: Callable[..., Executor], job: Job, ended: Ended) -> None:
    spec = replace(_image(job, "absent"), program="trtllm-bench-that-is-not-there")
    status = _run(make(), spec, ended)
    assert status.outcome is JobOutcome.TOOL_FAILED
    assert status.detail.startswith("exit code 127 (trtllm-bench-that-is-not-there is not in the image?)")


def test_a_container_without_the_gpus_it_asked_for_measures_nothing(
    make: Callable[..., Executor], job: Job, ended: Ended
) -> None:
    status = _run(make(), _image(job, "nogpu", gpus=1), ended)
    assert (status.outcome, status.detail) == (
        JobOutcome.INFRA_FAILED,
        "the container sees fewer GPUs than it asked for",
    )


# --- what a cluster may do -------------------------------------------------------------------------------------


def _waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": reason, "message": message}}}]}


def _failed(**status: Any) -> dict[str, Any]:
    return {"phase": "Failed", **status}


def test_an_image_that_can_never_start_ends_the_attempt(
    make: Callable[..., Executor], kubernetes: KubernetesServer, job: Job, ended: Ended
) -> None:
    kubernetes.fate = _waiting("InvalidImageName", "couldn't parse image")
    status = _run(make(), _image(job, "badimage"), ended)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "InvalidImageName: couldn't parse image" in status.detail
    assert kubernetes.jobs == {}


@pytest.mark.parametrize(
    ("fate", "words"),
    [
        (_waiting("ImagePullBackOff", "back-off pulling image"), "ImagePullBackOff: back-off pulling image"),
        (
            {
                "phase": "Pending",
                "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
                ],
            },
            "Unschedulable: 0/3 nodes",
        ),
    ],
)
def test_what_may_still_come_is_waited_for_until_a_limit(
    make: Callable[..., Executor],
    kubernetes: KubernetesServer,
    job: Job,
    ended: Ended,
    fate: dict[str, Any],
    words: str,
) -> None:
    kubernetes.fate = fate
    executor = make(queue_limit_s=1)
    executor.start(_image(job, "waits"))
    assert executor.poll("waits").state is JobState.PREPARING
    status = ended(executor, "waits")
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert words in status.detail


@pytest.mark.parametrize(
    ("fate", "outcome", "words"),
    [
        (_failed(reason="Evicted", message="low on memory"), JobOutcome.LOST, "taken away: Evicted low on memory"),
        (
            _failed(conditions=[{"type": "DisruptionTarget", "status": "True"}]),
            JobOutcome.LOST,
            "taken away: disruption",
        ),
        (_failed(reason="DeadlineExceeded"), JobOutcome.TIMEOUT, "over the deadline"),
        (
            _failed(containerStatuses=[{"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]),
            JobOutcome.TOOL_FAILED,
            "out of memory",
        ),
        (
            _failed(
                containerStatuses=[
                    {"state": {"terminated": {"exitCode": 128, "reason": "StartError", "message": "no /bin/sh"}}}
                ]
            ),
            JobOutcome.INFRA_FAILED,
            "exit code 128, StartError no /bin/sh",
        ),
        (_failed(), JobOutcome.LOST, "its pod is gone"),
    ],
)
def test_what_ends_a_pod_from_outside_is_told(
    make: Callable[..., Executor],
    kubernetes: KubernetesServer,
    job: Job,
    ended: Ended,
    fate: dict[str, Any],
    outcome: JobOutcome,
    words: str,
) -> None:
    kubernetes.fate = fate
    status = _run(make(files_within_s=0), _image(job, "fate"), ended)
    assert status.outcome is outcome
    assert words in status.detail


def test_a_job_deleted_by_hand_is_a_lost_attempt(
    make: Callable[..., Executor], kubernetes: KubernetesServer, job: Job, ended: Ended, until: Until
) -> None:
    executor = make()
    executor.start(_image(job, "deleted", HANGS))
    until(lambda: executor.poll("deleted").state is JobState.RUNNING, "it to run")
    with kubernetes.lock:
        kubernetes.delete(kubernetes.created[0])
    status = ended(executor, "deleted")
    assert status.outcome is JobOutcome.LOST
    assert "not in the cluster any more" in status.detail
    assert len(kubernetes.created) == 1


def test_a_log_that_is_cut_is_no_result(
    make: Callable[..., Executor], kubernetes: KubernetesServer, job: Job, ended: Ended
) -> None:
    spec = _image(job, "cut", "open('result.json', 'w').write('[1, 2, 3]' * 100)")
    kubernetes.cut_logs_at = 500
    executor = make(files_within_s=0.5)
    status = _run(executor, spec, ended)
    assert (status.outcome, status.detail) == (JobOutcome.LOST, "not all of its log arrived whole")
    assert "result" not in _texts(executor, "cut")


def test_a_cluster_that_is_away_ends_nothing(
    make: Callable[..., Executor], kubernetes: KubernetesServer, job: Job, until: Until
) -> None:
    executor = make(ask_every_s=0)
    kubernetes.failures += [(503, "etcd has no leader")] * 2
    executor.start(_image(job, "away"))
    with pytest.raises(TryLater, match=r"does not answer POST .*HTTP 503: etcd has no leader"):
        executor.poll("away")
    until(lambda: executor.poll("away").state is JobState.ENDED, "it to end")
    assert executor.poll("away").outcome is JobOutcome.OK
    assert len(kubernetes.created) == 1


def test_between_two_questions_a_cluster_that_did_not_answer_is_still_away(
    make: Callable[..., Executor], kubernetes: KubernetesServer, job: Job
) -> None:
    executor = make(ask_every_s=600)
    kubernetes.failures += [(503, "etcd has no leader")] * 2
    executor.start(_image(job, "away"))
    for _ in range(3):
        with pytest.raises(TryLater, match="etcd has no leader"):
            executor.poll("away")


def test_a_cluster_that_cannot_be_reached_is_named(make: Callable[..., Executor], job: Job) -> None:
    executor = make(server="http://127.0.0.1:9", ask_every_s=0)
    executor.start(_image(job, "far"))
    with pytest.raises(TryLater, match=r"Kubernetes at http://127\.0\.0\.1:9.* does not answer"):
        executor.poll("far")


@pytest.mark.parametrize("answer", ["<html>log in</html>", "[]", '{"kind": "JobList"}'])
def test_an_answer_that_is_none_is_asked_for_again(
    make: Callable[..., Executor], kubernetes: KubernetesServer, answer: str
) -> None:
    kubernetes.failures.append((200, answer))
    with pytest.raises(TryLater, match="Kubernetes answered"):
        make().sweep(frozenset())


def test_a_cluster_that_refuses_is_a_user_error_with_its_words(
    make: Callable[..., Executor], kubernetes: KubernetesServer, job: Job, tmp_path: Path
) -> None:
    kubernetes.failures.append((403, json.dumps({"message": "exceeded quota: gpus"})))
    with pytest.raises(UserError, match=r"refused the Job: HTTP 403: exceeded quota: gpus; check \[kubernetes\]"):
        make().start(_image(job, "quota"))
    with pytest.raises(UserError, match="HTTP 401: Unauthorized"):
        make(token_file=str(tmp_path / "none")).start(_image(job, "stranger"))


def test_a_job_whose_making_was_not_confirmed_is_not_made_twice(
    make: Callable[..., Executor], kubernetes: KubernetesServer, job: Job, ended: Ended, folder: Path
) -> None:
    executor = make()
    executor.start(_image(job, "once"))
    (folder / "once" / "created.json").unlink()  # as if its caller had died before it heard
    assert ended(make(), "once").outcome is JobOutcome.OK
    assert len(kubernetes.created) == 1


def test_a_sweep_deletes_jobs_whose_folder_is_gone_and_leaves_other_services_alone(
    kubernetes_options: dict[str, object], kubernetes: KubernetesServer, job: Job, folder: Path, tmp_path: Path
) -> None:
    executor = plugin.create(kubernetes_options, folder=folder, cache=tmp_path)
    executor.start(_image(job, "gone", HANGS))
    other = plugin.create(kubernetes_options, folder=tmp_path / "other", cache=tmp_path)
    other.start(_image(job, "theirs", HANGS))
    (folder / "gone").rename(tmp_path / "moved")
    executor.sweep(frozenset())
    assert kubernetes.running() == [job_name((tmp_path / "other").resolve(), "theirs")]
    other.cancel("theirs")


# --- manifests and options -------------------------------------------------------------------------------------


def test_the_manifest_asks_for_what_is_set(job: Job, folder: Path) -> None:
    options = read_options(
        {
            "node_selector": {"gpu": "h200"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "pull_secrets": ["ngc"],
            "cpus": "16",
            "memory": "64Gi",
            "host_paths": ["/data/models:/models"],
            "claims": ["engines:/engines"],
        }
    )
    spec = job_manifest(_image(job, "run-1", gpus=2), options, folder=folder)["spec"]
    pod = spec["template"]["spec"]
    container = pod["containers"][0]
    assert (spec["backoffLimit"], pod["restartPolicy"], spec["ttlSecondsAfterFinished"]) == (0, "Never", 86_400)
    assert pod["nodeSelector"] == {"gpu": "h200"}
    assert pod["imagePullSecrets"] == [{"name": "ngc"}]
    assert pod["automountServiceAccountToken"] is False
    assert container["image"] == f"nvcr.io/nvidia/tensorrt-llm/release@{DIGEST}"
    assert container["resources"]["limits"] == {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "2"}
    assert [(mount["mountPath"], mount.get("readOnly")) for mount in container["volumeMounts"]] == [
        ("/tracker-work", None),
        ("/models", True),
        ("/engines", True),
    ]


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", fullmatch=True))
def test_names_of_jobs_are_labels_that_differ(key: str) -> None:
    name = job_name(Path("/a"), key)
    assert len(name) <= 63
    assert name.replace("-", "a").isalnum()
    assert name == name.lower()
    assert name != job_name(Path("/a"), key + "x")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"build_kind": "wheel"}, "measures images, found a wheel"),
        ({"build_location": "--privileged"}, "measures images"),
        ({"build_location": "a b"}, "measures images"),
        ({"assets": (Asset(name="tokens.jsonl", maker="make.py"),)}, r"no place for assets \(tokens.jsonl\)"),
    ],
)
def test_what_a_pod_cannot_do_is_refused(job: Job, change: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        image_of(replace(_image(job, "no"), **change))


def test_limits_of_the_suite_hold_where_the_settings_say_nothing(job: Job, folder: Path) -> None:
    spec = _image(job, "limits", container=ContainerLimits(cpus=2.5, memory_bytes=8_000_000_000))
    container = job_manifest(spec, read_options({}), folder=folder)["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"] == {"cpu": "2.5", "memory": "8000000000"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"namespace": "Bench"}, "namespace must look like"),
        ({"server": "10.0.0.1"}, "server must look like"),
        ({"server": "https://user:secret@host"}, "server must look like"),
        ({"node_selector": {"a b": "c"}}, "node_selector must be labels"),
        ({"node_selector": ["a"]}, "node_selector must be labels"),
        ({"tolerations": [{"keys": "a"}]}, "a toleration must look like"),
        ({"tolerations": [{"effect": "Never"}]}, "a toleration must look like"),
        ({"tolerations": {"key": "a"}}, "tolerations must be a list"),
        ({"pull_secrets": "ngc"}, "pull_secrets must be a list"),
        ({"host_paths": ["models"]}, "host_paths must look like"),
        ({"claims": ["models"]}, "claims must look like"),
        ({"memory": "64 GB"}, "memory must look like"),
        ({"cpus": "-1"}, "cpus must look like"),
        ({"ttl_s": 1}, "ttl_s must be a number from 60"),
        ({"ttl_s": 90.5}, "ttl_s must be a whole number"),
        ({"namespaces": "x"}, "Did you mean 'namespace'"),
    ],
)
def test_an_option_that_cannot_be_says_what_was_expected_and_found(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        read_options(options)


def test_outside_a_cluster_the_server_must_be_named(
    make: Callable[..., Executor], job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(UserError, match=r"kubernetes\.server must name the API"):
        make(server="").start(_image(job, "where"))


def test_gpus_that_a_container_saw_make_its_hardware_class(job: Job) -> None:
    log = b"::m:: started 2026-12-03T00:00:00Z\nhello\n\n::m:: ended 2026-12-03T00:00:09Z 0\n::m:: kernel Linux 6.8\n"
    log += b"::m:: gpu NVIDIA H200, 580.65.06\n" * 2 + b"::m:: end\n"
    report = read_report(log, "::m::")
    assert (report.log, report.exit_code, report.whole) == (b"hello\n", 0, True)
    record = pod_record(_image(job, "gpus"), Look(over=True, running=False), report, "n")
    assert record["hardware_class"] == {
        "slug": "2x-nvidia-h200",
        "labels": {"gpu": "NVIDIA H200", "gpu_count": 2},
    }


@given(st.binary())
def test_whatever_a_pod_printed_is_taken_apart(text: bytes) -> None:
    for log in (text, b"::m:: started x\n" + text, text + b"\n::m:: ended 2026-12-03T00:00:00Z 0\n" + text):
        report = read_report(log, "::m::")
        assert report.result is None or report.whole or report.exit_code is not None
