"""A captured environment in words."""

from __future__ import annotations

import json

from jobs.environment import describe_environment, environment_record, group_environment


def test_a_machine_without_gpu_says_so_in_its_lines() -> None:
    record = {"host": {"kernel": "6.1.0", "gpus": [], "gpu_note": "no GPU: nvidia-smi not found"}}
    assert describe_environment(record) == (("host", "kernel 6.1.0"), ("gpu", "none (nvidia-smi not found)"))


def test_gpus_that_differ_have_a_line_each() -> None:
    gpus = [{"product": "A"}, {"product": "B", "state": {"ecc_errors": {"volatile.dram_uncorrectable": 2}}}]
    assert describe_environment({"host": {"gpus": gpus}}) == (
        ("gpu", "1x A"),
        ("gpu", "1x B"),
        ("gpu", "1: ECC errors: volatile.dram_uncorrectable 2, as it started"),
    )


def test_the_record_of_this_machine_is_described_and_grouped() -> None:
    record = json.loads(json.dumps(environment_record(["torch==2.9"], asked=[])))
    lines = dict(describe_environment(record))
    assert lines["packages"].startswith("1 of Python")
    assert lines["software"].startswith("torch 2.9")
    assert group_environment(record)["packages"] == {"torch": "2.9"}


def test_an_empty_record_has_no_lines() -> None:
    assert describe_environment({}) == ()
    assert group_environment({}) == {}
