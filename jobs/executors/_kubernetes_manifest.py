"""The Job that runs one attempt, and the shell script that wraps the program in its container.

A cluster shares no folder with us, so all comes back in the log of the pod: what the program printed, and after it,
behind lines that begin with a mark of the attempt's own, how it ended, what the node is, and the result file. The image
needs a shell with `timeout`, `base64` and `sha256sum`, as those of Debian, Red Hat and busybox have.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.errors import UserError
from jobs.executors._kubernetes_options import KubernetesOptions
from jobs.protocols import JobSpec

HOME_LABEL = "release-regression-tracker/home"
ATTEMPT_NOTE = "release-regression-tracker/attempt"
CONTAINER = "benchmark"
WORK = "/tracker-work"
MARGIN_S = 120
NO_GPU = 96
"""Exit code of a container that sees fewer GPUs than it asked for."""
_LARGEST_SCRIPT_BYTES = 64 * 1024
_IMAGE = re.compile(r"[A-Za-z0-9][\w.:/@-]{0,500}", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

WRAPPER = """\
mark=$1 limit=$2 result=$3 gpus=$4; shift 4
mkdir -p "$TRACKER_WORK" && cd "$TRACKER_WORK" || exit 97
if [ -n "$TRACKER_SCRIPT" ]; then printf %s "$TRACKER_SCRIPT" | base64 -d > .program.py; fi
unset TRACKER_SCRIPT
seen=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
if [ "$gpus" -gt 0 ] && [ "$seen" -lt "$gpus" ]; then echo "$mark gpus $seen"; exit 96; fi
echo "$mark started $(date -u +%Y-%m-%dT%H:%M:%SZ)"
timeout -k 3 "$limit" "$@"
code=$?
printf '\\n%s ended %s %s\\n' "$mark" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$code"
echo "$mark kernel $(uname -srm)"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | sed "s/^/$mark gpu /"
if [ -L "$result" ]; then echo "$mark odd"; elif [ -f "$result" ]; then
    echo "$mark result $(wc -c < "$result") $(sha256sum < "$result" | cut -d' ' -f1)"
    base64 < "$result"
fi
echo "$mark end"
exit "$code"
"""


def job_name(folder: Path, key: str) -> str:
    """Return the name of an attempt's Job, the same for ever: `tracker-3f2a9c51-run-17-1-0be1ac77`."""
    readable = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:30].strip("-")
    return "-".join(filter(None, ("tracker", home_label(folder), readable, _hash(key.encode()))))


def home_label(folder: Path) -> str:
    """Return what marks the Jobs of one folder of attempts."""
    return _hash(os.fsencode(folder))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:8]


def mark_of(name: str) -> str:
    """Return what begins the lines of the wrapper in the log of a Job."""
    return f"::{name}::"


def image_of(job: JobSpec) -> str:
    """Return the image by its digest; UserError where the build is none, or the job asks for what a pod has not."""
    location, digest = job.build_location.partition("@")[0], job.build_digest
    if job.build_kind != "image" or not _IMAGE.fullmatch(job.build_location):
        raise UserError(
            f"job {job.key}: executor kubernetes measures images, found a {job.build_kind} ({job.build_location!r}); "
            "use a source of images, or another executor"
        )
    if job.assets:
        raise UserError(
            f"job {job.key}: executor kubernetes has no place for assets ({job.assets[0].name}); put the file on a"
            " volume and name that in kubernetes.claims or kubernetes.host_paths"
        )
    return f"{_without_tag(location)}@{digest}" if _DIGEST.fullmatch(digest) else job.build_location


def _without_tag(location: str) -> str:
    folder, slash, name = location.rpartition("/")
    return folder + slash + name.partition(":")[0]


def job_manifest(job: JobSpec, options: KubernetesOptions, *, folder: Path) -> dict[str, Any]:
    """Return the Job (batch/v1) for one attempt; it runs one pod once."""
    name = job_name(folder, job.key)
    labels = {"app.kubernetes.io/managed-by": "release-regression-tracker", HOME_LABEL: home_label(folder)}
    notes = {ATTEMPT_NOTE: job.key}
    volumes, mounts = _volumes(options)
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 10,
        "containers": [_container(job, options, name, mounts)],
        "volumes": volumes,
        "nodeSelector": dict(options.node_selector),
        "tolerations": [dict(one) for one in options.tolerations],
        "imagePullSecrets": [{"name": secret} for secret in options.pull_secrets],
        "serviceAccountName": options.service_account,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels, "annotations": notes},
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "ttlSecondsAfterFinished": options.ttl_s,
            "template": {
                "metadata": {"labels": labels, "annotations": notes},
                "spec": {key: value for key, value in spec.items() if value not in ("", [], {})},
            },
        },
    }


def _container(job: JobSpec, options: KubernetesOptions, name: str, mounts: list[dict[str, Any]]) -> dict[str, Any]:
    script = _script(job)
    program = ["python3", ".program.py"] if script else [job.program]
    limit_s = max(1, round(job.timeout_s))
    numbers = (str(limit_s), job.result_file, str(job.gpus))
    variables = {"TRACKER_WORK": WORK, "TRACKER_SCRIPT": script, "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}
    return {
        "name": CONTAINER,
        "image": image_of(job),
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", WRAPPER, "sh", mark_of(name), *numbers, *program, *job.arguments],
        "env": [{"name": key, "value": value} for key, value in {**variables, **job.environment}.items()],
        "resources": {"limits": _resources(job, options), "requests": _resources(job, options)},
        "volumeMounts": [{"name": "work", "mountPath": WORK}, *mounts],
    }


def _script(job: JobSpec) -> str:
    """Return a Python program in base64, empty for a command of the image."""
    if not job.program.endswith(".py"):
        return ""
    content = Path(job.program).read_bytes()
    if len(content) > _LARGEST_SCRIPT_BYTES:
        raise UserError(f"job {job.key}: {job.program} has more than 64 kB; put it into the image or on a volume")
    return base64.b64encode(content).decode()


def _resources(job: JobSpec, options: KubernetesOptions) -> dict[str, str]:
    cpus = options.cpus or (f"{job.container.cpus:g}" if job.container.cpus else "")
    memory = options.memory or (str(job.container.memory_bytes) if job.container.memory_bytes else "")
    wanted = {"cpu": cpus, "memory": memory, options.gpu_resource: str(job.gpus) if job.gpus else ""}
    return {key: value for key, value in wanted.items() if value}


def _volumes(options: KubernetesOptions) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the pod's volumes and the container's mounts of them; all but the working folder are for reading."""
    volumes: list[dict[str, Any]] = [{"name": "work", "emptyDir": {}}]
    sources: list[tuple[Mapping[str, Any], str]] = []
    for path in options.host_paths:
        source, _, target = path.partition(":")
        sources.append(({"hostPath": {"path": source, "type": "Directory"}}, target or source))
    for claim in options.claims:
        claim_name, _, target = claim.partition(":")
        sources.append(({"persistentVolumeClaim": {"claimName": claim_name, "readOnly": True}}, target))
    mounts = []
    for place, (source_spec, target) in enumerate(sources):
        volumes.append({"name": f"read-{place}", **source_spec})
        mounts.append({"name": f"read-{place}", "mountPath": target, "readOnly": True})
    return volumes, mounts
