"""The machine's own facts."""

from __future__ import annotations

import json
import os

from jobs.environment import capture_host, cores_physical, cpu_model


def test_this_machine_is_captured_and_survives_json() -> None:
    host = capture_host()
    assert host.cores_logical == os.cpu_count()
    assert host.cpu_model
    assert host.kernel == os.uname().release
    assert host.memory_bytes is not None
    assert host.memory_bytes > 1 << 28
    assert json.loads(json.dumps(host.to_json()))["kernel"] == host.kernel


def test_cpuinfo_is_read_with_and_without_a_topology() -> None:
    block = "processor\t: {0}\nmodel name\t: Some  CPU @ 2GHz\nphysical id\t: 0\ncore id\t\t: {1}\n"
    text = "\n".join(block.format(number, number // 2) for number in range(4))
    assert (cpu_model(text), cores_physical(text)) == ("Some CPU @ 2GHz", 2)
    assert (cpu_model("processor\t: 0\nBogoMIPS\t: 50\n"), cores_physical("processor\t: 0\n")) == ("", None)
