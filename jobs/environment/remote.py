"""Another machine, looked at over ssh: one fixed script printed in parts, read as this machine's own files are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from jobs.environment.gpus import NO_DRIVER, GpuSet, read_answer
from jobs.environment.health import Sight
from jobs.environment.host import Host, cores_physical, cpu_model, is_virtualised
from jobs.foreign_text import LONGEST_FIELD, blank_unseen
from jobs.ssh import SshLogin, run

ANSWER_WITHIN_S = 12.0
SCRIPT = r"""
LC_ALL=C; export LC_ALL
PATH="$PATH:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
say() { printf '\n@@tracker@@ %s\n' "$1"; }
try() { say "$1"; shift; "$@" 2>/dev/null; }
try system cat /etc/os-release
try kernel uname -r
try machine uname -m
try cpuinfo cat /proc/cpuinfo
try memory cat /proc/meminfo
try load cat /proc/loadavg
try cores nproc
try governor cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
try boost cat /sys/devices/system/cpu/cpufreq/boost
try no_turbo cat /sys/devices/system/cpu/intel_pstate/no_turbo
for folder in /var/lib/docker /var/lib/containers "$HOME/.local/share/containers" /; do
    [ -d "$folder" ] && { try disk df -Pk "$folder"; break; }
done
if command -v nvidia-smi >/dev/null 2>&1; then
    say smi; nvidia-smi -q -x 2>&1; code=$?
    say smi_code; echo "$code"
    try topology nvidia-smi topo -m
fi
say end
"""
"""Asks for facts only: nothing is written there."""
_MARK = re.compile(r"^@@tracker@@ (\w+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Another machine at one moment: what it is, and how it is."""

    host: Host
    sight: Sight

    @property
    def is_whole(self) -> bool:
        """Whether its GPUs were told: a driver that is there and does not answer says nothing about hardware."""
        return self.sight.smi_trouble in ("", NO_DRIVER)


def look_over_ssh(login: SshLogin, *, timeout_s: float = ANSWER_WITHIN_S) -> Machine:
    """Return what is seen of another machine now. Errors are those of `jobs.ssh.run`."""
    return read_machine(run(login, ["sh", "-s"], script=SCRIPT, timeout_s=timeout_s))


def read_machine(text: str) -> Machine:
    """Return what the script printed; what it could not read is None."""
    pieces = _MARK.split(blank_unseen(text))
    parts = {name: content.strip("\n") for name, content in zip(pieces[1::2], pieces[2::2], strict=True)}
    smi, trouble = _smi(parts)
    gpu_set = read_answer(smi, trouble, parts.get("topology", ""))
    sight = Sight(
        smi=smi,
        smi_trouble=trouble,
        free_bytes=_free_bytes(parts.get("disk", "")),
        load_1min=_number(parts.get("load", "")),
        cores=_cores(parts),
    )
    return Machine(host=_host(parts, gpu_set, sight), sight=sight)


def _host(parts: Mapping[str, str], gpu_set: GpuSet, sight: Sight) -> Host:
    cpuinfo, machine = parts.get("cpuinfo", ""), parts.get("machine", "").strip()[:LONGEST_FIELD] or "unknown"
    name = re.search(r'^PRETTY_NAME="?([^"\n]+)', parts.get("system", ""), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*([0-9]{1,15}) kB", parts.get("memory", ""), re.MULTILINE)
    allowed = re.fullmatch(r"[0-9]{1,9}", parts.get("cores", "").strip())
    return Host(
        system=name.group(1)[:LONGEST_FIELD] if name else "unknown",
        kernel=parts.get("kernel", "").strip()[:LONGEST_FIELD] or "unknown",
        machine=machine,
        cpu_model=(cpu_model(cpuinfo) or machine)[:LONGEST_FIELD],
        cores_logical=sight.cores,
        cores_physical=cores_physical(cpuinfo),
        cores_allowed=int(allowed.group()) if allowed else None,
        memory_bytes=int(memory.group(1)) * 1024 if memory else None,
        governor=parts.get("governor", "").strip()[:LONGEST_FIELD] or None,
        turbo=_turbo(parts),
        virtualised=is_virtualised(cpuinfo),
        load_1min=sight.load_1min,
        gpus=gpu_set.gpus,
        gpu_note=gpu_set.note,
        gpu_topology=gpu_set.topology,
        gpu_links=gpu_set.links,
    )


def _smi(parts: Mapping[str, str]) -> tuple[str, str]:
    """Return what nvidia-smi printed, and in words what went wrong; empty where nothing did."""
    if "end" not in parts:
        return "", "the answer of the machine is cut"
    if "smi" not in parts:
        return "", NO_DRIVER
    code = parts.get("smi_code", "").strip()
    if code == "0":
        return parts["smi"], ""
    said = parts["smi"].strip().splitlines() or ["it printed nothing"]
    return "", f"nvidia-smi ended with exit code {code}: {said[0][:200]}"


def _cores(parts: Mapping[str, str]) -> int | None:
    return len(re.findall(r"^processor\s*:", parts.get("cpuinfo", ""), re.MULTILINE)) or None


def _free_bytes(table: str) -> int | None:
    """Return the fourth column of the one file system that `df -Pk` printed."""
    match = re.search(r"\s\d+\s+\d+\s+([0-9]{1,15})\s+\d+%\s", table)
    return int(match.group(1)) * 1024 if match else None


def _number(text: str) -> float | None:
    match = re.match(r"\s*([0-9]{1,9}\.[0-9]{1,9})\s", text)
    return float(match.group(1)) if match else None


def _turbo(parts: Mapping[str, str]) -> bool | None:
    """Return whether the clock may rise above its base, None where the system does not say."""
    if boost := parts.get("boost", "").strip():
        return boost == "1"
    no_turbo = parts.get("no_turbo", "").strip()
    return no_turbo == "0" if no_turbo else None
