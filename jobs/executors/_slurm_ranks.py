"""A run of many ranks on the nodes of one Slurm job: how they are started, told apart, judged and ended.

Every rank runs below a small shell script in `work/.ranks`, which all nodes and containers see. The rank that writes
the result works in `work/` and prints into the run's log. The others have folders of their own, with the same assets,
and logs of their own, which are kept in `ranks/` of the attempt. The first rank that fails leaves its name.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jobs.executors._attempts import Attempt, open_regular
from jobs.executors._commands import DISK_FULL, Ended, last_line, printed_lines
from jobs.executors._program import exit_text
from jobs.protocols import JobOutcome, Nodes

_FAILED = re.compile(r"(\d{1,6}) (\d{1,3}) (\S{1,200})\n?")
_SRUN_SAYS = re.compile(r"srun: error: (\S+): tasks? (\d+)[^:]*: (.{1,200})")
_SMALLEST_LOG_BYTES = 64 * 1024
_NAMED_AT_MOST = 8
_STEPS_END_WITHIN_S = 10.0
_OF_ONE_TASK = re.compile(r"SLURM_(PROCID|LOCALID|NODEID|TASK_PID|STEP_.*|STEPID|GTIDS)")
_SCRIPT = """\
#!/bin/sh
# Runs one rank: finds out which it is, gives it a folder and a log, and leaves word of how it ended.
ranks_folder={ranks_folder}
rank={rank}
case $rank in
'' | *[!0-9]*) echo "no launcher has told this process which rank it is" >&2; exit 64 ;;
esac
here=$ranks_folder/$rank
[ -d "$here" ] || {{ echo "expected ranks 0 to {last}, the launcher started rank $rank" >&2; exit 64; }}
local_rank=${{SLURM_LOCALID:-${{OMPI_COMM_WORLD_LOCAL_RANK:-$((rank % {ranks_per_node}))}}}}
node=${{SLURM_NODEID:-$((rank / {ranks_per_node}))}}
host=${{SLURMD_NODENAME:-$(uname -n)}}
export TMPDIR="$here/tmp"
{exports}
if [ "$rank" -eq {result_rank} ]; then
    cd {work} && "$@"
else
    cd "$here/work" && "$@" >"$here/log" 2>&1
fi
code=$?
if [ "$code" -ne 0 ]; then
    (set -C; printf '%s %s %s\\n' "$rank" "$code" "$host" >"$ranks_folder/failed") 2>/dev/null
fi
printf '%s\\n' "$code" >"$here/ended"
exit "$code"
"""
_RANK_OF_SRUN = "${SLURM_PROCID:-}"
_RANK_OF_MPI = (
    "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-${MV2_COMM_WORLD_RANK:-${PALS_RANKID:-${SLURM_PROCID:-}}}}}}"
)


# --- starting --------------------------------------------------------------------------------------------------


def srun_words(srun: str, nodes: Nodes | None, mpi: str, cpus: str | None) -> tuple[str, ...]:
    """Return srun with what says how many processes it starts and where; one failing rank ends the others."""
    spread = (
        (
            f"--nodes={nodes.count}",
            f"--ntasks={nodes.ranks}",
            f"--ntasks-per-node={nodes.ranks_per_node}",
            "--kill-on-bad-exit=1",
            "--input=none",
        )
        if nodes
        else ("--nodes=1", "--ntasks=1")
    )
    bound = ([f"--cpus-per-task={cpus}"] if cpus else []) + ([f"--mpi={mpi}"] if mpi else [])
    return (srun, *spread, "--unbuffered", "--export=ALL", *bound)


def launcher_words(
    nodes: Nodes, work: Path, *, srun: Sequence[str], program: Sequence[str], path: str
) -> tuple[str, ...]:
    """Return the launcher's command up to the program, the arguments following; Ended where its command is missing.

    With `{srun}` every rank runs all that follows it; any other launcher is called as written and runs the program.
    """
    each = ("sh", str(_folder(work) / "rank.sh"))
    counts = {"nodes": nodes.count, "ranks": nodes.ranks, "ranks_per_node": nodes.ranks_per_node}
    filled = [_fill(word, counts) for word in nodes.launcher[:-1]]
    if filled[0] == "{srun}":
        return (*srun, *each, *filled[1:], *program)
    found = shutil.which(filled[0], path=path)
    if found is None:
        raise Ended(JobOutcome.INFRA_FAILED, f"no launcher {filled[0]!r} on the PATH of {socket.gethostname()}")
    return (found, *filled[1:], *each, *program)


def make_rank_folders(attempt: Attempt, nodes: Nodes) -> None:
    """Write the ranks' script, and for each its folder with what lies in the working folder now."""
    ranks_folder = _folder(attempt.work)
    assets = [path for path in attempt.work.iterdir() if not path.name.startswith(".")]
    for rank in range(nodes.ranks):
        for name in ("work", "tmp"):
            (ranks_folder / str(rank) / name).mkdir(parents=True)
        for asset in assets:
            (ranks_folder / str(rank) / "work" / asset.name).symlink_to(asset)
    (ranks_folder / "rank.sh").write_text(rank_script(nodes, attempt.work), encoding="utf-8")


