"""A real Slurm cluster on loopback, two GPUs in name only on each node; needs root and Debian's Slurm packages."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.ports import free_port
from tests.patience import patient

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo", "srun")
_WITHIN_S = 30.0

CONF = """\
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmctldPort={port}
SlurmdPort={node_port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd{suffix}.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd{suffix}.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1
ReturnToService=2
SlurmdTimeout=30
SlurmdParameters=config_overrides
MessageTimeout=2
TCPTimeout=1
KillWait={kill_wait_s}
MinJobAge={remember_s}
DefMemPerCPU=100
JobAcctGatherType=jobacct_gather/linux
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
PropagateResourceLimits=NONE
GresTypes=gpu
PartitionName=debug Nodes={hosts} Default=YES MaxTime=INFINITE State=UP
"""
NODE = "NodeName={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=4000 Gres=gpu:h200:2 State=UNKNOWN\n"
GRES = "NodeName={hosts} Name=gpu Type=h200 File=/dev/tty[20-21]\n"


def why_missing() -> str | None:
    """Return why no cluster can be started here, None where it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "its daemons are started as root on Linux"
    absent = [name for name in PROGRAMS if shutil.which(name, path=_search_path()) is None]
    wanted = "slurmctld slurmd slurm-client munge"
    return f"{', '.join(absent)} not installed (apt-get install {wanted})" if absent else None


def _search_path() -> str:
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def _runs(pid: int) -> bool:
    """Return whether the process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@contextmanager
def serve_slurm(folder: Path, *, beside: tuple[str, ...] = ()) -> Iterator[Cluster]:
    """Yield a running cluster; its daemons and jobs end with it."""
    cluster = Cluster(folder, beside=beside)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def stand_in(folder: Path, *, srun: str, enroot: str) -> Path:
    """Return a new folder of Slurm's commands in which programs of one's own stand for srun with pyxis, and for enroot.

    In their texts `{srun}` is the real one and `{told}` the file `told` of the folder.
    """
    folder.mkdir()
    for name in ("sbatch", "squeue", "scontrol", "scancel"):
        (folder / name).symlink_to(shutil.which(name) or "")
    for name, text in (("srun", srun), ("enroot", enroot)):
        named = text.replace("{srun}", shutil.which("srun") or "").replace("{told}", str(folder / "told"))
        (folder / name).write_text(named)
        (folder / name).chmod(0o755)
    return folder


@dataclass(slots=True, eq=False)
class Cluster:
    """The daemons' folder; `stop` leaves no process behind."""

    folder: Path
    kill_wait_s: int = 2
    remember_s: int = 3600
    """For how long the controller knows a job after its end."""
    beside: tuple[str, ...] = ()
    """Names of further nodes, each a slurmd of its own on this machine."""

    @property
    def conf(self) -> Path:
        return self.folder / "slurm.conf"

    @property
    def host(self) -> str:
        return socket.gethostname().partition(".")[0]

    def variables(self) -> Mapping[str, str]:
        """Return the environment in which Slurm's commands mean this cluster."""
        return {**os.environ, "SLURM_CONF": str(self.conf), "PATH": _search_path()}

    def ask(self, *words: str) -> str:
        """Return what one of Slurm's commands prints."""
        done = subprocess.run(words, env=self.variables(), capture_output=True, text=True, timeout=30, check=True)
        return done.stdout.strip()

    def start(self) -> None:
        """Start all three daemons and wait until the node takes jobs."""
        hosts = (self.host, *self.beside)
        for name in ("state", "log", *(f"spool-{host}" for host in hosts)):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o711)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        values = {"kill_wait_s": self.kill_wait_s, "remember_s": self.remember_s, "folder": self.folder}
        ports = {"port": free_port(), "node_port": free_port()}
        names = {"host": self.host, "hosts": ",".join(hosts), "suffix": "-%n" if self.beside else ""}
        nodes = [NODE.format(host=self.host, port=ports["node_port"])]
        nodes += [NODE.format(host=host, port=free_port()) for host in self.beside]
        self.conf.write_text("".join([*nodes, CONF.format(**names, **values, **ports)]))
        (self.folder / "gres.conf").write_text(GRES.format(**names))
        files = {"socket": "munge.sock", "pid-file": "munged.pid", "log-file": "log/munged.log", "seed-file": "seed"}
        paths = [f"--{option}={self.folder / name}" for option, name in files.items()]
        self._run("munged", "--force", f"--key-file={key}", *paths)
        self.start_controller()
        self.start_node()
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until the controller answers and its node can take a job."""
        deadline = time.monotonic() + patient(_WITHIN_S)
        while time.monotonic() < deadline:
            with suppress(subprocess.SubprocessError):
                if {*self.ask("sinfo", "-h", "-o", "%t").splitlines()} <= {"idle", "mix", "alloc"}:
                    return
            time.sleep(0.05)
        raise AssertionError(f"Slurm did not become ready: {self._logs()}")

    def start_controller(self) -> None:
        """Start slurmctld, with the state that an earlier one saved."""
        self._run("slurmctld", "-f", str(self.conf))

    def start_node(self) -> None:
        """Start slurmd, one for each node."""
        for name in (self.host, *self.beside):
            self._run("slurmd", "-N", name, "-f", str(self.conf))

    def kill(self, daemon: str) -> None:
        """End `slurmctld` or `slurmd` by SIGKILL and wait until it is gone."""
        pid = int((self.folder / f"{daemon}.pid").read_text())
        os.kill(pid, signal.SIGKILL)
        self._wait_gone(pid)
        (self.folder / f"{daemon}.pid").unlink(missing_ok=True)

    def active_jobs(self, prefix: str = "") -> list[str]:
        """Return the names of jobs that are queued or run, those that begin with `prefix`."""
        return [name for name in self.ask("squeue", "-h", "-o", "%j").splitlines() if name.startswith(prefix)]

    def stop(self) -> None:
        """End daemons and jobs: politely at first, and then whatever has this folder in its variables."""
        for name in ("slurmctld", "slurmd", *(f"slurmd-{host}" for host in (self.host, *self.beside)), "munged"):
            with suppress(OSError, ValueError):
                os.kill(int((self.folder / f"{name}.pid").read_text()), signal.SIGTERM)
        begun = time.monotonic()
        while left := self._processes():
            waited_s = time.monotonic() - begun
            assert waited_s < patient(10), f"still running: {left}"
            for pid in left if waited_s > 1 else ():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)

    def _run(self, *words: str) -> None:
        done = subprocess.run(
            words, env=self.variables(), capture_output=True, text=True, timeout=_WITHIN_S, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}{self._logs()}"

    def _logs(self) -> str:
        return "\n".join(path.read_text(errors="replace")[-2000:] for path in (self.folder / "log").glob("*.log"))

    def _wait_gone(self, pid: int) -> None:
        deadline = time.monotonic() + patient(_WITHIN_S)
        while _runs(pid):
            assert time.monotonic() < deadline, f"process {pid} does not end"
            time.sleep(0.01)

    def _processes(self) -> list[int]:
        """Return what has this cluster's folder on its command line or in its environment, not this process."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            if int(name) == os.getpid():
                continue
            with suppress(OSError):
                words = Path(f"/proc/{name}/cmdline").read_bytes()
                about = words + Path(f"/proc/{name}/environ").read_bytes()
                if words and str(self.folder).encode() in about:
                    found.append(int(name))
        return found
