"""A copy of this package with frameworks that are NumPy with other ends, to see real cells end.

The child of a cell in it behaves as the environment variable STACKWARS_TOY says.
"""

import json
import os
import shutil
import sys
from pathlib import Path
from subprocess import CompletedProcess

from running import job_file, python, run
from stackwars.core.launch import REPOSITORY

FRAMEWORK = '''
"""NumPy, with the end that a test asks for by STACKWARS_FAKE_<framework>_<workload>, or by STACKWARS_TOY."""
import mmap, os, signal, time
from pathlib import Path
import numpy as np
from stackwars.measure.frameworks import Counters, numpy

TITLE = __name__.rpartition(".")[2]
DIALECT, COLOUR = numpy.DIALECT, numpy.COLOUR

class Session(numpy.Session):
    calls, hogged = 0, []
    def build(self, build, *others):
        workload = type(build.args[0]).__module__.rpartition(".")[2]
        self.toy = os.environ.get(f"STACKWARS_FAKE_{TITLE}_{workload}", os.environ.get("STACKWARS_TOY"))
        if self.toy == "hog":
            self.hogged.append(np.ones(2**30, np.uint8))
        if self.toy == "raise at build":
            raise NotImplementedError()
        super().build(build, *others)
    def call(self, which):
        self.calls += 1
        if self.calls == 1:
            if self.toy == "sleep":
                Path(os.environ.get("STACKWARS_TOY_PID", os.devnull)).write_text(str(os.getpid()))
                time.sleep(600)
            if self.toy == "hog shared":
                shared = mmap.mmap(-1, 2**30)
                for start in range(0, 2**30, 2**24):
                    shared[start : start + 2**24] = bytes([1]) * 2**24
                time.sleep(60)
        if self.calls == 2:
            if self.toy == "raise":
                raise ValueError("the second call went wrong")
            if self.toy == "sigkill":
                os.kill(os.getpid(), signal.SIGKILL)
        if self.toy == "slow":
            time.sleep(0.1)
        result = super().call(which)
        return result * 1.0001 if self.toy == "disagree" else result
'''
OUTPUTS = """
    def fetch(self, output):
        if self.toy == "one wrong" or (self.toy == "flaky" and self.calls > 2):
            output = output + np.float32([[0, 0, 0, 0], [0, 0, 9, 0]])
        return output * np.float32("nan") if self.toy == "nan" else output
    def counters(self):
        compiled = min(self.calls, 1)
        return Counters(compiled, 0, None, 0.25 * compiled)
    def forms(self):
        if self.toy == "no forms":
            raise ValueError("nothing to tell")
        return {"traced": f"after {self.calls} calls"}
"""
PARTNER = """
import os
os.environ["STACKWARS_TOY"] = os.environ["STACKWARS_TOY_PARTNER"]
from stackwars.measure.frameworks.toy import Session
"""
SETTINGS = {
    "seed": 1,
    "matmul_precision": "highest",
    "memory_cap_gib": 0.5,
    "timeout_s": 30,
    "block_calls": 1,
    "steady_min_blocks": 4,
    "steady_max_blocks": 4,
    "steady_seconds": 0.01,
    "loop_pairs": 2,
}


