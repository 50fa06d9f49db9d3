"""Scratch checkouts: one with a finished smoke run, and copies of it to break."""

from __future__ import annotations

import contextlib
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

import yaml

from checkout import copy_checkout, overlay
from faults import sabotage
from stackwars.setup import environments

FRAMEWORKS, WORKLOADS = ("jax", "torch_xla", "numpy"), ("gemm", "layernorm")
"""The baseline, a framework that is compared with it in programs too, and one that compiles nothing."""
SETTINGS = {"rounds_min": 2, "rounds_max": 2, "round_budget_s": 1000, "timeout_s": 45}
TABLES, PAPER = "results/smoke/cells.csv", "paper.pdf"
WHOLE = (TABLES, PAPER)
LIMIT_S = 240.0
"""A run with a fault that has not ended by then hangs."""
BASE_LIMIT_S = 1800.0
POLL_S = 0.05


class TooLong(RuntimeError):
    """A run that did not end, or did not come to where it was waited for."""


@dataclass(frozen=True)
class Ran:
    """A command that has ended: its exit code, and all that it said."""

    code: int
    said: str


class Running:
    """A command at work in a session of its own, whose words go to a file."""

    def __init__(self, command: list[str], folder: Path, environ: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("w") as file:
            self.process = subprocess.Popen(
                command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                start_new_session=True,
            )  # fmt: skip

    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def wait_for(self, what: Callable[[], Any], seconds: float = LIMIT_S) -> Any:
        """The first true value of `what` while the command runs. Raises TooLong."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            if value := what():
                return value
            time.sleep(POLL_S)
        raise TooLong(f"it did not come to where the fault was to be injected; it said {self.said()[-500:]}")

    def wait_for_words(self, pattern: str) -> None:
        """Wait until it has said something that matches."""
        self.wait_for(lambda: re.search(pattern, self.said()))

    def kill(self) -> Ran:
        """Kill the command alone, none of what it has started, and say what it said."""
        self.process.kill()
        return Ran(self.process.wait(), self.said())

    def finish(self, seconds: float = LIMIT_S) -> Ran:
        """Wait for its end. Raises TooLong, and kills all of it, where it comes to none."""
        try:
            return Ran(self.process.wait(seconds), self.said())
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise TooLong(f"it had not ended after {seconds:.0f} s; it said {self.said()[-500:]}") from None


@dataclass(frozen=True)
class Scratch:
    """A scratch checkout. variables: what its runs have in their environment beside this process's."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def results(self) -> Path:
        return self.folder / "results" / "smoke"

    def forget(self, *names: str) -> None:
        """Delete results, and the tables and the paper that were made from them: something is left to do."""
        for name in (*names, "cells.csv"):
            path = self.results / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        self.forget_paper()

    def forget_paper(self) -> None:
        """Delete the paper alone, and what TeX left beside its source: only TeX is left to do."""
        (self.folder / PAPER).unlink(missing_ok=True)
        for path in (self.results / "latex").glob("main.*"):
            if path.suffix != ".tex":
                path.unlink()

    def start(self, *targets: str, sabotage: dict | None = None, **variables: str) -> Running:
        """Start Snakemake as `make` does, on one core. sabotage: see `faults.sabotage`."""
        command = [sys.executable, "-m", "snakemake", *targets, "--cores", "1"]
        # The log must be outside: the checkout's disk may be full.
        number = sum(1 for _ in self.folder.parent.glob(f"{self.folder.name}-*.log"))
        log = self.folder.with_name(f"{self.folder.name}-{number}.log")
        return Running(command, self.folder, self._environ(sabotage, variables), log)

    def run(self, *targets: str, within: float = LIMIT_S, **how: Any) -> Ran:
        """Run Snakemake to its end; see `start`. Raises TooLong."""
        return self.start(*targets, **how).finish(within)

    def tools(self, **scripts: str) -> str:
        """A PATH on which these shell scripts come before the programs of the same names."""
        folder = self.folder / "tools"
        folder.mkdir(exist_ok=True)
        for name, text in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)
        return f"{folder}{os.pathsep}{os.environ['PATH']}"

    def processes(self, words: str) -> list[int]:
        """Processes at work in this checkout whose command line has these words."""
        found = []
        for path in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if words in command and (path / "cwd").readlink().is_relative_to(self.folder):
                    found.append(int(path.name))
        return found

    def _environ(self, wanted: dict | None, variables: dict[str, str]) -> dict[str, str]:
        # The source is that of the scratch checkout, not of this one.
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        told = {sabotage.NAME: json.dumps(wanted)} if wanted else {}
        envs = {"STACKWARS_ENVS": str(environments.root().resolve())}
        return {**kept, **envs, **self.variables, **told, **variables}


def base(folder: Path, *targets: str) -> Scratch:
    """The checkout with a finished run of these targets, made unless it is there as the sources are now.

    Raises RuntimeError where the run fails.
    """
    made, stamp = Scratch(folder), folder.with_name(f"{folder.name}.stamp")
    with _fresh(folder) as fresh:
        key = f"{_digest(fresh)} {' '.join(targets)}"
        if folder.exists() and stamp.exists() and stamp.read_text() == key:
            return made
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    ran = made.run(*targets, within=BASE_LIMIT_S)
    if ran.code:
        raise RuntimeError(f"expected a finished run to break; it failed: {ran.said[-3000:]}")
    stamp.write_text(key)
    return made


@contextlib.contextmanager
def _fresh(folder: Path) -> Iterator[Path]:
    """A checkout beside the folder, with the small grid and the sabotage in place."""
    fresh = folder.with_name(f"{folder.name}.fresh")
    shutil.rmtree(fresh, ignore_errors=True)
    copy_checkout(fresh)
    overlay(fresh, _small(fresh))
    shutil.copy(sabotage.__file__, fresh / "src" / "sitecustomize.py")
    try:
        yield fresh
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _small(checkout: Path) -> dict:
    """Return what makes of the configuration the smallest grid that has every kind of result but replays."""
    config = yaml.safe_load((checkout / "config" / "config.yaml").read_text())
    study = {
        **{"frameworks": list(FRAMEWORKS), "programs": ["jax", "torch_xla"], "compilers": []},
        **{"targets": ["tpu-v6e"], "workloads": list(WORKLOADS)},
    }
    return {
        **{"preset": "smoke", "measure": ["tables"], "workloads": list(WORKLOADS), "devices": ["cpu"]},
        # Every framework must be in some study.
        "studies": {"tables": study, "others": config["studies"]["tables"]},
        "ahead": config["ahead"][:1],
        "audits": {"frameworks": [], "replays": []},
        "presets": {"smoke": {"settings": SETTINGS}},
    }


def _digest(folder: Path) -> str:
    """Of every file's name and content."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def copy(made: Scratch, folder: Path) -> Scratch:
    """A copy of a checkout, dates included, in a folder that is new or empty."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", f"{made.folder}/.", str(folder)], check=True)
    return Scratch(folder)