def rank_script(nodes: Nodes, work: Path) -> str:
    """Return the shell script below which every rank runs, with the variables that the suite gives them."""
    exports = [f"export {name}={_shell_text(text, nodes)}" for name, text in nodes.environment.items()]
    return _SCRIPT.format(
        ranks_folder=shlex.quote(str(_folder(work))),
        work=shlex.quote(str(work)),
        rank=_RANK_OF_SRUN if nodes.launcher[0] == "{srun}" else _RANK_OF_MPI,
        last=nodes.ranks - 1,
        ranks_per_node=nodes.ranks_per_node,
        result_rank=nodes.result_rank,
        exports="\n".join(exports),
    )


def variables_of_all(variables: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what Slurm told the batch script about itself as a task."""
    return {name: value for name, value in variables.items() if not _OF_ONE_TASK.fullmatch(name)}


def _shell_text(text: str, nodes: Nodes) -> str:
    """Return a value as one word of the shell, what only a rank knows as a variable of the script."""
    known = {
        "nodes": nodes.count,
        "ranks": nodes.ranks,
        "ranks_per_node": nodes.ranks_per_node,
        "first_host": os.environ.get("SLURMD_NODENAME") or socket.gethostname(),
    }
    parts = re.split(r"\{(rank|local_rank|node)\}", _fill(text, known))
    return "".join(f'"${part}"' if place % 2 else shlex.quote(part) for place, part in enumerate(parts))


def _fill(text: str, values: Mapping[str, object]) -> str:
    return re.sub(r"\{([a-z_]+)\}", lambda match: str(values.get(match.group(1), match.group(0))), text)


def _folder(work: Path) -> Path:
    return work / ".ranks"


# --- judging ---------------------------------------------------------------------------------------------------


def judge_ranks(attempt: Attempt, nodes: Nodes, end: Ended) -> Ended:
    """Return the end of the whole run: one rank's failure fails it, and is named."""
    if end.outcome is JobOutcome.TIMEOUT:
        open_ranks = _without_end(attempt, nodes)
        some = 0 < len(open_ranks) < nodes.ranks
        return Ended(end.outcome, f"{end.detail}; {_names(open_ranks)} had not ended") if some else end
    if end.outcome not in (JobOutcome.OK, JobOutcome.TOOL_FAILED):
        return end
    if match := _FAILED.fullmatch(_text(_folder(attempt.work) / "failed")):
        return _end_of_rank(attempt, nodes, int(match.group(1)), int(match.group(2)), match.group(3))
    log = attempt.file("run.log")
    said = (_SRUN_SAYS.search(line) for line in printed_lines(log)) if end.outcome is JobOutcome.TOOL_FAILED else ()
    if first := next(filter(None, said), None):
        detail = f"rank {first.group(2)} on {first.group(1)}: {first.group(3)}"
        return Ended(JobOutcome.TOOL_FAILED, detail, end.exit_code)
    if end.outcome is JobOutcome.OK and (open_ranks := _without_end(attempt, nodes)):
        what = f"the launcher ended, but {_names(open_ranks)} of {nodes.ranks} left no word of an end"
        return Ended(JobOutcome.TOOL_FAILED, what, end.exit_code)
    if end.exit_code == 0 and end.outcome is JobOutcome.TOOL_FAILED:
        return Ended(end.outcome, f"rank {nodes.result_rank}: {end.detail}", 0)
    return end


def keep_rank_logs(attempt: Attempt, nodes: Nodes, limit_bytes: int) -> None:
    """Move what the other ranks printed into `ranks/` of the attempt; together not much more than one log may have."""
    kept = attempt.folder / "ranks"
    share_bytes = max(limit_bytes // nodes.ranks, _SMALLEST_LOG_BYTES)
    for rank in range(nodes.ranks):
        source = _rank_log(attempt, nodes, rank)
        if rank == nodes.result_rank or not _size_bytes(source):
            continue
        kept.mkdir(exist_ok=True)
        target = kept / f"rank-{rank:0{len(str(nodes.ranks - 1))}}.log"
        source.rename(target)
        if _size_bytes(target) > share_bytes:
            os.truncate(target, share_bytes)


def _end_of_rank(attempt: Attempt, nodes: Nodes, rank: int, code: int, host: str) -> Ended:
    log = _rank_log(attempt, nodes, rank)
    lines = printed_lines(log) if _size_bytes(log) else []
    where = f"rank {rank} on {host}"
    if full := next((line for line in lines if DISK_FULL in line), ""):
        return Ended(JobOutcome.INFRA_FAILED, f"{where}: the disk is full: {full}", code)
    own = 128 - code if code > 128 else code  # a shell says 128 + N for signal N
    said = last_line(log) if lines else ""
    return Ended(JobOutcome.TOOL_FAILED, f"{where}: {exit_text(own)}" + (f": {said}" if said else ""), own)


def _rank_log(attempt: Attempt, nodes: Nodes, rank: int) -> Path:
    return attempt.file("run.log") if rank == nodes.result_rank else _folder(attempt.work) / str(rank) / "log"


def _without_end(attempt: Attempt, nodes: Nodes) -> list[int]:
    folder = _folder(attempt.work)
    for rank in range(nodes.ranks):
        with suppress(OSError):
            os.listdir(folder / str(rank))  # a shared file system looks anew at a folder that is read
    return [rank for rank in range(nodes.ranks) if not (folder / str(rank) / "ended").exists()]


def _names(ranks: Sequence[int]) -> str:
    shown = ", ".join(map(str, ranks[:_NAMED_AT_MOST]))
    more = f" and {len(ranks) - _NAMED_AT_MOST} more" if len(ranks) > _NAMED_AT_MOST else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {shown}{more}"


def _size_bytes(path: Path) -> int:
    """Return the size of a regular file, 0 for anything else: a rank may have put a link there."""
    handle = open_regular(path)
    if handle is None:
        return 0
    try:
        return os.fstat(handle).st_size
    finally:
        os.close(handle)


def _text(path: Path) -> str:
    handle = open_regular(path)
    if handle is None:
        return ""
    with os.fdopen(handle, "rb") as file:
        return file.read(1024).decode("utf-8", errors="replace")


# --- ending ----------------------------------------------------------------------------------------------------


def end_steps(order: Mapping[str, Any], variables: Mapping[str, str]) -> None:
    """End what still runs of this job's ranks, on all its nodes; where Slurm does not answer, the job's end does it."""
    job, beside = variables.get("SLURM_JOB_ID", ""), Path(order["srun"]).parent
    deadline = time.monotonic() + _STEPS_END_WITHIN_S
    while job and time.monotonic() < deadline:
        said = _ask([str(beside / "squeue"), "--steps", "--noheader", "--format=%i", f"--jobs={job}"], variables)
        steps = re.findall(rf"^\s*({re.escape(job)}\.\d+)\s*$", said, re.MULTILINE)
        if not steps:
            return
        _ask([str(beside / "scancel"), "--signal=KILL", *steps], variables)
        time.sleep(0.2)


def _ask(words: Sequence[str], variables: Mapping[str, str]) -> str:
    """Return what one of Slurm's commands prints, nothing where it cannot be asked."""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            words, env=dict(variables), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=5, check=False
        )
        return done.stdout
    return ""
