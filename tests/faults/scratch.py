"""Scratch checkouts: one with a finished smoke run, and copies of it to break."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkout import copy_checkout, overlay
from faults import sabotage
from stackwars.setup import environments

FRAMEWORKS, WORKLOADS = ("jax", "torch_xla", "numpy"), ("gemm", "layernorm")
"""The baseline, a framework that is compared with it in programs too, and one that compiles nothing."""
SETTINGS = {"rounds": 2, "timeout_s": 45}
TABLES, PAPER = "results/smoke/cells.csv", "paper.pdf"
LIMIT_S = 240.0
"""A run with a fault that has not ended by then hangs."""
BASE_LIMIT_S = 1800.0
POLL_S = 0.05


@dataclass(frozen=True)
class Ran:
    """A command that has ended: its exit code and its output."""

    code: int
    output: str


class Running:
    """A running command in a session of its own, whose output goes to a file."""

    def __init__(self, command: list[str], folder: Path, environ: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("w") as file:
            self.process = subprocess.Popen(
                command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                start_new_session=True,
            )  # fmt: skip

    def output(self) -> str:
        return self._log.read_text(errors="replace")

    def wait_for(self, condition: Callable[[], Any]) -> None:
        """Wait until the condition is true; fail if the command ends before."""
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            if time.monotonic() > deadline or self.process.poll() is not None:
                pytest.fail(f"the run did not reach the point of the fault: {self.output()[-500:]}")
            time.sleep(POLL_S)

    def wait_for_output(self, pattern: str) -> None:
        """Wait until the output matches."""
        self.wait_for(lambda: re.search(pattern, self.output()))

    def kill(self) -> Ran:
        """Kill the command alone, and none of the processes that it started."""
        self.process.kill()
        return Ran(self.process.wait(), self.output())

    def finish(self, seconds: float = LIMIT_S) -> Ran:
        """Wait for its end; if it does not end, kill its whole session and fail."""
        try:
            return Ran(self.process.wait(seconds), self.output())
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            pytest.fail(f"the run had not ended after {seconds:.0f} s: {self.output()[-500:]}")


@dataclass(frozen=True)
class Scratch:
    """A scratch checkout. variables: added to the environment of its runs."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def results(self) -> Path:
        return self.folder / "results" / "smoke"

    def delete(self, *names: str) -> None:
        """Delete results, with the tables and the paper made from them, so that the next run has work."""
        for name in (*names, "cells.csv"):
            path = self.results / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        self.delete_paper()

    def delete_paper(self) -> None:
        """Delete the paper alone, and TeX's files beside its source, so that only TeX has work."""
        (self.folder / PAPER).unlink(missing_ok=True)
        for path in (self.results / "latex").glob("main.*"):
            if path.suffix != ".tex":
                path.unlink()

    def start(self, *targets: str, sabotage: dict | None = None, **variables: str) -> Running:
        """Start Snakemake as `make` does, on one core. sabotage: see `faults.sabotage`."""
        command = [sys.executable, "-m", "snakemake", *targets, "--cores", "1"]
        # The log is outside, because the checkout's disk may be full.
        number = sum(1 for _ in self.folder.parent.glob(f"{self.folder.name}-*.log"))
        log = self.folder.with_name(f"{self.folder.name}-{number}.log")
        return Running(command, self.folder, self._environ(sabotage, variables), log)

    def run(self, *targets: str, within: float = LIMIT_S, **how: Any) -> Ran:
        """Run Snakemake to its end; see `start`."""
        return self.start(*targets, **how).finish(within)

    def path_with(self, **scripts: str) -> str:
        """Return a PATH on which these shell scripts precede the programs of the same names."""
        folder = self.folder / "tools"
        folder.mkdir(exist_ok=True)
        for name, text in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)
        return f"{folder}{os.pathsep}{os.environ['PATH']}"

    def processes(self, words: str) -> list[int]:
        """Return the processes in this checkout whose command line contains these words."""
        found = []
        for path in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if words in command and (path / "cwd").readlink().is_relative_to(self.folder):
                    found.append(int(path.name))
        return found

    def _environ(self, wanted: dict | None, variables: dict[str, str]) -> dict[str, str]:
        # The scratch checkout has its own source.
        inherited = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        spec = {sabotage.NAME: json.dumps(wanted)} if wanted else {}
        envs = {"STACKWARS_ENVS": str(environments.root().resolve())}
        return {**inherited, **envs, **self.variables, **spec, **variables}


