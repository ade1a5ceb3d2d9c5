"""What a container is made of: its request to the engine, and the files that are put into it before it starts.

/tracker           a volume of the container's own, removed with it
/tracker/work      the working folder: assets, and the result file
/tracker/begin     where GPUs or secrets are asked for: a script that looks for them, then becomes the program
/tracker/secrets   one file a secret, so that no `inspect` shows it
/tracker/seen      what that script saw: gpus.txt, gpus.xml, gpus.err, refused
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from jobs.executors._assets import MadeAsset
from jobs.executors._engine_options import EngineOptions
from jobs.protocols import ContainerLimits, JobSpec

LABEL = "release-regression-tracker"
ROOT = "/tracker"
WORK = "/tracker/work"
SEEN = "/tracker/seen"
REFUSED_CODE = 86
"""Exit code of the script where the container has other GPUs than were asked for; the file `refused` says so too."""

BEGIN = """\
#!/bin/sh
# Hands over secrets, makes sure of the GPUs, then becomes the program. Arguments: how many GPUs, the program's words.
for file in /tracker/secrets/*; do
    [ -f "$file" ] || continue
    IFS= read -r value < "$file" || [ -n "$value" ] || continue
    export "${file##*/}=$value"
done
unset file value
wanted=$1
shift
if [ "$wanted" -gt 0 ]; then
    nvidia-smi -L > /tracker/seen/gpus.txt 2> /tracker/seen/gpus.err
    count=0
    while IFS= read -r line; do
        case $line in "GPU "*) count=$((count + 1)) ;; esac
    done < /tracker/seen/gpus.txt
    if [ "$count" -ne "$wanted" ]; then
        echo "$count" > /tracker/seen/refused
        exit 86
    fi
    nvidia-smi -q -x > /tracker/seen/gpus.xml 2> /dev/null
    unset count line
fi
unset wanted
exec "$@"
"""

_BLOCK_BYTES = 512
_CHUNK_BYTES = 1 << 20


def container_name(home: str, key: str) -> str:
    """Return the one name that the container of an attempt can have."""
    return f"tracker-{home}-{key}"


def home_label(home: str) -> str:
    """Return the label, as `name=value`, of all containers of one folder of attempts."""
    return f"{LABEL}.home={home}"


def labels_of(home: str, job: JobSpec) -> dict[str, str]:
    """Return what a container is marked with; only the first two are ever read again."""
    return {
        f"{LABEL}.home": home,
        f"{LABEL}.attempt": job.key,
        f"{LABEL}.component": job.component,
        f"{LABEL}.version": job.version,
        f"{LABEL}.image": f"{job.build_location} {job.build_digest}",
    }


def attempt_of(labels: Mapping[str, Any] | None) -> str:
    """Return the key of the attempt that a container belongs to, empty for none."""
    return str((labels or {}).get(f"{LABEL}.attempt", ""))


def needs_begin(job: JobSpec, options: EngineOptions) -> bool:
    """Return whether the container must look around before the program starts."""
    return job.gpus > 0 or bool(options.secrets)


def command_words(job: JobSpec, options: EngineOptions, entrypoint: Sequence[str]) -> list[str]:
    """Return all that the container runs: our script, the image's entry point, the program and its arguments."""
    words = ["/bin/sh", f"{ROOT}/begin", str(job.gpus)] if needs_begin(job, options) else []
    words += entrypoint if job.container.entrypoint else []
    words += ["python3", f"{ROOT}/{Path(job.program).name}"] if job.program.endswith(".py") else [job.program]
    return [*words, *job.arguments]


def container_request(
    job: JobSpec, options: EngineOptions, image: Mapping[str, Any], *, home: str, cores: Sequence[int]
) -> dict[str, Any]:
    """Return the body of the engine's `create` for an image as the engine describes it."""
    entrypoint = (image.get("Config") or {}).get("Entrypoint") or []
    return {
        "Image": image["Id"],
        "Entrypoint": command_words(job, options, entrypoint),
        "Cmd": [],
        "Env": [f"{name}={value}" for name, value in sorted(job.environment.items())],
        "WorkingDir": WORK,
        "Volumes": {ROOT: {}},
        "Labels": labels_of(home, job),
        "Tty": False,
        "StopTimeout": 10,
        "HostConfig": {
            **_limits(job.container),
            "Mounts": [
                {"Type": "bind", "Source": source, "Target": target, "ReadOnly": True}
                for target, source in options.mounts.items()
            ],
            "CpusetCpus": ",".join(map(str, cores)),
            "DeviceRequests": _gpu_request(job.gpus, options.gpu_driver),
            "LogConfig": {"Type": "json-file", "Config": {"max-size": str(2 * job.output_limit_bytes + 1_000_000)}},
            "RestartPolicy": {"Name": "no"},
        },
    }


def _limits(limits: ContainerLimits) -> dict[str, Any]:
    """Return the limits that are set; what is not set is the engine's affair."""
    found: dict[str, Any] = {"NetworkMode": limits.network}
    if limits.memory_bytes is not None:
        found |= {"Memory": limits.memory_bytes, "MemorySwap": limits.memory_bytes}
    if limits.cpus is not None:
        found["NanoCpus"] = int(limits.cpus * 1e9)
    if limits.pids is not None:
        found["PidsLimit"] = limits.pids
    if limits.shm_bytes is not None:
        found["ShmSize"] = limits.shm_bytes
    if limits.ulimits:
        found["Ulimits"] = [{"Name": n, "Soft": value, "Hard": value} for n, value in limits.ulimits.items()]
    return found


def _gpu_request(count: int, driver: str) -> list[dict[str, Any]]:
    if not count:
        return []
    if driver == "cdi":
        return [{"Driver": "cdi", "DeviceIDs": [f"nvidia.com/gpu={number}" for number in range(count)]}]
    return [{"Driver": "", "Count": count, "Capabilities": [["gpu"]], "Options": {}}]


def input_files(job: JobSpec, options: EngineOptions, assets: Sequence[MadeAsset]) -> Iterator[bytes]:
    """Yield the tar stream that is unpacked into /tracker; files are read while it is sent."""
    yield _folder("work", 0o777)
    yield _folder("seen", 0o777)
    yield _folder("secrets", 0o755)
    for asset in assets:
        with asset.path.open("rb") as file:
            yield from _file(f"work/{asset.name}", file, asset.size_bytes, 0o444)
    for name, value in options.secrets.items():
        yield from _text(f"secrets/{name}", value, 0o444)
    if needs_begin(job, options):
        yield from _text("begin", BEGIN, 0o555)
    if job.program.endswith(".py"):
        path = Path(job.program)
        with path.open("rb") as file:
            yield from _file(path.name, file, path.stat().st_size, 0o555)
    yield b"\0" * (2 * _BLOCK_BYTES)


def _folder(name: str, mode: int) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, mode
    return entry.tobuf(tarfile.GNU_FORMAT)


def _text(name: str, text: str, mode: int) -> Iterable[bytes]:
    content = text.encode()
    return _file(name, io.BytesIO(content), len(content), mode)


def _file(name: str, file: IO[bytes], size_bytes: int, mode: int) -> Iterator[bytes]:
    """Yield one entry; exactly the size announced is sent, whatever becomes of the file meanwhile."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size_bytes, mode
    yield entry.tobuf(tarfile.GNU_FORMAT)
    left = size_bytes
    while left and (chunk := file.read(min(left, _CHUNK_BYTES))):
        left -= len(chunk)
        yield chunk
    yield b"\0" * (left + -size_bytes % _BLOCK_BYTES)
