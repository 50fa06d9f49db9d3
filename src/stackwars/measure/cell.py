"""A cell measures itself: rounds of a fresh process of the subject and one of its baseline, the partner.

Measurements of the two in one round are compared: their calls 1 and 2, their undisturbed series, their loops. The
rounds of the first comparison's subject also write results into the folder `beside` that would otherwise start the
same processes again: the baseline's cell, which consists of the partners, and the rounds of a replay of both programs
in the native compiler, whose controls the two processes are. Any other baseline measures itself, without a partner.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from stackwars.core import documents, judge, limits, program_text
from stackwars.core.documents import event as _event
from stackwars.core.launch import REPOSITORY
from stackwars.core.outcome import Status
from stackwars.measure import FORMS, nodes, progress, workloads
from stackwars.measure.calls import THROUGHPUT
from stackwars.measure.conduct import IN_TURN, STEPS, SUBJECT_STEPS, Participant, run_round
from stackwars.measure.rounds import Rounds
from stackwars.measure.supervisor import Environment, ProcessJob, exclusive, not_measured, python_of

VERSION = 4
SUBJECT, PARTNER, REPLAY = "subject", "partner", "replay"
"""The participants of a round, and their folders in it."""
REPLAYING = "stackwars.measure.stablehlo.replay"
"""The module of the process that replays; it has the class of its jobs as JOB."""
BASELINE, REPLAYED = "baseline", "rounds.json"
"""Files in the folder `beside`: the baseline's cell, and the rounds of the replay."""
COUNTED = {"round_s": 0.0}
"""Round times of joint results are recorded in their cell; they have none of their own."""
PARTNER_STEPS = (*STEPS, THROUGHPUT)
COPIES, OWN_BYTES = 3, 2**30
"""Memory that a process may need: this many copies of its weights, and these bytes."""
LASTING = (Status.OOM, Status.TIMEOUT, Status.UNSUPPORTED)
"""Statuses of a partner that would recur: later rounds do not start it."""
NOT_OF_PARTNER = (
    "dialect", "workload", "device", "preset", "repetition", "sizes", "settings", "partner", "forms", "machine",
    "source", "values", "memory", "log_tail", "memory_cap_bytes", "repeated", "started_utc",
)  # fmt: skip
"""Keys left out of a partner's record, because they equal those of its subject."""


@dataclass(frozen=True)
class Other:
    """A participant of the rounds other than the subject. lost: its record if it is not started, or not any more."""

    job: Any
    python: Path
    lost: dict | None


@dataclass(frozen=True)
class Together:
    """Jobs that are measured in the same rounds. replay: a ReplayJob of REPLAYING, or None."""

    cell: ProcessJob
    replay: Any


def measure(
    job: ProcessJob, count: int, pins: Path, partner_pins: Path | None, output: Path, beside: Path | None = None,
    replay: Any = None, replay_pins: Path | None = None,
) -> dict:  # fmt: skip
    """Measure a cell, write its files into the folder `output` and return the content of cell.json.

    job: its first process. count: of the rounds; finished rounds are not measured again. The first round whose process
    is not ok is the last. partner_pins: pins of the environment of the job's partner. replay: a ReplayJob of REPLAYING
    that takes part in the rounds; replay_pins: the pins of its compiler. beside: the folder for the baseline's cell and
    the rounds of the replay, each of which is written if it was measured completely.
    """
    progress.announce(job)
    too_large = _too_large(job)
    env = Environment(Path(), not_measured(job, "oom", too_large)) if too_large else python_of(job, pins)
    if env.refused:
        progress.report(env.refused)
        return write(output, [env.refused], [], None)
    partner = partner_of(job)
    others = {PARTNER: Other(partner, *python_of(partner, partner_pins))} if partner else {}
    if replay and not (compiler := python_of(replay, replay_pins)).refused:
        others[REPLAY] = Other(replay, *compiler)
    expected = Path(job.expected) / judge.DOCUMENT if job.expected else None
    files = filter(None, [pins, partner_pins, replay_pins, expected])
    rounds = Rounds(output, Together(job, replay), [*files, *(replay_files(replay) if replay else [])])
    records: list[dict[str, dict]] = []
    with exclusive(job.settings):
        nodes.ensure_peak(job.device, output)
        for number in rounds.numbers(count):
            one = partial(_round, replace(job, repetition=number), env.python, others)
            records.append(rounds.run(number, one))
            progress.report(_process(records[-1]))
            if records[-1][SUBJECT]["status"] != "ok":
                break
            for name, other in others.items():
                if (record := records[-1][name])["status"] in LASTING:
                    others[name] = replace(other, lost=record)
    alone = [one for one in records if one.get(PARTNER, {"status": "ok"})["status"] != "ok"]
    if alone and alone[0] is not records[-1]:
        progress.report(_process(alone[0]))  # the terminal shows a job's last line
    folders = [rounds.place(number) for number in range(len(records))]
    processes = [_process(one) for one in records]
    cell = write(output, processes, [folder / SUBJECT for folder in folders], rounds.seed)
    if beside and cell["status"] in ("ok", "wrong"):
        _write_joint_results(beside, records, [folder / PARTNER for folder in folders], partner, rounds.seed)
    return cell


