"""Measure the rounds of a pair: `python -m stackwars.audits.paired`.

Each is a round of the study: two fresh processes of which one at a time works, whose loops alternate; a second
undisturbed series of each follows them. A finished round stays in the audit's folder, and an audit that was killed
resumes after it. A change of the sources, the pins or the job measures every round again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import secrets
import shutil
import statistics
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stackwars import workloads
from stackwars.audits.estimator import agreement
from stackwars.measure import calls, conduct, documents, limits, loops, machine
from stackwars.measure.conduct import INTERLEAVED, Participant
from stackwars.measure.supervisor import CELL, ProcessJob, exclusive
from stackwars.setup.environments import ensure
from stackwars.study.imports import imported_files

SIDES = ("subject", "baseline")


def measure(job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return what the report reads: the job's labels, the ratio of each round, and each process's agreement.

    job: name, kind, workload, device, preset, percent, trials, rounds (of a trial), settings (of a ProcessJob), and
    sides: framework, dialect, sizes and pins of the subject and the baseline. Raises RuntimeError if a process fails
    or the loops of a round did not alternate.
    """
    seed, identity = _seed(folder), _identity(job)
    total = job["trials"] * job["rounds"]
    rounds = [_round(job, number, folder / str(number), f"{seed} {number}", identity) for number in range(total)]
    labels = {key: job[key] for key in ("name", "kind", "workload", "device", "percent", "trials", "rounds")}
    return {
        **labels,
        **{side: one["framework"] for side, one in zip(SIDES, job["sides"], strict=True)},
        "ratios": [one["ratio"] for one in rounds],
        "agreements": [each for one in rounds for each in one["agreements"]],
        "wall_s": sum(one["wall_s"] for one in rounds),
        "machine": machine.record(),
        "revisions": sorted({one["revision"] for one in rounds}),
    }


def _round(job: dict, number: int, folder: Path, seed: str, identity: str) -> dict[str, Any]:
    """Return the finished round of this folder, or measure it."""
    finished = folder / "round.json"
    if finished.exists():
        result = documents.read(finished)
        if result["identity"] == identity:
            return result
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    participants = [
        Participant(name, _process(job, side, number), ensure(Path(side["pins"])), folder / name,
                    steps=conduct.STEPS, after=(calls.STEADY,))
        for name, side in zip(SIDES, job["sides"], strict=True)
    ]  # fmt: skip
    with exclusive(job["settings"]):
        records = conduct.run_round(participants, job["settings"], random.Random(seed), _expected_bytes(job))
    result = {"identity": identity, **summary([records[name] for name in SIDES])}
    for name in SIDES:
        shutil.rmtree(folder / name, ignore_errors=True)
    finished.write_text(json.dumps(result))
    print(f"[audit] {job['name']} {number}: {result['ratio']:.3f}", file=sys.stderr, flush=True)
    return result


def summary(records: list[dict]) -> dict[str, Any]:
    """Return what of the records of a round's two processes is kept.

    Raises RuntimeError if one failed or their loops did not alternate.
    """
    for record in records:
        if record["status"] != "ok":
            raise RuntimeError(
                f"expected the {record['workload']} of {record['framework']} on {record['device']} to run, got "
                f"{record['status']}: {record['status_detail']}; fix: that cell"
            )
    if any(record["basis"] != INTERLEAVED for record in records):
        raise RuntimeError(
            f"expected two processes of {records[0]['workload']} at once, got one after the other; fix: free memory"
        )
    pairs = loops.pairs(*map(loops.loops_of, records))
    return {
        "ratio": loops.round_ratio(pairs),
        "pairs": pairs,
        "agreements": [list(agreement(record)) for record in records],
        "wall_s": max(record["wall_s"] for record in records),
        "revision": _revision(records[0]["source"]),
    }


def _revision(source: dict) -> str:
    return source["git_revision"] + (" with changes" if source["git_dirty"] else "")


def _process(job: dict, side: dict, number: int) -> ProcessJob:
    return ProcessJob(
        side["framework"], side["dialect"], job["workload"], job["device"], job["preset"], number, side["sizes"],
        job["settings"], writes_files=False,
    )  # fmt: skip


def _expected_bytes(job: dict) -> int:
    """Return what both processes may need together: weights three times, and a GiB each."""
    weights = [
        4 * sum(map(_elements, workloads.load(job["workload"]).parameters(side["sizes"]).values()))
        for side in job["sides"]
    ]
    return sum(3 * one + limits.GIB for one in weights)


def _elements(shape: tuple[int, ...]) -> int:
    result = 1
    for size in shape:
        result *= size
    return result


def _seed(folder: Path) -> str:
    """Return the seed of the audit's orders, drawn once from the system."""
    path = folder / "seed"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(secrets.token_hex(8))
    return path.read_text()


def _identity(job: dict) -> str:
    """Return a digest of everything that a round depends on; the number of trials is none of it."""
    modules = ["stackwars.measure.conduct", CELL, __spec__.name if __name__ == "__main__" else __name__]
    modules += [f"stackwars.frameworks.{side['framework']}" for side in job["sides"]]
    for side in job["sides"]:
        modules += workloads.sources(job["workload"], side["dialect"])
    described = {key: value for key, value in job.items() if key not in ("trials", "rounds")}
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    pins = [Path(side["pins"]) for side in job["sides"]]
    for file in [*pins, *sorted(imported_files(modules))]:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", required=True, type=documents.read)
    for name in ("folder", "output"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    a = parser.parse_args()
    result = measure(a.job, a.folder)
    a.output.parent.mkdir(parents=True, exist_ok=True)
    a.output.write_text(json.dumps(result, indent=1))
    shutil.rmtree(a.folder)


if __name__ == "__main__":
    main()
