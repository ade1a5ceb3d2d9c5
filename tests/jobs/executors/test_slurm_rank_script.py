"""The shell script below which every rank runs: what reaches the program, whatever a suite writes. Without Slurm."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.executors._attempts import Attempt
from jobs.executors._slurm_ranks import make_rank_folders, variables_of_all
from jobs.protocols import Nodes

PRINTS = ("sh", "-c", 'printf %s "$VALUE"; [ "$SLURM_PROCID" -eq 0 ] || exit "$SLURM_PROCID"')
one_line = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="{}"), max_size=30)


def _run(folder: Path, nodes: Nodes, rank: str, *words: str) -> subprocess.CompletedProcess[str]:
    attempt = Attempt(folder / "it's $(an) attempt")
    if not attempt.work.exists():
        attempt.work.mkdir(parents=True)
        make_rank_folders(attempt, nodes)
    variables = {"PATH": os.environ["PATH"], "SLURM_PROCID": rank, "SLURMD_NODENAME": "left", "LC_ALL": "C.UTF-8"}
    command = ["sh", str(attempt.work / ".ranks" / "rank.sh"), *words]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=10, check=False)


@settings(max_examples=40, deadline=None)
@given(before=one_line, after=one_line)
def test_a_variable_arrives_as_written_with_the_rank_filled_in(before: str, after: str) -> None:
    nodes = Nodes(count=1, ranks_per_node=2, environment={"VALUE": f"{before}{{rank}}{after}"})
    with tempfile.TemporaryDirectory() as folder:
        assert _run(Path(folder), nodes, "0", *PRINTS).stdout == f"{before}0{after}"


def test_the_first_rank_that_fails_leaves_its_name_and_no_later_one(tmp_path: Path) -> None:
    nodes = Nodes(count=1, ranks_per_node=4)
    codes = [_run(tmp_path, nodes, rank, *PRINTS).returncode for rank in ("0", "3", "2")]
    ranks = tmp_path / "it's $(an) attempt" / "work" / ".ranks"
    assert codes == [0, 3, 2]
    assert (ranks / "failed").read_text() == "3 3 left\n"
    assert [(ranks / rank / "ended").read_text() for rank in ("0", "2", "3")] == ["0\n", "2\n", "3\n"]
    assert not (ranks / "1" / "ended").exists()


def test_what_slurm_said_of_the_batch_script_is_not_taken_for_a_rank() -> None:
    told = {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0", "SLURM_JOB_ID": "7", "SLURM_NNODES": "2"}
    assert variables_of_all(told) == {"SLURM_JOB_ID": "7", "SLURM_NNODES": "2"}