def replay_files(replay: Any) -> Iterator[Path]:
    """Yield the files that decide a round of a replay, without the pins of its compiler."""
    yield from (Path(path) for paths in replay.programs.values() for path in paths.values())
    if replay.check:
        yield Path(replay.check)
    if replay.expected:
        yield Path(replay.expected) / judge.DOCUMENT


def partner_of(job: ProcessJob) -> ProcessJob | None:
    """Return the job of the process that a round of this one compares it with."""
    return job.partner and replace(job, **{"forms": False, "writes_files": False} | job.partner, partner=None)


def expected_bytes(job: Any) -> int:
    """Return the memory that a process of the job may need.

    A replay may have weights of its own for each program: their layouts can differ.
    """
    programs = getattr(job, "programs", {SUBJECT: job})
    return (COPIES + len(programs) - 1) * _weights_bytes(job) + OWN_BYTES


def _weights_bytes(job: Any) -> int:
    return 4 * workloads.load(job.workload).parameter_count(job.sizes)


def _too_large(job: ProcessJob) -> str:
    """Return why a process of the job cannot fit; empty if it may."""
    weights, cap = _weights_bytes(job), limits.cap_bytes(job.settings["memory_cap_gib"])
    if weights <= cap:
        return ""
    return f"weights of {weights / 1e9:.1f} GB exceed the cap of {cap / 1e9:.1f} GB"


def _round(
    job: ProcessJob, python: Path, others: dict[str, Other], folder: Path, rng: random.Random
) -> dict[str, dict]:
    """Run a round; return the record of each participant."""
    participants = [Participant(SUBJECT, job, python, folder / SUBJECT, steps=SUBJECT_STEPS)]
    for name, other in others.items():
        if not other.lost:
            its_job = replace(other.job, repetition=job.repetition)
            participants.append(_participant(name, its_job, other.python, folder / name))
    begun = time.monotonic()
    records = _run(participants, job.settings, rng)
    records[SUBJECT]["round_s"] = round(time.monotonic() - begun, 3)
    for one in participants:
        shutil.rmtree(one.folder / "cache", ignore_errors=True)
    return records | {name: other.lost for name, other in others.items() if other.lost}


def _participant(name: str, job: Any, python: Path, folder: Path) -> Participant:
    if name == REPLAY:
        return Participant(name, job, python, folder, REPLAYING, tuple(job.programs))
    return Participant(name, job, python, folder, steps=SUBJECT_STEPS if job.writes_files else PARTNER_STEPS)


def _run(participants: Sequence[Participant], settings: dict, rng: random.Random) -> dict[str, dict]:
    """Run the processes of a round at once; the replay after the others if memory is too short for all."""
    needed = {one.name: expected_bytes(one.job) for one in participants}
    if REPLAY not in needed or sum(needed.values()) <= limits.available_memory_bytes():
        return run_round(participants, settings, rng, sum(needed.values()))
    *pair, replay = participants
    records = run_round(pair, settings, rng, sum(needed.values()) - needed[REPLAY])
    if records[SUBJECT]["status"] != "ok":
        return records
    return records | {REPLAY: run_round([replay], settings, rng, needed[REPLAY])[REPLAY] | {"basis": IN_TURN}}


def _process(records: dict[str, dict]) -> dict:
    """Return the record of a round's subject, with its partner's record."""
    partner = records.get(PARTNER)
    fields = partner and {key: value for key, value in partner.items() if key not in NOT_OF_PARTNER}
    return {**records[SUBJECT], "partner": fields}


def _write_joint_results(
    joint: Path, records: list[dict[str, dict]], folders: list[Path], partner: ProcessJob | None, seed: int
) -> None:
    """Write the baseline's cell if all its processes are ok, and the rounds of the replay up to one that is not."""
    if partner and partner.writes_files and all(one[PARTNER]["status"] == "ok" for one in records):
        write(joint / BASELINE, [one[PARTNER] | {"partner": None} | COUNTED for one in records], folders, seed)
    if REPLAY not in records[0]:
        return
    bad = next((number for number, one in enumerate(records, 1) if one[REPLAY]["status"] != "ok"), len(records))
    rounds = [
        {
            REPLAY: one[REPLAY] | COUNTED,
            **{one[name]["framework"]: one[name] for name in (SUBJECT, PARTNER) if name in one},
        }
        for one in records[:bad]
    ]
    documents.write(joint / REPLAYED, {"seed": seed, "rounds": rounds})


