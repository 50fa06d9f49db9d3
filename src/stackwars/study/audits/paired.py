"""The pairs whose rounds audits measure, each on a workload of the study.

same    a framework against itself, on all cores and on one: the ratio is 1.
mixed   two frameworks on all cores. Their ratio is unknown, but two trials with different rounds must agree.

`python -m stackwars.study.audits.paired` measures the rounds of a pair. Each is a round of the study: two fresh
processes of which one at a time works, whose loops alternate. An audit that was killed resumes after its finished
rounds.
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
from stackwars.setup.device import CPU, CPUS
from stackwars.setup.environments import ensure
from stackwars.study import cells
from stackwars.study.audits import subjects
from stackwars.study.keys import Config

SAME, MIXED = KINDS = ("same", "mixed")
MIXED_TRIALS = 2
"""Trials of each mixed pair: those whose ratios must agree."""
SIDES = ("subject", "baseline")
STEPS = (conduct.SUBJECT_STEPS, conduct.STEPS)
"""The steps of a cell's round: a difference between the two roles shows, because nothing else differs."""


@dataclass(frozen=True)
class Pair:
    """A pair: subject and baseline are frameworks. trials: how many."""

    kind: str
    device: str
    subject: str
    baseline: str
    workload: str
    trials: int

    @property
    def name(self) -> str:
        sides = self.subject if self.subject == self.baseline else f"{self.subject}-over-{self.baseline}"
        return f"{sides}-{self.workload}"


def all_pairs(config: Config) -> list[Pair]:
    """Return the pairs that the configuration selects and its frameworks, workloads and devices allow."""
    chosen = config.audits
    trials = {name: count for name, count in chosen.trials.items() if name in config.frameworks}
    limits = {**config.device_workloads, **config.chosen.device_workloads}
    workloads = {
        device: [
            name
            for name in chosen.workloads
            if name in config.workloads
            and name in limits.get(device, [name])
            and cells.rounds(config, name, device)
        ]
        for device in CPUS
        if device in config.devices
    }
    result = [
        Pair(SAME, device, name, name, workload, count)
        for device, of_device in workloads.items()
        for name, count in trials.items()
        if device in cells.environments(config, name)
        for workload in of_device
    ]
    main = config.comparisons[0]
    if {main.subject, main.baseline} <= trials.keys():
        result += [
            Pair(MIXED, CPU, main.subject, main.baseline, name, MIXED_TRIALS) for name in workloads.get(CPU, [])
        ]
    return result


@dataclass(frozen=True)
class PairJob:
    """The rounds of a pair. name, kind and trials: as in `Pair`. rounds: per trial. settings: as in a ProcessJob.
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
