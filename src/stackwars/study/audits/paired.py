"""Measure the rounds of a pair: `python -m stackwars.study.audits.paired`.

Each is a round of the study: two fresh processes of which one at a time works, whose loops alternate. An audit that
was killed resumes after its finished rounds.
"""

from __future__ import annotations

import random
import shutil
import statistics
import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from stackwars.core import documents, machine
from stackwars.core.documents import event
from stackwars.measure import conduct, loops
from stackwars.measure.cell import expected_bytes
from stackwars.measure.checks import call_ms
from stackwars.measure.conduct import INTERLEAVED, Participant
from stackwars.measure.rounds import Rounds
from stackwars.measure.supervisor import ProcessJob, exclusive
from stackwars.setup.environments import ensure
from stackwars.study.audits import subjects

SIDES = ("subject", "baseline")
STEPS = (conduct.SUBJECT_STEPS, conduct.STEPS)
"""The steps of a cell's round: a difference between the two roles shows, because nothing else differs."""


@dataclass(frozen=True)
class PairJob:
    """The rounds of a pair. name, kind and trials: as in `pairs.Pair`. rounds: per trial. settings: as in a ProcessJob.
    sides: framework, dialect, sizes and pins of the subject and of the baseline.
    """

    name: str
    kind: str
    workload: str
    device: str
    preset: str
    trials: int
    rounds: int
    settings: dict[str, Any]
    sides: list[dict[str, Any]]

    def process(self, side: dict, number: int) -> ProcessJob:
        """Return the job of one side's process in the round of this number; each trial begins with a first round."""
        return ProcessJob(
            side["framework"], side["dialect"], self.workload, self.device, self.preset, number % self.rounds,
            side["sizes"], self.settings, writes_files=False,
        )  # fmt: skip


def measure(job: PairJob, folder: Path) -> dict[str, Any]:
    """Return what the report reads: the pair, and each round's ratios of loops and of undisturbed series before them.

    A round without a series has no ratio of them.

    Raises RuntimeError if a process fails or the loops of a round did not alternate.
    """
    pythons = [ensure(Path(side["pins"])) for side in job.sides]
    rounds = Rounds(folder, job, [Path(side["pins"]) for side in job.sides])
    found = []
    with exclusive(job.settings):
        for number in range(job.trials * job.rounds):
            found.append(rounds.run(number, partial(_round, job, pythons, number)))
            print(f"[audit] {job.name} {number}: {found[-1]['ratio']:.3f}", file=sys.stderr, flush=True)
    labels = ("name", "kind", "workload", "device", "trials", "rounds")
    return {
        **{key: value for key, value in asdict(job).items() if key in labels},
        **{name: side["framework"] for name, side in zip(SIDES, job.sides, strict=True)},
        "ratios": [one["ratio"] for one in found],
        "undisturbed": [one["undisturbed"] for one in found],
        "wall_s": sum(one["wall_s"] for one in found),
        "seed": rounds.seed,
        "machine": machine.record(),
        "revisions": sorted({one["revision"] for one in found}),
    }


def _round(job: PairJob, pythons: list[Path], number: int, folder: Path, rng: random.Random) -> dict[str, Any]:
    processes = [job.process(side, number) for side in job.sides]
    participants = [
        Participant(name, process, python, folder / name, steps=steps)
        for name, process, python, steps in zip(SIDES, processes, pythons, STEPS, strict=True)
    ]
    records = conduct.run_round(participants, job.settings, rng, sum(map(expected_bytes, processes)))
    result = summary([records[name] for name in SIDES])
    for name in SIDES:
        shutil.rmtree(folder / name)
    return result


def summary(records: list[dict]) -> dict[str, Any]:
    """Return the recorded numbers of a round, from the records of its two processes.

    Raises RuntimeError if one failed or their loops did not alternate.
    """
    for record in records:
        subjects.require_ok(record)
    if any(record["basis"] != INTERLEAVED for record in records):
        raise RuntimeError(
            f"expected two processes of {records[0]['workload']} at once, got one after the other; fix: free memory"
        )
    pairs = loops.pairs(*map(loops.loops_of, records))
    before = [statistics.median(call_ms(one)) for record in records if (one := event(record, "steady"))]
    source = records[0]["source"]
    return {
        "ratio": loops.round_ratio(pairs),
        "undisturbed": before[0] / before[1] if before else None,
        "wall_s": max(record["wall_s"] for record in records),
        "revision": source["git_revision"] + (" with changes" if source["git_dirty"] else ""),
    }


def main() -> None:
    a = documents.parse_arguments(__doc__, "job", "folder", "output")
    documents.write(a.output, measure(documents.read_job(PairJob, a.job), a.folder))
    shutil.rmtree(a.folder)


if __name__ == "__main__":
    main()