def combine(records: list[dict], folders: list[Path], run_seed: int | None) -> dict:
    """Return the cell's result from the records of its rounds and the folders of their processes.

    The cell is ok only if every process is; else it has the status of the first that is not, or is wrong.
    """
    first = records[0]
    bad = next((process for process in records if process["status"] != "ok"), None)
    values = None if bad else judge.worst([process.get("values") for process in records])
    wrong = judge.problem(values)
    keys = ("framework", "dialect", "workload", "device", "preset", "sizes", "settings")
    cell = {
        "schema_version": VERSION,
        **{key: first[key] for key in keys},
        "status": bad["status"] if bad else "wrong" if wrong else "ok",
        "status_detail": bad["status_detail"] if bad else wrong,
        "values": values,
        "run_seed": run_seed,
        "machine": first["machine"],
        "versions": _event(first, "build").get("versions", {}),
        "device_kind": _event(first, "build").get("device_kind"),
        "peak_rss_bytes": max(process["peak_rss_bytes"] for process in records),
        "memory_cap_bytes": first["memory_cap_bytes"],
        "wall_s": sum(process.get("round_s", process["wall_s"]) for process in records),
        "ir": None if bad else _ir(folders),
        "output_sha256": None if bad else _digest((folders[0] / "output.npy").read_bytes()),
        "processes": records,
    }
    validate(cell, "cell")
    return cell


def _ir(folders: list[Path]) -> dict:
    files = [folder / "stablehlo.mlir.gz" for folder in folders]
    texts = [program_text.read(file) for file in files if file.exists()]
    return {
        "sha256": _digest(texts[0].encode()),
        "same_in_every_process": len(set(texts)) == 1,
        **program_text.readback(texts[0]),
    }


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def validate(document: dict, name: str) -> None:
    """Check a document by the schema of this name, in which `#/$defs/status` is every outcome.

    :raises ValueError: with the key that does not fit, in one line.
    """
    path = f"workflow/schemas/{name}.schema.yaml"
    schema = yaml.safe_load((REPOSITORY / path).read_text())
    schema.setdefault("$defs", {})["status"] = {"enum": list(Status)}
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(document))
    if error is not None:
        # The message of a wrong type ends with the complete value.
        raise ValueError(f"{name}: {error.json_path.removeprefix('$.')}: {error.message[:300]}; fix: {path}")


def write(output: Path, records: list[dict], folders: list[Path], run_seed: int | None) -> dict:
    """Write the cell's files, the same ones for every cell, and return the content of cell.json."""
    cell = combine(records, folders, run_seed)
    forms, program, sample = output / FORMS, output / "stablehlo.mlir.gz", output / "output.npy"
    shutil.rmtree(forms, ignore_errors=True)
    forms.mkdir(parents=True)
    if cell["status"] in ("ok", "wrong"):
        shutil.copy(folders[0] / program.name, program)
        shutil.copy(folders[0] / sample.name, sample)
        for form in folders[0].glob(f"{FORMS}/*"):
            shutil.copy(form, forms)
    else:
        reason = program_text.no_program_line(f"{cell['status']}: {cell['status_detail']}")
        program_text.write(program, reason)
        sample.write_bytes(b"")
    documents.write(output / "cell.json", cell)
    return cell


def main() -> None:
    """`python -m stackwars.measure.cell`: measure so many rounds of a cell into a folder.

    --taken: the folder `beside` of the cell whose rounds measured this baseline's cell, if they did.
    """
    path = {"type": Path}
    a = documents.parse_arguments(
        main.__doc__, "job", "pins", "output", rounds={"type": int, "required": True},
        partner_pins=path, beside=path, replay=path, replay_pins=path, taken=path,
    )  # fmt: skip
    if a.beside:
        a.beside.mkdir(parents=True, exist_ok=True)
    if a.taken and (ready := a.taken / BASELINE).exists():
        shutil.copytree(ready, a.output, dirs_exist_ok=True)
        shutil.rmtree(ready)  # a cell that is requested again is measured again
        progress.report(documents.read(a.output / "cell.json")["processes"][-1])
        return
    replay = a.replay and documents.read_job(import_module(REPLAYING).JOB, a.replay)
    job = documents.read_job(ProcessJob, a.job)
    measure(job, a.rounds, a.pins, a.partner_pins, a.output, a.beside, replay, a.replay_pins)


if __name__ == "__main__":
    main()