class ToyCheckout:
    """A copy of the package under `folder`, whose processes are run by the supervisor's command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in ("src/stackwars", "workflow/schemas"):
            shutil.copytree(
                REPOSITORY / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", ".ruff_cache")
            )
        package = folder / "src" / "stackwars"
        (package / "measure" / "frameworks" / "toy.py").write_text(FRAMEWORK + OUTPUTS)
        (package / "measure" / "frameworks" / "toy_partner.py").write_text(PARTNER)
        self._make_environment()

    def _make_environment(self) -> None:
        # An environment that is there already: this Python. A symbolic link would lose its packages.
        self.pins = self.folder / "envs" / "toy.txt"
        self.pins.parent.mkdir()
        self.pins.write_text("numpy==0\n")
        self.variables = {
            **{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
            "PYTHONPATH": str(self.folder / "src"),
            "STACKWARS_ENVS": str(self.folder / "environments"),
        }
        where = "from stackwars.setup.environments import *; print(folder(Path('envs/toy.txt')))"
        home = Path(self.python("-c", where).stdout.strip())
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (home / "bin" / "python").chmod(0o755)
        (home / "ready").touch()

    def output(self, repetition: int = 0) -> Path:
        """Return the folder of a process, relative to the checkout."""
        return self.cell() / f"process-{repetition}"

    def cell(self) -> Path:
        """Return the folder of the toy's cell, relative to the checkout."""
        return Path("results", "smoke", "cpu", "toy", "gemm")

    def job(
        self,
        repetition: int = 0,
        partner: bool = False,
        forms: bool = False,
        expected: str = "",
        workload: str = "gemm",
        sizes: dict[str, int] | None = None,
        **settings: object,
    ) -> str:
        """Write the job of a process, or of the cell whose first process it is; return its file."""
        job = {
            "framework": "toy",
            "dialect": "numpy",
            "workload": workload,
            "device": "cpu",
            "preset": "smoke",
            "repetition": repetition,
            "sizes": sizes or {"m": 2, "k": 3, "n": 4},
            "settings": {**SETTINGS, **settings},
            "partner": {"framework": "toy_partner", "dialect": "numpy"} if partner else None,
            "forms": forms,
            "expected": expected,
        }
        return job_file("process", job, self.folder / "handed")

    def command(self, repetition: int = 0, pins: str = "envs/toy.txt", **job: object) -> list[str]:
        """Return the command that supervises one process."""
        arguments = ["--job", self.job(repetition, **job), "--pins", pins]
        output = ["--output", str(self.output(repetition))]
        return [sys.executable, "-m", "stackwars.measure.supervisor", *arguments, *output]

    def cell_command(self, pins: str = "envs/toy.txt", rounds: int = 2, **job: object) -> list[str]:
        """Return the command of the workflow's rule for a cell."""
        arguments = ["--job", self.job(**job), "--rounds", str(rounds), "--pins", pins]
        if job.get("partner"):
            arguments += ["--partner-pins", "envs/toy.txt"]
        output = ["--output", str(self.cell())]
        return [sys.executable, "-m", "stackwars.measure.cell", *arguments, *output]

    def environ(self, toy: str, **extra: str) -> dict[str, str]:
        """Return the variables under which the child behaves so."""
        pid = str(self.folder / "child.pid")
        return {**self.variables, "STACKWARS_TOY": toy, "STACKWARS_TOY_PID": pid, **extra}

    def measure(self, toy: str, repetition: int = 0, **job: object) -> dict:
        """Run one process to its end; return its result, with the command's output as `printed`."""
        result = self.output(repetition) / "process.json"
        return self._run(self.command(repetition, **job), self.environ(toy), result)

    def measure_cell(self, toy: str, partner: str, resumes: bool = False, **job: object) -> dict:
        """Run a cell to its end, likewise. partner: how its partner behaves. resumes: after the rounds that it has."""
        if not resumes:
            shutil.rmtree(self.folder / self.cell() / "rounds", ignore_errors=True)
        return self._run(
            self.cell_command(partner=True, **job),
            self.environ(toy, STACKWARS_TOY_PARTNER=partner),
            self.cell() / "cell.json",
        )

    def _run(self, command: list[str], environ: dict[str, str], result: Path) -> dict:
        done = run(*command, cwd=self.folder, env=environ, timeout=120)
        return {**json.loads((self.folder / result).read_text()), "printed": done.stderr}

    def python(self, *arguments: str) -> CompletedProcess[str]:
        """Run this Python with the checkout's package."""
        return python(*arguments, cwd=self.folder, env=self.variables, timeout=60)