def base(folder: Path, *targets: str) -> Scratch:
    """Return the checkout with a finished run of these targets, made if the sources have changed since."""
    folder.parent.mkdir(exist_ok=True)
    stamp, fresh = folder.with_name(f"{folder.name}.stamp"), folder.with_name(f"{folder.name}.fresh")
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(fresh, ignore_errors=True)
        copy_checkout(fresh)
        overlay(fresh, _small(fresh))
        shutil.copy(sabotage.__file__, fresh / "src" / "sitecustomize.py")
        key = f"{_digest(fresh)} {' '.join(targets)}"
        if folder.exists() and stamp.exists() and stamp.read_text() == key:
            shutil.rmtree(fresh)
            return Scratch(folder)
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
        ran = Scratch(folder).run(*targets, within=BASE_LIMIT_S)
        assert ran.code == 0, f"expected a finished run to break, got {ran.output[-3000:]}"
        stamp.write_text(key)
    return Scratch(folder)


def _small(checkout: Path) -> dict:
    """Return what reduces the configuration to a small grid that has every kind of result but replays."""
    config = yaml.safe_load((checkout / "config" / "config.yaml").read_text())
    study = {
        **{"frameworks": list(FRAMEWORKS), "programs": ["jax", "torch_xla"], "compilers": []},
        **{"targets": ["tpu-v6e"], "workloads": list(WORKLOADS)},
    }
    return {
        **{"preset": "smoke", "measure": ["tables"], "workloads": list(WORKLOADS), "devices": ["cpu"]},
        # Every framework must be in some study.
        "studies": {"tables": study, "others": config["studies"]["tables"]},
        "aot_compilations": config["aot_compilations"][:1],
        "audits": {"frameworks": [], "replays": [], "workloads": [], "trials": {}},
        "presets": {"smoke": {"settings": SETTINGS}},
    }


def _digest(folder: Path) -> str:
    """Return a digest of every file's name and content."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def copied(made: Scratch, folder: Path, disk_mb: int = 0) -> Iterator[Scratch]:
    """Copy a checkout, dates included, and delete the copy afterwards.

    disk_mb: room on a disk of its own, or 0 for none. Skips the test if none can be mounted.
    """
    _discard(folder)
    folder.mkdir(parents=True)
    try:
        if disk_mb:
            used = subprocess.run(["du", "-sm", str(made.folder)], capture_output=True, text=True, check=True)
            size = f"size={int(used.stdout.split()[0]) + disk_mb}m"
            mount_or_skip("-t", "tmpfs", "-o", size, "tmpfs", str(folder))
        subprocess.run(["cp", "-a", f"{made.folder}/.", str(folder)], check=True)
        yield Scratch(folder)
    finally:
        _discard(folder)


def mount_or_skip(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mount {' '.join(arguments[:3])}: {done.stderr.strip()}")


def _discard(folder: Path) -> None:
    """Unmount what is mounted in the folder, and delete it with its logs."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for place in sorted(mounts, reverse=True):
        if Path(place).is_relative_to(folder):
            subprocess.run(["umount", "-l", place], check=False)
    if folder.exists():
        subprocess.run(["chmod", "-R", "u+w", str(folder)], check=False)
        shutil.rmtree(folder)
    for log in folder.parent.glob(f"{folder.name}-[0-9]*.log"):
        log.unlink()
