"""A cell measures itself: rounds of a fresh process of the subject and one of its baseline, the partner.

What is measured of the two in one round is compared: their calls 1 and 2, their undisturbed series, their loops. The
baseline's own cell has no partner, and the same steps.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import jsonschema
import yaml

from stackwars import workloads
from stackwars.ir import program_text
from stackwars.measure import FORMS, documents, judge, limits, nodes, progress
from stackwars.measure.calls import THROUGHPUT
from stackwars.measure.conduct import STEPS, SUBJECT_STEPS, Participant, run_round
from stackwars.measure.documents import event as _event
from stackwars.measure.rounds import Rounds
from stackwars.measure.supervisor import Environment, ProcessJob, exclusive, not_measured, python_of
from stackwars.setup.environments import REPOSITORY

SCHEMA = REPOSITORY / "workflow" / "schemas" / "cell.schema.yaml"
VERSION = 4
SUBJECT, PARTNER = "subject", "partner"
"""The participants of a round, and their folders in it."""
PARTNER_STEPS = (*STEPS, THROUGHPUT)
COPIES, OWN_BYTES = 3, 2**30
"""A process may need so many times its weights, and so much besides."""
LASTING = ("oom", "timeout", "unsupported")
"""How a partner ends that later rounds do not start again, because it would end so again."""
NOT_OF_PARTNER = (
    "dialect", "workload", "device", "preset", "repetition", "sizes", "settings", "partner", "forms", "machine",
    "source", "values", "memory", "log_tail", "memory_cap_bytes", "repeated", "started_utc",
)  # fmt: skip
"""Keys of a process that are left out of a partner's: they are as of the process that it is the partner of."""


def measure(job: ProcessJob, pins: Path, partner_pins: Path | None, output: Path) -> dict:
    """Measure a cell, write its files into the folder `output` and return the content of cell.json.

    job: that of its first process; its settings have the number of `rounds`. The first round whose process is not ok
    is the last. partner_pins: of the environment of the job's partner.
    """
    progress.announce(job)
    too_large = _too_large(job)
    own = Environment(Path(), not_measured(job, "oom", too_large)) if too_large else python_of(job, pins)
    if own.refused:
        progress.report(own.refused)
        return write(output, [own.refused], [], None)
    partner = partner_of(job)
    other = python_of(partner, partner_pins) if partner else None
    files = [pins, partner_pins, Path(job.expected) / judge.DOCUMENT if job.expected else None]
    rounds = Rounds(output, job, filter(None, files))
    records: list[dict] = []
    with exclusive(job.settings):
        nodes.ensure_peak(job.device, output)
        while len(records) < job.settings["rounds"]:
            one = partial(_round, replace(job, repetition=len(records)), own, other)
            records.append(rounds.run(len(records), one))
            progress.report(records[-1])
            if records[-1]["status"] != "ok":
                break
            if partner and records[-1]["partner"]["status"] in LASTING:
                other = Environment(Path(), records[-1]["partner"])
    alone = [record for record in records if (record["partner"] or {"status": "ok"})["status"] != "ok"]
    if alone and alone[0] is not records[-1]:
        progress.report(alone[0])  # the terminal shows a job's last line
    folders = [rounds.place(record["repetition"]) / SUBJECT for record in records]
    cell = write(output, records, folders, rounds.seed)
    rounds.remove()
    return cell


def partner_of(job: ProcessJob) -> ProcessJob | None:
    """Return the job of the process that a round of this one compares it with."""
    return job.partner and replace(job, **job.partner, partner=None, forms=False, writes_files=False)


def expected_bytes(job: ProcessJob) -> int:
    """Return the memory that a process of the job may need."""
    return COPIES * _weights_bytes(job) + OWN_BYTES


def _weights_bytes(job: ProcessJob) -> int:
    return 4 * workloads.load(job.workload).parameter_count(job.sizes)


def _too_large(job: ProcessJob) -> str:
    """Return why a process of the job cannot fit; empty if it may."""
    weights, cap = _weights_bytes(job), limits.cap_bytes(job.settings["memory_cap_gib"])
    if weights <= cap:
        return ""
    return f"weights of {weights / 1e9:.1f} GB exceed the cap of {cap / 1e9:.1f} GB"


def _round(
    job: ProcessJob, own: Environment, other: Environment | None, folder: Path, rng: random.Random
) -> dict:
    """Run a round; return the record of its process, with that of its partner."""
    participants = [Participant(SUBJECT, job, own.python, folder / SUBJECT, steps=SUBJECT_STEPS)]
    if other and not other.refused:
        partner = partner_of(job)
        participants.append(Participant(PARTNER, partner, other.python, folder / PARTNER, steps=PARTNER_STEPS))
    begun = time.monotonic()
    records = run_round(participants, job.settings, rng, len(participants) * expected_bytes(job))
    shutil.rmtree(folder / SUBJECT / "cache", ignore_errors=True)
    shutil.rmtree(folder / PARTNER, ignore_errors=True)
    partner = records.get(PARTNER, other and other.refused)
    return {
        **records[SUBJECT],
        "round_s": round(time.monotonic() - begun, 3),
        "partner": partner and {key: value for key, value in partner.items() if key not in NOT_OF_PARTNER},
    }


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
    jsonschema.validate(cell, yaml.safe_load(SCHEMA.read_text()))
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
    """`python -m stackwars.measure.cell`: measure a cell into a folder."""
    a = documents.parse_arguments(main.__doc__, "job", "pins", "output", partner_pins={"type": Path})
    measure(ProcessJob(**documents.read(a.job)), a.pins, a.partner_pins, a.output)


if __name__ == "__main__":
    main()
