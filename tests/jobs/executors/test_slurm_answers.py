"""What Slurm's commands print, in the shapes of old and new versions, and what is made of it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import TryLater
from jobs.executors._slurm_answers import ENDED, SlurmJob, controller_jobs, history_jobs, queue_jobs
from jobs.executors._slurm_ends import HOPELESS, end_of, waited_in_vain
from jobs.protocols import JobOutcome

LINE = (
    "JobId={id} JobName={name} UserId=ann(1001) GroupId=lab(1001) MCS_label=N/A Priority=41 Nice=0 Account=lab QOS=hi "
    "JobState={state} Reason={reason} Dependency=(null) Requeue=0 Restarts={restarts} BatchFlag=1 Reboot=0 "
    "ExitCode={code} RunTime=00:00:21 TimeLimit=00:22:00 Command=/data/job.sh WorkDir=/data Comment={comment} "
    "StdErr=/data/supervisor.log Power="
)


def _line(**values: object) -> str:
    usual = {"id": 71, "name": "tracker-0a-run-1-1", "state": "FAILED", "reason": "NonZeroExitCode", "restarts": 0}
    return LINE.format(**{**usual, "code": "7:0", "comment": "tracker-0a-run-1-1", **values})


def test_scontrol_tells_state_reason_exit_code_and_signal() -> None:
    assert controller_jobs(_line() + "\n") == (
        SlurmJob(id="71", name="tracker-0a-run-1-1", state="FAILED", reason="NonZeroExitCode", exit_code=7, signal=0),
    )
    killed = controller_jobs(_line(code="0:9", reason="None", restarts=2))[0]
    assert (killed.exit_code, killed.signal, killed.reason, killed.restarts) == (0, 9, "", 2)


def test_names_with_blanks_and_comments_that_look_like_fields_do_not_mislead() -> None:
    found = controller_jobs(_line(name="my job", comment="JobState=COMPLETED ExitCode=0:0"))[0]
    assert (found.name, found.state, found.exit_code) == ("my job", "FAILED", 7)


def test_squeue_in_our_format_has_names_with_bars() -> None:
    found = queue_jobs("71|RUNNING|None|a\n72|PENDING|Resources|b|c\n")
    assert [(job.id, job.state, job.reason, job.name) for job in found] == [
        ("71", "RUNNING", "", "a"),
        ("72", "PENDING", "Resources", "b|c"),
    ]
    assert found[1].waiting
    assert queue_jobs("") == ()


def test_sacct_lists_jobs_without_steps_and_who_cancelled_them() -> None:
    text = "71|CANCELLED by 1001|0:15|x\n71.batch|CANCELLED|0:15|batch\n72|OUT_OF_MEMORY|0:125|y\n73|TIMEOUT|0:0|z\n"
    found = history_jobs(text)
    assert [(job.id, job.state, job.cancelled_by) for job in found] == [
        ("71", "CANCELLED", 1001),
        ("72", "OUT_OF_MEMORY", None),
        ("73", "TIMEOUT", None),
    ]


def _queue_job(**values: Any) -> str:
    return json.dumps({"meta": {}, "errors": [], "jobs": [{"job_id": 71, "name": "n", **values}]})


@pytest.mark.parametrize(
    ("exit_code", "expected"),
    [
        pytest.param(1792, (7, 0), id="22.05: wait status of an exit"),
        pytest.param(9, (0, 9), id="22.05: wait status of a signal"),
        pytest.param({"status": "ERROR", "return_code": 7}, (7, 0), id="23.02: numbers"),
        pytest.param(
            {"status": "SIGNALED", "return_code": 0, "signal": {"signal_id": 9, "name": "KILL"}},
            (0, 9),
            id="23.02: signal",
        ),
        pytest.param(
            {
                "status": ["ERROR"],
                "return_code": {"set": True, "infinite": False, "number": 7},
                "signal": {"id": {"set": False, "infinite": False, "number": 0}, "name": ""},
            },
            (7, 0),
            id="23.11: objects",
        ),
        pytest.param(
            {
                "status": ["SIGNALED"],
                "return_code": {"set": False, "infinite": False, "number": 0},
                "signal": {"id": {"set": True, "infinite": False, "number": 9}, "name": "SIGKILL"},
            },
            (None, 9),
            id="23.11: signal",
        ),
        pytest.param(None, (None, None), id="not told"),
    ],
)
def test_exit_codes_of_all_json_versions(exit_code: object, expected: tuple[int | None, int | None]) -> None:
    found = queue_jobs(_queue_job(job_state="FAILED", state_reason="None", exit_code=exit_code))[0]
    assert (found.exit_code, found.signal) == expected


@pytest.mark.parametrize(
    ("told", "state"),
    [
        ("RUNNING", "RUNNING"),
        (["RUNNING"], "RUNNING"),
        (["CANCELLED", "COMPLETING"], "COMPLETING"),
        (["FAILED"], "FAILED"),
    ],
)
def test_states_of_all_json_versions(told: object, state: str) -> None:
    found = queue_jobs(_queue_job(job_state=told, restart_cnt=3))[0]
    assert (found.state, found.restarts) == (state, 3)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"jobs": 5}',
        '{"jobs": [5]}',
        '{"jobs": [{"job_id": "x", "job_state": "RUNNING"}]}',
        '{"jobs": [{"job_id": 1}]}',
    ],
)
def test_json_that_is_no_answer_is_asked_for_again(text: str) -> None:
    with pytest.raises(TryLater, match="JSON that is not understood"):
        queue_jobs(text)


@pytest.mark.parametrize("text", ["slurm is upgrading", "71|RUNNING"])
def test_text_that_is_no_answer_is_asked_for_again(text: str) -> None:
    for read in (queue_jobs, history_jobs, controller_jobs):
        with pytest.raises(TryLater, match="not understood"):
            read(text)


@given(st.text())
def test_whatever_is_printed_is_read_or_asked_for_again(text: str) -> None:
    for read in (queue_jobs, history_jobs, controller_jobs):
        with suppress(TryLater):
            assert all(job.id.isdigit() for job in read(text))


# --- what an end without a record means ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "outcome", "words"),
    [
        ("BOOT_FAIL", JobOutcome.INFRA_FAILED, "did not start"),
        ("CANCELLED", JobOutcome.CANCELLED, "cancelled in Slurm by user 1001"),
        ("COMPLETED", JobOutcome.LOST, "what it wrote is not here"),
        ("DEADLINE", JobOutcome.INFRA_FAILED, "deadline"),
        ("FAILED", JobOutcome.INFRA_FAILED, "while it ran: ended by SIGKILL"),
        ("LAUNCH_FAILED", JobOutcome.INFRA_FAILED, "launch"),
        ("NODE_FAIL", JobOutcome.LOST, "node was lost"),
        ("OUT_OF_MEMORY", JobOutcome.TOOL_FAILED, "out of memory"),
        ("PREEMPTED", JobOutcome.LOST, "preempted"),
        ("RECONFIG_FAIL", JobOutcome.INFRA_FAILED, "set up"),
        ("REVOKED", JobOutcome.LOST, "revoked"),
        ("TIMEOUT", JobOutcome.TIMEOUT, "time limit"),
    ],
)
def test_every_end_that_slurm_knows_has_an_outcome(state: str, outcome: JobOutcome, words: str) -> None:
    job = SlurmJob(id="71", name="n", state=state, exit_code=0, signal=9, cancelled_by=1001)
    found, detail = end_of(job, began=True)
    assert found is outcome
    assert words in detail
    assert "job 71" in detail


def test_no_end_is_forgotten() -> None:
    for state in ENDED:
        assert end_of(SlurmJob(id="1", name="n", state=state), began=False)[1]


@pytest.mark.parametrize(
    ("code", "words"), [(127, "does not have the Python"), (66, "does not see the folder"), (1, "before it began")]
)
def test_a_job_that_fails_before_it_began_says_what_to_look_at(code: int, words: str) -> None:
    job = SlurmJob(id="71", name="n", state="FAILED", exit_code=code, signal=0)
    outcome, detail = end_of(job, began=False)
    assert outcome is JobOutcome.INFRA_FAILED
    assert words in detail


def test_a_reason_that_does_not_pass_is_told_with_its_cure() -> None:
    said = waited_in_vain("PartitionTimeLimit", 1.4)
    assert said.startswith("waited 1 s in Slurm's queue: PartitionTimeLimit; lower timeout_s and setup_timeout_s")
    assert all(len(waited_in_vain(reason, 1.0).split("; ")) > 1 for reason in HOPELESS)
    assert waited_in_vain("", 60.0) == "waited 60 s in Slurm's queue: no reason given; see slurm.queue_limit_s"
