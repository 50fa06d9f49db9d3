"""A replay: rounds of a fresh process in which the programs of a workload take turns in one compiler.

`python -m stackwars.compilers.replay_cell --job JOB --pins PINS --peak PEAK --output FOLDER` writes replay.json and,
beside it, profile.json: where the time of each program's calls goes. In the native compiler, the frameworks' native
processes take their turns in the same rounds: the controls.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stackwars import workloads
from stackwars.compilers import replay_result
from stackwars.compilers.replay import ReplayJob
from stackwars.compilers.replay_result import REPLAY
from stackwars.measure import calls, documents, judge, limits, nodes, progress
from stackwars.measure.cell import COPIES, LASTING, OWN_BYTES
from stackwars.measure.conduct import Participant, run_round
from stackwars.measure.rounds import Rounds
from stackwars.measure.supervisor import ProcessJob, exclusive, not_measured, python_of

MODULE = "stackwars.compilers.replay"
NATIVE_STEPS = (calls.SINGLES,)
"""The steps of a native process before the loops, of which alone its ratio is made."""


@dataclass(frozen=True)
class ReplayCellJob:
    """A whole replay.

    replay: of a ReplayJob; its settings have the number of rounds. natives: {framework: {"job": of a ProcessJob,
    "pins": the pins file of its environment}}, the native processes of each round. cells: {framework: folder of its
    own cell}, whose programs must be those that are replayed.
    """

    replay: dict[str, Any]
    natives: dict[str, dict[str, Any]]
    cells: dict[str, str]


@dataclass(frozen=True)
class Native:
    """The native process of a framework. lost: its result if it cannot be measured."""

    job: ProcessJob
    python: Path
    lost: dict | None


def measure(job: ReplayCellJob, pins: Path, output: Path) -> tuple[list[dict[str, dict]], Rounds | None]:
    """Measure the rounds of a replay; return the records of each by participant, and the folders that hold them.

    A round whose replay is not ok is the last.
    """
    own = ReplayJob(**job.replay)
    progress.announce(own)
    python, refused = python_of(own, pins)
    if refused:
        return [{REPLAY: refused}], None
    natives = {name: _native(row) for name, row in job.natives.items()}
    rounds = Rounds(output, job, [pins, *_files(job)])
    result: list[dict[str, dict]] = []
    with exclusive(own.settings):
        nodes.ensure_peak(own.device, output)
        for number in range(own.settings["rounds"]):

            def round_of(folder: Path, rng: random.Random, number: int = number) -> dict[str, dict]:
                return _round(own, python, natives, number, folder, rng)

            records = rounds.run(number, round_of)
            progress.report(records[REPLAY])
            result.append(records)
            if records[REPLAY]["status"] != "ok":
                break
            for name, native in natives.items():
                if native.lost or records[name]["status"] == "ok":
                    continue
                progress.report(records[name])
                if records[name]["status"] in LASTING:
                    natives[name] = replace(native, lost=records[name])
    return result, rounds


def _native(row: dict[str, Any]) -> Native:
    job = ProcessJob(**row["job"])
    return Native(job, *python_of(job, Path(row["pins"])))


def _files(job: ReplayCellJob) -> Iterable[Path]:
    """Return the files that decide a round beside the pins of the compiler."""
    own = job.replay
    yield from (Path(row["pins"]) for row in job.natives.values())
    yield from (Path(path) for paths in own["programs"].values() for path in paths.values())
    if own["check"]:
        yield Path(own["check"])
    if own["expected"]:
        yield Path(own["expected"]) / judge.DOCUMENT


def _round(
    own: ReplayJob, python: Path, natives: dict[str, Native], number: int, folder: Path, rng: random.Random
) -> dict[str, dict]:
    """Run one round; return the records of the replay and of each native process."""
    absent = {name: native.lost for name, native in natives.items() if native.lost}
    running = {name: native for name, native in natives.items() if not native.lost}
    needed = expected_bytes(own, len(running))
    if running and needed > (free := limits.available_memory_bytes()):
        why = (
            f"the processes of a round may need {needed / limits.GIB:.1f} GiB together, "
            f"{free / limits.GIB:.1f} GiB are free"
        )
        absent |= {name: not_measured(native.job, "not run", why) for name, native in running.items()}
        running = {}
    participants = [
        Participant(
            REPLAY, replace(own, repetition=number), python, folder / REPLAY, MODULE, tuple(own.programs)
        ),
        *(
            Participant(
                name, replace(native.job, repetition=number), native.python, folder / name, steps=NATIVE_STEPS
            )
            for name, native in running.items()
        ),
    ]
    begun = time.monotonic()
    records = run_round(participants, own.settings, rng, needed)
    records[REPLAY]["round_s"] = round(time.monotonic() - begun, 3)
    for one in participants:
        shutil.rmtree(one.folder / "cache", ignore_errors=True)
    basis = {"basis": records[REPLAY]["basis"]}
    return records | {name: {**one, "repetition": number, **basis} for name, one in absent.items()}


def expected_bytes(own: ReplayJob, natives: int) -> int:
    """Return how much memory the replay and so many native processes may need together.

    The replay may have weights of its own for each program: their layouts can differ.
    """
    weights = 4 * workloads.load(own.workload).parameter_count(own.sizes)
    copies = COPIES + len(own.programs) - 1 + natives * COPIES
    return copies * weights + (1 + natives) * OWN_BYTES


def main() -> None:
    arguments = documents.parse_arguments(__doc__, "job", "pins", "peak", "output")
    job, output = ReplayCellJob(**documents.read(arguments.job)), arguments.output
    output.mkdir(parents=True, exist_ok=True)
    records, rounds = measure(job, arguments.pins, output)
    peak = nodes.peak_of(nodes.peaks(arguments.peak.parent), records[0][REPLAY]["machine"])
    write(job, records, rounds, peak, output)


def write(
    job: ReplayCellJob, records: list[dict[str, dict]], rounds: Rounds | None, peak: dict | None, output: Path
) -> None:
    """Write the result of these rounds, and delete them."""
    cells = {name: Path(folder) for name, folder in job.cells.items()}
    check, seed = documents.read(job.replay["check"]), rounds and rounds.seed
    result = replay_result.combine(records, cells, check, peak, seed)
    documents.write(output / "profile.json", replay_result.profiles(records, result))
    documents.write(output / "replay.json", result)
    if rounds:
        rounds.remove()


if __name__ == "__main__":
    main()
