"""Whether a machine is fit to measure on now: what was seen of it, held against what is wanted. Pure but for the look.

What the driver does not state is unknown: it is said, and is neither fine nor a reason to refuse.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from jobs.environment.gpus import NO_DRIVER, Gpu, ask_driver, parse_gpus
from jobs.environment.health import SEVERITY, Finding, Health, Sight, State, Wanted
from jobs.errors import Refused
from jobs.gpu_state import SmiGpu, SmiProcess, in_trouble, read_logs, read_processes, states_reasons

_GB = 1e9
_WATT, _MHZ = 1.0, 1.0
"""How far a limit may be from what is wanted; drivers print them rounded."""
_REPAIRS = {
    "remapped_rows.remapped_row_pending": "memory rows wait to be remapped; reset the GPU",
    "remapped_rows.remapped_row_failure": "remapping of memory rows has failed; the GPU must be replaced",
    "retired_pages.pending_retirement": "memory pages wait to be retired; reset the GPU",
    "retired_pages.pending_blacklist": "memory pages wait to be retired; reset the GPU",
}


def look_at_machine(folder: Path) -> Sight:
    """Return what is seen of this machine now; `folder` is where results are kept. Never fails."""
    text, trouble = ask_driver()
    free: int | None = None
    load: float | None = None
    with suppress(OSError):
        free = shutil.disk_usage(folder).free
    with suppress(OSError):
        load = os.getloadavg()[0]
    return Sight(smi=text, smi_trouble=trouble, free_bytes=free, load_1min=load, cores=os.cpu_count())


def judge_health(sight: Sight, wanted: Wanted, *, gpus: int = 0, own_runs: int = 0) -> Health:
    """Return how fit a machine is that should have this many GPUs.

    While `own_runs` of the service's own are on it, heat, programs, memory and load are theirs too and stay unknown.
    """
    try:
        logs = read_logs(sight.smi)[:1]
        seen, raw = parse_gpus(sight.smi), logs[0].gpus if logs else ()
        trouble = sight.smi_trouble or ("" if logs else "nvidia-smi printed nothing that can be read")
    except Refused as error:
        logs, seen, raw, trouble = (), (), (), f"the answer of nvidia-smi cannot be read: {error}"
    driver = logs[0].driver if logs else None
    findings = [_count(trouble, len(seen), gpus)]
    if seen:
        listed = read_processes(sight.smi)
        each = [
            _Look(number=n, gpu=gpu, raw=one, processes=listed.get(one.bus_id), own_runs=own_runs)
            for n, (gpu, one) in enumerate(zip(seen, raw, strict=True))
        ]
        findings += [*_gpu_findings(each, wanted), _driver(driver, wanted)]
    findings += [_disk(sight, wanted), *_load(sight, wanted, own_runs)]
    return Health(findings=tuple(findings), driver=driver, gpus=len(seen))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    number: int
    gpu: Gpu
    raw: SmiGpu
    processes: Sequence[SmiProcess] | None
    own_runs: int


_Seen = tuple[State, str]
"""What one GPU shows of one thing."""


def _count(trouble: str, found: int, expected: int) -> Finding:
    if trouble == NO_DRIVER and not expected:
        return Finding(name="GPUs", state="ok", found="none, nvidia-smi is not here")
    if trouble:
        return Finding(name="GPUs", state="refused" if expected else "unknown", found=trouble)
    if found < expected:
        return Finding(
            name="GPUs", state="refused", found=f"{found} answer", wanted=f"the {expected} of this host", lasting=True
        )
    return Finding(name="GPUs", state="ok", found=f"{found} answer")


def _gpu_findings(each: Sequence[_Look], wanted: Wanted) -> Iterator[Finding]:
    """Yield one finding for each thing that is looked at, over all GPUs."""
    yield _over(each, "GPU state", _gpu_state, lasting=True)
    if wanted.max_temperature_c is not None:
        limit = wanted.max_temperature_c
        yield _over(each, "temperature", lambda one: _temperature(one, limit), f"at most {limit:g} C")
    yield _over(each, "clocks held down", lambda one: _held_down(one, wanted.slowdowns))
    yield _over(each, "ECC errors", _ecc, "no uncorrectable ones", lasting=True)
    yield _over(each, "memory repairs", _repairs, lasting=True)
    if not wanted.other_processes:
        yield _over(each, "other programs", _other_programs, "none that compute")
    if wanted.max_memory_used_bytes is not None:
        most = wanted.max_memory_used_bytes
        yield _over(each, "memory in use", lambda one: _memory(one, most), f"at most {most / _GB:g} GB")
    if wanted.power_limit_w is not None:
        watt = wanted.power_limit_w
        yield _over(each, "power limit", _power_limit(watt), f"{watt:g} W", lasting=True)
    for place, name, clock in (
        (0, "graphics clock", wanted.graphics_clock_mhz),
        (1, "memory clock", wanted.memory_clock_mhz),
    ):
        if clock is not None:
            yield _over(each, name, _clock(place, clock), f"{clock:g} MHz", lasting=True)


def _over(
    each: Sequence[_Look], name: str, look: Callable[[_Look], _Seen], wanted: str = "", *, lasting: bool = False
) -> Finding:
    """Return one finding over all GPUs: its state is the worst of them, its words name those that are so."""
    seen = [(one.number, *look(one)) for one in each]
    worst = max((state for _, state, _ in seen), key=SEVERITY.index)
    shown = [(number, words) for number, state, words in seen if state == worst]
    alike = len({words for _, words in shown}) == 1 and len(shown) == len(seen)
    found = shown[0][1] if alike else "; ".join(f"GPU {number}: {words}" for number, words in shown)
    return Finding(name=name, state=worst, found=found, wanted=wanted if worst == "refused" else "", lasting=lasting)


def _gpu_state(one: _Look) -> _Seen:
    words = in_trouble(one.raw.values)
    action = one.raw.values.get("gpu_recovery_action", "").strip()
    if words:
        return "refused", words
    if action.lower() not in ("", "none", "n/a"):
        return "refused", f"the driver asks for: {action}"
    return ("ok", "no trouble stated") if one.raw.whole else ("unknown", "its answer is cut")


def _temperature(one: _Look, limit: float) -> _Seen:
    found = one.gpu.state.temperature_c
    if found is None:
        return "unknown", "not stated"
    if one.own_runs:
        return "unknown", f"{found:g} C, with {one.own_runs} of our own at work"
    return ("refused" if found > limit else "ok"), f"{found:g} C"


def _held_down(one: _Look, slowdowns: Sequence[str]) -> _Seen:
    if not states_reasons(one.raw.values):
        return "unknown", "not stated"
    active = one.gpu.state.held_down_by
    bad = [reason for reason in active if reason in slowdowns]
    if bad and one.own_runs:
        return "unknown", f"{', '.join(bad)}, with {one.own_runs} of our own at work"
    return ("refused", ", ".join(bad)) if bad else ("ok", ", ".join(active) or "by nothing")


def _ecc(one: _Look) -> _Seen:
    if one.gpu.ecc == "Disabled":
        return "ok", "ECC is off"
    errors = one.gpu.state.ecc_errors
    if errors is None:
        return "unknown", "not stated"
    now = {name.removeprefix("volatile."): n for name, n in errors.items() if name.startswith("volatile.")}
    bad = {name: n for name, n in now.items() if "uncorrectable" in name or "double_bit" in name}
    words = ", ".join(f"{name} {n}" for name, n in (bad or now).items()) or "none since the driver was loaded"
    return ("refused" if bad else "ok"), words


def _repairs(one: _Look) -> _Seen:
    stated = {path: one.raw.values.get(path, "").strip().lower() for path in _REPAIRS}
    waiting = list(dict.fromkeys(words for path, words in _REPAIRS.items() if stated[path] == "yes"))
    if waiting:
        return "refused", "; ".join(waiting)
    return ("ok", "none wait") if "no" in stated.values() else ("unknown", "not stated")


def _other_programs(one: _Look) -> _Seen:
    if one.processes is None:
        return "unknown", "not listed"
    if one.own_runs:
        return "unknown", f"not told from the {one.own_runs} of our own at work"
    busy = [p for p in one.processes if p.kind != "G"]
    if busy:
        shown = ", ".join(f"{p.pid} {p.name}".strip() for p in busy[:3])
        return "refused", shown + (f" and {len(busy) - 3} more" if len(busy) > 3 else "")
    return "ok", "only programs that draw" if one.processes else "none listed"


def _memory(one: _Look, most: int) -> _Seen:
    used = one.gpu.state.memory_used_bytes
    if used is None:
        return "unknown", "not stated"
    if one.own_runs:
        return "unknown", f"{used / _GB:.1f} GB, with {one.own_runs} of our own at work"
    return ("refused" if used > most else "ok"), f"{used / _GB:.1f} GB"


def _power_limit(watt: float) -> Callable[[_Look], _Seen]:
    return lambda one: _set_to(one.gpu.power_limit_w, watt, _WATT, "W")


def _clock(place: int, clock: float) -> Callable[[_Look], _Seen]:
    return lambda one: _set_to(one.gpu.application_clocks_mhz[place], clock, _MHZ, "MHz")


def _set_to(found: float | None, wanted: float, tolerance: float, unit: str) -> _Seen:
    if found is None:
        return "unknown", "not stated"
    return ("refused" if abs(found - wanted) > tolerance else "ok"), f"{found:g} {unit}"


def _driver(driver: str | None, wanted: Wanted) -> Finding:
    if driver is None:
        return Finding(name="driver", state="unknown", found="not stated")
    if wanted.driver is None or f"{driver}.".startswith(f"{wanted.driver}."):
        return Finding(name="driver", state="ok", found=driver)
    return Finding(name="driver", state="refused", found=driver, wanted=wanted.driver, lasting=True)


def _disk(sight: Sight, wanted: Wanted) -> Finding:
    if sight.free_bytes is None:
        return Finding(name="disk", state="unknown", found="the system does not say how much is free")
    found = f"{sight.free_bytes / _GB:.1f} GB free"
    least = wanted.min_free_bytes
    if least is not None and sight.free_bytes < least:
        return Finding(name="disk", state="refused", found=found, wanted=f"at least {least / _GB:g} GB")
    return Finding(name="disk", state="ok", found=found)


def _load(sight: Sight, wanted: Wanted, own_runs: int) -> Iterator[Finding]:
    most = wanted.max_load_per_core
    if most is None:
        return
    if sight.load_1min is None or not sight.cores:
        yield Finding(name="load", state="unknown", found="the system does not say")
        return
    found = sight.load_1min / sight.cores
    if own_runs:
        words = f"{found:.2f} a core, with {own_runs} of our own at work"
        yield Finding(name="load", state="unknown", found=words)
    elif found > most:
        yield Finding(name="load", state="refused", found=f"{found:.2f} a core", wanted=f"at most {most:g}")
    else:
        yield Finding(name="load", state="ok", found=f"{found:.2f} a core")
