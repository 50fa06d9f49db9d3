"""Break the timed process on purpose, one thing at a time: do the checks notice?

`python -m stackwars.study.audits.mutants`: every mutant of one framework or replay, and the honest process, on a
matrix product that takes milliseconds.
"""

from __future__ import annotations

from pathlib import Path

from stackwars.core import documents, judge
from stackwars.measure.checks import problems
from stackwars.measure.peak import floor_ms
from stackwars.measure.workloads.gemm import WORKLOAD as gemm
from stackwars.study.audits import subjects
from stackwars.study.audits.mutant import HONEST
from stackwars.study.audits.subjects import CellSubject

SIZES = {"m": 1024, "k": 1024, "n": 1024}
BLOCKS = {"block_calls": 1, "steady_seconds": 0.0, "steady_min_blocks": 40, "steady_max_blocks": 40}
HONEST_PROCESSES = 3


def audit_mutants(subject: CellSubject, peak: dict) -> dict:
    """Run and judge all processes of a subject; return what the report reads.

    peak: of the device, as `stackwars.measure.peak` writes it. The subject's settings hold seed and parity_rel_l2.
    """
    settings = subject.job.settings
    floor = floor_ms(gemm.flops(SIZES), gemm.minimum_bytes(SIZES), peak)
    expected = subject.folder / "expected"
    write_expected(expected, SIZES, settings["seed"], settings["parity_rel_l2"])
    rows = []
    for number, mutant in enumerate([*[HONEST] * HONEST_PROCESSES, *subject.mutants()]):
        own = {"repetition": number, "settings": BLOCKS, "mutant": mutant, "expected": str(expected)}
        process, verdict = subject.run_broken(f"{number}-{mutant}", "gemm", SIZES, **own)
        result = rejections(process, verdict, floor)
        rows.append(
            {
                "mutant": mutant,
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


def rejections(process: dict, verdict: dict, floor: float) -> list[str]:
    """Return every problem of one process: of its times, and `output: <what is wrong>`."""
    wrong = judge.problem(verdict)
    return [*problems(process, floor), *([f"output: {wrong}"] if wrong else [])]


def write_expected(folder: Path, sizes: dict[str, int], seed: int, limit: float) -> None:
    """Write the outputs of the product with both sets of inputs, in float64."""
    outputs, _ = gemm.expected(sizes, seed)
    values = {f"output{number}": output for number, output in enumerate(outputs)}
    judge.write(
        folder, values, {"judge": "NumPy in float64", "reason": "", "limits": dict.fromkeys(values, limit)}
    )


if __name__ == "__main__":
    subjects.command(audit_mutants, __doc__, peak={"type": documents.read, "required": True})
