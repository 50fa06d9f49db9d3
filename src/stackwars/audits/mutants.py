"""Breaks the timed process on purpose, one thing at a time: do the checks notice?

`python -m stackwars.audits.mutants`: every mutant of one framework, and the honest process, on a matrix
product that takes milliseconds.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stackwars import frameworks
from stackwars.audits import runner
from stackwars.audits.mutant import HONEST, mutants
from stackwars.measure import documents
from stackwars.measure.checks import output_problems, problems
from stackwars.measure.child import sample
from stackwars.measure.inputs import input_sets
from stackwars.measure.peak import floor_ms
from stackwars.measure.supervisor import ProcessJob
from stackwars.workloads.gemm import WORKLOAD as gemm

SIZES = {"m": 1024, "k": 1024, "n": 1024}
BLOCKS = {"block_calls": 1, "steady_seconds": 0.0, "steady_min_blocks": 40, "steady_max_blocks": 40}
HONEST_PROCESSES = 3
Run = Callable[[str, int], tuple[dict, np.ndarray]]
"""Runs the process of a mutant, the how many-th of the audit: its result, and the samples of both outputs."""


@dataclass(frozen=True)
class MutantJob(ProcessJob):
    """A cell's process, and what is broken in it."""

    mutant: str = HONEST


def judge(process: dict, output: np.ndarray, expected: np.ndarray, floor: float, tolerance: float) -> list[str]:
    """Every problem that the checks find in one process and its output samples."""
    return [*problems(process, floor), *output_problems(output, expected, tolerance)]


def expected_output(sizes: dict[str, int], seed: int) -> np.ndarray:
    """The output samples of both sets of inputs, from the product in float64."""
    return np.concatenate(
        [sample(gemm.reference({}, inputs), seed) for inputs in input_sets(gemm, sizes, seed)]
    )


def audit_mutants(job: dict, pins: Path, peak: dict, folder: Path, sizes: dict[str, int] = SIZES) -> dict:
    """Run and judge all processes of one framework; what the report reads.

    job: framework, dialect, device, preset and settings of a `supervisor.ProcessJob`, with parity_rel_l2 among
    the settings. folder: keeps the finished processes. Raises RuntimeError where a process fails.
    """
    settings = {**job["settings"], **BLOCKS}

    def run(mutant: str, number: int) -> tuple[dict, np.ndarray]:
        wanted = MutantJob(
            **{**job, "settings": settings}, workload="gemm", repetition=number, sizes=sizes, mutant=mutant
        )  # fmt: skip
        where = folder / f"{number}-{mutant}"
        process = runner.require_ok(runner.run(wanted, pins, where, "stackwars.audits.mutant"))
        return process, np.load(where / "output.npy")

    names = mutants(frameworks.load(job["framework"]).Session)
    return {
        "framework": job["framework"],
        "device": job["device"],
        **judged(run, names, settings, peak, sizes),
    }


def judged(run: Run, names: Sequence[str], settings: dict, peak: dict, sizes: dict[str, int]) -> dict:
    """Honest processes and these mutants of the product, each with the problems that the checks find in it.

    settings: seed and parity_rel_l2 are read; peak: of the device, as `stackwars.measure.peak` writes it.
    """
    floor = floor_ms(gemm.flops(sizes), gemm.minimum_bytes(sizes), peak)
    expected = expected_output(sizes, settings["seed"])
    rows = []
    for mutant in [*[HONEST] * HONEST_PROCESSES, *names]:
        process, output = run(mutant, len(rows))
        found = judge(process, output, expected, floor, settings["parity_rel_l2"])
        steady = next(event for event in process["events"] if event["event"] == "steady")
        rows.append(
            {
                "mutant": mutant,
                "steady_ms": float(np.median(steady["ns"])) / 1e6,
                "rejected_by": sorted({problem.partition(":")[0] for problem in found}),
                "problems": found,
            }
        )
    return {
        "floor_ms": floor,
        "processes": rows,
        "ok": all(bool(row["problems"]) != (row["mutant"] == HONEST) for row in rows),
    }


def command(measure_and_judge: Callable[[dict, Path, dict, Path], dict], doc: str | None) -> None:
    """The command line of an audit of mutants: measures, writes --output, and drops what it kept."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--job", required=True, type=documents.read)
    for name in ("pins", "peak", "folder", "output"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    a = parser.parse_args()
    found = measure_and_judge(a.job, a.pins, documents.read(a.peak), a.folder)
    a.output.parent.mkdir(parents=True, exist_ok=True)
    a.output.write_text(json.dumps(found, indent=1))
    shutil.rmtree(a.folder)


if __name__ == "__main__":
    command(audit_mutants, __doc__)
