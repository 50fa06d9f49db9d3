"""A Slurm of two nodes on this machine: `with Cluster(folder) as cluster`.

Needs root and the packages slurmctld, slurmd, slurm-client and munge of Debian or Ubuntu; they need not be
configured. Both nodes are this machine, so what is timed on them means nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged")
CONFIGURATION = Path("/etc/slurm")
"""Where Slurm looks by itself: what SLURM_CONF says is taken from the steps of a job."""
NODES = ("n1", "n2")
MUNGE = Path("/run/munge")


def missing() -> str:
    """Why there can be no Slurm here; empty where there can."""
    if absent := [name for name in PROGRAMS if not shutil.which(name)]:
        return f"no Slurm here: {', '.join(absent)} not found (packages slurmctld slurmd slurm-client munge)"
    if os.geteuid() != 0:
        return "a Slurm is started by root"
    if (CONFIGURATION / "slurm.conf").exists():
        return f"{CONFIGURATION}/slurm.conf is there: this machine has a Slurm of its own"
    return ""


class Cluster:
    """slurmctld, munged and a slurmd for each node, with their files in `folder`; ended by `stop`.

    Partitions: cpu, and short, whose jobs end after a minute.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._daemons: dict[str, subprocess.Popen] = {}

    def __enter__(self) -> Cluster:
        for name in ("state", "log", *(f"spool/{node}" for node in NODES)):
            (self._folder / name).mkdir(parents=True)
        CONFIGURATION.mkdir(exist_ok=True)
        (CONFIGURATION / "slurm.conf").write_text(self._settings())
        # Without this file jobs end at once, "COMPLETED" with nothing done.
        (CONFIGURATION / "cgroup.conf").write_text(
            "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nConstrainCores=no\nConstrainRAMSpace=no\n"
        )
        MUNGE.mkdir(exist_ok=True)
        shutil.chown(MUNGE, "munge", "munge")
        as_munge = ["setpriv", "--reuid", "munge", "--regid", "munge", "--init-groups"]
        self._start("munged", [*as_munge, shutil.which("munged"), "--foreground"])
        self._start("slurmctld", ["slurmctld", "-D"])
        time.sleep(1)
        for node in NODES:
            self.up(node)
        self._wait_for_nodes()
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["scancel", "--full", "--user", "root"], capture_output=True)
        for name in reversed(list(self._daemons)):
            self._end(name, signal.SIGTERM)
        for name in ("slurm.conf", "cgroup.conf"):
            (CONFIGURATION / name).unlink()

    def up(self, node: str) -> None:
        """Start the daemon of a node."""
        self._start(node, ["slurmd", "-D", "-N", node])

    def back(self, node: str) -> None:
        """Start it again after `down`."""
        self.up(node)
        time.sleep(2)
        subprocess.run(["scontrol", "update", f"nodename={node}", "state=resume"], check=True)
        self._wait_for_nodes()

    def down(self, node: str) -> None:
        """Take a node away as a power cut would: its daemon and jobs are killed, and the controller told."""
        self._end(node, signal.SIGKILL)
        for pid in _of_node(node):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        why = ["state=down", "reason=taken"]
        subprocess.run(["scontrol", "update", f"nodename={node}", *why], check=True)

    def jobs(self) -> list[dict[str, str]]:
        """What squeue knows of every job: id, state and node."""
        said = subprocess.run(
            ["squeue", "--states=all", "--noheader", "--format=%i %T %N"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        rows = (line.split() for line in said.splitlines())
        return [dict(zip(("id", "state", "node"), [*found, ""], strict=False)) for found in rows]

    def log(self) -> str:
        """What happened to each job, by Slurm's own record."""
        path = self._folder / "log" / "jobs.txt"
        return path.read_text() if path.exists() else ""

    def _start(self, name: str, command: list[str]) -> None:
        log = (self._folder / "log" / f"{name}.txt").open("ab")
        with log:
            self._daemons[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def _end(self, name: str, how: signal.Signals) -> None:
        daemon = self._daemons.pop(name)
        daemon.send_signal(how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            daemon.wait(timeout=20)
        if daemon.poll() is None:
            daemon.kill()
            daemon.wait()

    def _wait_for_nodes(self, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            said = subprocess.run(
                ["sinfo", "--Node", "--noheader", "--partition=cpu", "--format=%T"],
                capture_output=True, text=True,
            )  # fmt: skip
            if said.stdout.split() == ["idle"] * len(NODES):
                return
            time.sleep(0.5)
        raise RuntimeError(f"Slurm's nodes are not idle after {seconds:.0f} s: {said.stdout}{said.stderr}")

    def _settings(self) -> str:
        host, folder = socket.gethostname(), self._folder
        nodes = "\n".join(
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={17001 + number} CPUs=2 "
            "RealMemory=32000 State=UNKNOWN"
            for number, node in enumerate(NODES)
        )
        return f"""ClusterName=trial
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={MUNGE}/munge.socket.2
CryptoType=crypto/munge
MpiDefault=none
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdSpoolDir={folder}/spool/%n
StateSaveLocation={folder}/state
ProctrackType=proctrack/cgroup
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/log/jobs.txt
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=0
SlurmdTimeout=30
SlurmctldTimeout=30
KillWait=5
MinJobAge=300
{nodes}
PartitionName=cpu Nodes={",".join(NODES)} Default=YES MaxTime=60 State=UP
PartitionName=short Nodes={",".join(NODES)} MaxTime=1 State=UP
"""


def _of_node(node: str) -> list[int]:
    """The processes of the jobs of a node: Slurm names it in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"SLURMD_NODENAME={node}".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found
