"""Breaks the process of a replay on purpose, one thing at a time: do the checks notice?

`python -m stackwars.audits.replay_mutants`: as `stackwars.audits.mutants`, of one framework's program in one
compiler.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from stackwars.audits import mutants, replays
from stackwars.audits.replay_child import MUTANTS


def audit_mutants(job: dict, pins: Path, peak: dict, folder: Path) -> dict:
    """Run and judge all processes of one replay; what the report reads.

    job, errors: as of `replays.run`. folder: keeps the finished processes.
    """
    sizes, settings = mutants.SIZES, {**job["settings"], **mutants.BLOCKS}
    name = job["framework"]
    programs = replays.lowered(job, "gemm", {name: sizes}, folder)

    def run(mutant: str, number: int) -> tuple[dict, np.ndarray]:
        where = folder / f"{number}-{mutant}"
        process = replays.run(
            job, pins, where, programs,
            workload="gemm", repetition=number, sizes=sizes, settings=mutants.BLOCKS, mutant=mutant,
        )  # fmt: skip
        return process, np.load(where / f"{name}.npy")

    return {
        **{key: job[key] for key in replays.WHO},
        **mutants.judged(run, MUTANTS, settings, peak, sizes),
    }


if __name__ == "__main__":
    mutants.command(audit_mutants, __doc__)
