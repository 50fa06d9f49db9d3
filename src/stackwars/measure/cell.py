"""The result of a cell: its processes put together."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import shutil
from pathlib import Path

import jsonschema
import yaml

from stackwars.ir.program_text import no_program_line, readback
from stackwars.measure import FORMS, documents, judge
from stackwars.measure.documents import event as _event
from stackwars.measure.rounds import STOPPED
from stackwars.setup.environments import REPOSITORY

SCHEMA = REPOSITORY / "workflow" / "schemas" / "cell.schema.yaml"
VERSION = 3
ROUNDS = "rounds"
"""Why a cell's rounds ended where neither `rounds.DECIDED` nor `rounds.BUDGET` did it: there were no more."""


def combine(folders: list[Path]) -> dict:
    """The cell's result from the folders of its processes, in the order of repetitions.

    The cell is ok only if every process is; else it has the status of the first that is not, or is wrong. A
    process that was not needed any more is left out.
    """
    every = [documents.read(folder / "process.json") for folder in folders]
    processes = [process for process in every if process["status"] != STOPPED]
    stopped = next((p["status_detail"] for p in every if p["status"] == STOPPED), ROUNDS)
    first = processes[0]
    bad = next((process for process in processes if process["status"] != "ok"), None)
    values = None if bad else judge.worst([process.get("values") for process in processes])
    wrong = judge.problem(values)
    keys = ("framework", "dialect", "workload", "device", "preset", "sizes", "settings")
    cell = {
        "schema_version": VERSION,
        **{key: first[key] for key in keys},
        "status": bad["status"] if bad else "wrong" if wrong else "ok",
        "status_detail": bad["status_detail"] if bad else wrong,
        "values": values,
        "stopped": "" if bad else stopped,
        "machine": first["machine"],
        "versions": _event(first, "build").get("versions", {}),
        "device_kind": _event(first, "build").get("device_kind"),
        "peak_rss_bytes": max(process["peak_rss_bytes"] for process in processes),
        "memory_cap_bytes": first["memory_cap_bytes"],
        "wall_s": sum(process["wall_s"] for process in processes),
        "ir": None if bad else _ir(folders),
        "output_sha256": None if bad else _digest((folders[0] / "output.npy").read_bytes()),
        "processes": processes,
    }
    jsonschema.validate(cell, yaml.safe_load(SCHEMA.read_text()))
    return cell


def _ir(folders: list[Path]) -> dict:
    files = [folder / "stablehlo.mlir.gz" for folder in folders]
    texts = [gzip.decompress(file.read_bytes()) for file in files if file.exists()]
    return {
        "sha256": _digest(texts[0]),
        "same_in_every_process": len(set(texts)) == 1,
        **readback(texts[0].decode()),
    }


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main() -> None:
    """`python -m stackwars.measure.cell PROCESS ... --output FOLDER`: write the cell's files."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("processes", nargs="+", type=Path)
    parser.add_argument("--output", required=True, type=Path)
    arguments = parser.parse_args()
    cell = combine(arguments.processes)
    arguments.output.mkdir(parents=True, exist_ok=True)
    program = arguments.output / "stablehlo.mlir.gz"
    sample = arguments.output / "output.npy"
    forms = arguments.output / FORMS
    # Empty where there are none: a rule has the same outputs for every cell.
    forms.mkdir(exist_ok=True)
    if cell["status"] in ("ok", "wrong"):
        shutil.copy(arguments.processes[0] / program.name, program)
        shutil.copy(arguments.processes[0] / sample.name, sample)
        for form in arguments.processes[0].glob(f"{FORMS}/*"):
            shutil.copy(form, forms)
    else:
        reason = no_program_line(f"{cell['status']}: {cell['status_detail']}")
        with gzip.GzipFile(program, "wb", mtime=0) as file:
            file.write(reason.encode())
        sample.write_bytes(b"")
    (arguments.output / "cell.json").write_text(json.dumps(cell, indent=1))


if __name__ == "__main__":
    main()
