"""Processes that only an audit runs: supervised like a cell's, alone on the machine, kept at once.

An audit that was killed goes on with the processes that ended well; a change of the sources, the pins or the
job runs a process again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path

from stackwars import workloads
from stackwars.audits.alone import alone
from stackwars.compilers.replay_job import ReplayJob
from stackwars.measure import documents, interleaved
from stackwars.measure.supervisor import ProcessJob, supervise
from stackwars.setup.environments import ensure
from stackwars.study.imports import imported_files


def run(job: ProcessJob, pins: Path, folder: Path, child_module: str) -> dict:
    """The result of the job's process, as of `supervise`; `folder` holds what it wrote, and process.json."""
    kept, identity = folder / "process.json", _identity(job, pins, child_module)
    if kept.exists():
        result = documents.read(kept)
        if (result["identity"], result["status"]) == (identity, "ok"):
            return result
    python = ensure(pins)
    part = folder.with_name(folder.name + ".part")
    with alone():
        if job.partner:
            supervise_child = partial(supervise, child_module=child_module)
            result = interleaved.run_with_partner(supervise_child, job, python, python, part, str(folder))
        else:
            result = supervise(job, python, part, child_module)
    for scratch in ("cache", "partner"):
        shutil.rmtree(part / scratch, ignore_errors=True)
    (part / "process.json").write_text(json.dumps({**result, "identity": identity}))
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    print(f"[audit] {folder.parent.name} {folder.name}: {result['status']} {result['status_detail']}"
          f" [{result['wall_s']:.1f} s]", file=sys.stderr, flush=True)  # fmt: skip
    return result


def require_ok(result: dict) -> dict:
    """The result, if its process is ok; raises RuntimeError that says how it ended."""
    if result["status"] != "ok":
        raise RuntimeError(
            f"expected the {result['workload']} of {result['framework']} on {result['device']} to "
            f"run; it ended as {result['status']}: {result['status_detail']}. Mend that cell first."
        )
    return result


def _identity(job: ProcessJob, pins: Path, child_module: str) -> str:
    modules = [
        child_module,
        f"stackwars.frameworks.{job.framework}",
        "stackwars.measure.supervisor",
    ]
    for package in ("stackwars.workloads", "stackwars.audits.workloads"):
        try:
            workload = import_module(f"{package}.{job.workload}").WORKLOAD
        except ModuleNotFoundError:
            continue
        modules += workloads.sources(workload, job.dialect)
    programs = []
    if isinstance(job, ReplayJob):
        modules.append(f"stackwars.compilers.{job.module}")
        programs = [Path(paths["program"]) for paths in job.programs.values()]
    digest = hashlib.sha256(json.dumps([asdict(job), child_module], sort_keys=True).encode())
    for file in [pins, *programs, *sorted(imported_files(modules))]:
        digest.update(file.read_bytes())
    return digest.hexdigest()
