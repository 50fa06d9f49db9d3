"""Break the timed process on purpose, one thing at a time: do the checks notice?

`python -m stackwars.audits.mutants`: every mutant of one framework or replay, and the honest process, on a
matrix product that takes milliseconds.
"""

from __future__ import annotations

import numpy as np

from stackwars.audits import subjects
from stackwars.audits.mutant import HONEST
from stackwars.audits.subjects import CellSubject
from stackwars.measure import documents
from stackwars.measure.checks import output_problems, problems, sample
from stackwars.measure.documents import event
from stackwars.measure.inputs import input_sets
from stackwars.measure.peak import floor_ms
from stackwars.workloads.gemm import WORKLOAD as gemm

SIZES = {"m": 1024, "k": 1024, "n": 1024}
BLOCKS = {"block_calls": 1, "steady_seconds": 0.0, "steady_min_blocks": 40, "steady_max_blocks": 40}
HONEST_PROCESSES = 3


def audit_mutants(subject: CellSubject, peak: dict) -> dict:
    """Run and judge all processes of a subject; return what the report reads.

    peak: of the device, as `stackwars.measure.peak` writes it. The subject's settings hold seed and parity_rel_l2.
    """
    settings = subject.job["settings"]
    floor = floor_ms(gemm.flops(SIZES), gemm.minimum_bytes(SIZES), peak)
    expected = expected_output(SIZES, settings["seed"])
    rows = []
    for number, mutant in enumerate([*[HONEST] * HONEST_PROCESSES, *subject.mutants()]):
        process, output = subject.run_broken(
            f"{number}-{mutant}", "gemm", SIZES, repetition=number, settings=BLOCKS, mutant=mutant
        )
        result = judge(process, output, expected, floor, settings["parity_rel_l2"])
        rows.append(
            {
                "mutant": mutant,
                "steady_ms": float(np.median(event(process, "steady")["ns"])) / 1e6,
                "rejected_by": sorted({problem.partition(":")[0] for problem in result}),
                "problems": result,
            }
        )
    return {
        **subject.labels,
        "floor_ms": floor,
        "processes": rows,
        "ok": all(bool(row["problems"]) != (row["mutant"] == HONEST) for row in rows),
    }


def judge(process: dict, output: np.ndarray, expected: np.ndarray, floor: float, tolerance: float) -> list[str]:
    """Return every problem that the checks find in one process and its output samples."""
    return [*problems(process, floor), *output_problems(output, expected, tolerance)]


def expected_output(sizes: dict[str, int], seed: int) -> np.ndarray:
    """Return the output samples of both sets of inputs, from the product in float64."""
    return np.concatenate(
        [sample(gemm.reference({}, inputs), seed) for inputs in input_sets(gemm, sizes, seed)]
    )


if __name__ == "__main__":
    subjects.command(audit_mutants, __doc__, peak={"type": documents.read, "required": True})
