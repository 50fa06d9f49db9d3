"""A replay: rounds of a fresh process in which the programs of a workload take turns in one compiler.

`python -m stackwars.compilers.replay_cell --job JOB --pins PINS --peak PEAK --output FOLDER [--taken FOLDER]` writes
replay.json and, beside it, profile.json: where the time of each program's calls goes. In the native compiler, the
process takes part in the rounds of a cell (`stackwars.measure.cell`), which are taken over from the folder `taken`: the
cell's processes are the controls. Any other replay has rounds of its own.
"""

from __future__ import annotations

import random
import shutil
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from stackwars.compilers import replay_result
from stackwars.compilers.replay import ReplayJob
from stackwars.measure import documents, nodes, progress
from stackwars.measure.cell import REPLAY, REPLAYED, REPLAYING, expected_bytes, replay_files
from stackwars.measure.conduct import Participant, run_round
from stackwars.measure.rounds import Rounds
from stackwars.measure.supervisor import exclusive, python_of


@dataclass(frozen=True)
class ReplayCellJob:
    """A whole replay.

    replay: of a ReplayJob; its settings have the number of rounds. cells: {framework: folder of its own cell}, whose
    programs must be those that are replayed.
    """

    replay: dict[str, Any]
    cells: dict[str, str]


def measure(job: ReplayJob, pins: Path, output: Path) -> tuple[list[dict[str, dict]], Rounds | None]:
    """Measure the rounds of a replay; return the records of each by participant, and the folders that hold them.

    A round whose replay is not ok is the last.
    """
    progress.announce(job)
    python, refused = python_of(job, pins)
    if refused:
        return [{REPLAY: refused}], None
    rounds = Rounds(output, job, [pins, *replay_files(job)])
    result: list[dict[str, dict]] = []
    with exclusive(job.settings):
        nodes.ensure_peak(job.device, output)
        while len(result) < job.settings["rounds"]:
            one = partial(_round, replace(job, repetition=len(result)), python)
            result.append(rounds.run(len(result), one))
            progress.report(result[-1][REPLAY])
            if result[-1][REPLAY]["status"] != "ok":
                break
    return result, rounds


def _round(job: ReplayJob, python: Path, folder: Path, rng: random.Random) -> dict[str, dict]:
    """Run one round; return the record of the replay."""
    one = Participant(REPLAY, job, python, folder / REPLAY, REPLAYING, tuple(job.programs))
    begun = time.monotonic()
    records = run_round([one], job.settings, rng, expected_bytes(job))
    records[REPLAY]["round_s"] = round(time.monotonic() - begun, 3)
    shutil.rmtree(one.folder / "cache", ignore_errors=True)
    return records


def main() -> None:
    a = documents.parse_arguments(__doc__, "job", "pins", "peak", "output", taken={"type": Path})
    job = ReplayCellJob(**documents.read(a.job))
    a.output.mkdir(parents=True, exist_ok=True)
    rounds = None
    if a.taken and (a.taken / REPLAYED).exists():
        taken = documents.read(a.taken / REPLAYED)
        records, seed = taken["rounds"], taken["seed"]
        progress.report(records[-1][REPLAY])
    else:
        records, rounds = measure(ReplayJob(**job.replay), a.pins, a.output)
        seed = rounds and rounds.seed
    peak = nodes.peak_of(nodes.peaks(a.peak.parent), records[0][REPLAY]["machine"])
    write(job, records, seed, peak, a.output)
    if rounds:
        rounds.remove()


def write(
    job: ReplayCellJob, records: list[dict[str, dict]], seed: int | None, peak: dict | None, output: Path
) -> None:
    """Write the result of these rounds."""
    cells = {name: Path(folder) for name, folder in job.cells.items()}
    result = replay_result.combine(records, cells, documents.read(job.replay["check"]), peak, seed)
    documents.write(output / "profile.json", replay_result.profiles(records, result))
    documents.write(output / "replay.json", result)


if __name__ == "__main__":
    main()
