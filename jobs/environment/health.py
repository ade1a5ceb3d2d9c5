"""What makes a machine fit to measure on: what was seen, what is wanted, what was found. Values only."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["ok", "unknown", "refused"]
SEVERITY: tuple[State, ...] = ("ok", "unknown", "refused")
SLOWDOWNS = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")
"""Reasons for low clocks that an idle GPU must not have: the others are its limits, or that it is idle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a machine must be like to measure on. None: nothing is wanted."""

    max_temperature_c: float | None = 65.0
    slowdowns: tuple[str, ...] = SLOWDOWNS
    max_memory_used_bytes: int | None = 2_000_000_000
    other_processes: bool = False
    """Whether other programs may compute on the GPUs."""
    power_limit_w: float | None = None
    graphics_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    driver: str | None = None
    """A version or the beginning of one: `570` or `570.86`."""
    min_free_bytes: int | None = 1_000_000_000
    max_load_per_core: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What was seen of a machine at one moment. None: the system does not say."""

    smi: str
    """What `nvidia-smi -q -x` printed; empty where it did not answer."""
    smi_trouble: str
    """Why it did not; empty where it did."""
    free_bytes: int | None
    load_1min: float | None
    cores: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    name: str
    state: State
    found: str
    wanted: str = ""
    lasting: bool = False
    """Whether it stays until a person does something, so that waiting is of no use."""

    @property
    def words(self) -> str:
        """The finding on one line: `temperature: GPU 0: 81 C, wanted at most 65 C`."""
        return f"{self.name}: {self.found}" + (f", wanted {self.wanted}" if self.wanted else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """All that was found at one look."""

    findings: tuple[Finding, ...]
    driver: str | None
    gpus: int

    @property
    def refusals(self) -> tuple[Finding, ...]:
        """What stands against measuring now."""
        return tuple(one for one in self.findings if one.state == "refused")

    @property
    def unknown(self) -> tuple[Finding, ...]:
        """What could not be seen."""
        return tuple(one for one in self.findings if one.state == "unknown")

    @property
    def state(self) -> State:
        """The worst of its findings."""
        return max((one.state for one in self.findings), key=SEVERITY.index, default="ok")

    @property
    def lasting(self) -> bool:
        """Whether something stands against measuring that no waiting heals."""
        return any(one.lasting for one in self.refusals)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        findings = [asdict(one) for one in self.findings]
        return {"state": self.state, "driver": self.driver, "gpus": self.gpus, "findings": findings}
