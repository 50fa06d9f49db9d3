"""Take a compilation for a target from the reference if the same compiler made it of the same program.

A compiler that has neither the device nor anything to time gives the same bytes and verdicts on every machine, so
compiling again costs a quarter of an hour and tells nothing new. That they are the same is checked and not assumed:
two of a run's compilations, drawn at random, are made again and compared with the reference.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackwars.core import documents

TAKEN = "reference"
"""The origin of a document that was taken over; one that this run compiled has none."""
CHECKS = 2
_SEED = "seed"
_BUFFERS = ("status", "verdict", "argument_bytes", "output_bytes", "temp_bytes", "alias_bytes", "hbm_bytes")
"""What every compilation decides, whether or not it is stopped before its code is generated."""
_CODE = ("decided_by", "code_bytes", "hlo")
_SEARCH = ("fits_batch", "oom_batch")


def key(version: str, job: dict, program_sha256: str, *pins: Path) -> str:
    """Return the digest of all that decides a result.

    version: of the kind of job. job: a CompileJob or LargestBatchJob as a dictionary; its time limit cannot matter to
    a result that was not cut off, and of the target only what the compiler is told. pins: files of the environments.
    """
    row = job["target_row"]
    description = row.get("description")
    decisive = {
        "version": version,
        "job": {name: value for name, value in job.items() if name not in ("target_row", "timeout_s")},
        "platform": row["platform"],
        "topology": row["topology"],
        "usable_bytes": usable_bytes(row, job["compiler"]),
        "description": description and _digest(Path(__file__).with_name(description)),
        "program": program_sha256,
        "pins": [_digest(path) for path in pins],
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


def usable_bytes(row: dict, compiler: str) -> int | None:
    """Return the bytes of a target's main memory that a program may use, as this compiler has it; None if unknown.

    row: of the configuration; its `usable_hbm_bytes` maps compilers to bytes, for what a compiler keeps
    for itself differs by generation.
    """
    return row.get("usable_hbm_bytes", {}).get(compiler)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True)
class Source:
    """Where a run takes compilations from, as its jobs read it from a file.

    root, reference: folders of the run's results and of the reference's. names: what the run compiles, as paths
    relative to both. versions: of the kinds of job. recompile: whether nothing is taken over.
    """

    root: str
    reference: str
    names: list[str]
    versions: dict[str, str]
    recompile: bool = False

    def result(self, output: Path, wanted: str, make: Callable[[], dict]) -> dict:
        """Return a file's document with this key: the reference's, or what `make` returns, compared with it."""
        earlier = self.find(output, wanted)
        if earlier and self.is_taken(output):
            return taken(earlier)
        made = make() | {"key": wanted}
        return compared(made, earlier) if earlier else made

    def find(self, output: Path, wanted: str) -> dict | None:
        """Return the reference's document of a file of the run if it has this key and no accident decided it."""
        path = Path(self.reference, output.relative_to(self.root))
        result = documents.read(path) if path.exists() else {}
        return result if result.get("key") == wanted and _is_deterministic(result) else None

    def is_taken(self, output: Path) -> bool:
        """Return whether the file is taken over: if nothing else is asked for, all but two of a run are."""
        return not self.recompile and str(output.relative_to(self.root)) not in self._drawn()

    def _drawn(self) -> list[str]:
        """Return what is compiled again as a check: the lowest digests with the run's seed.

        The two stay the same when a run grows, or are files that it did not have.
        """
        seed = run_seed(Path(self.root, "ahead"))
        known = [name for name in self.names if Path(self.reference, name).exists()]
        return sorted(known, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())[:CHECKS]


def run_seed(folder: Path) -> str:
    """Return the seed of a run's folder; the first job that asks draws it from the system."""
    folder.mkdir(parents=True, exist_ok=True)
    path, part = folder / _SEED, folder / f"{_SEED}.{os.getpid()}.part"
    if not path.exists():
        part.write_text(secrets.token_hex(8))
        try:
            path.hardlink_to(part)  # of two jobs that draw at the same time one wins
        except FileExistsError:
            pass
        finally:
            part.unlink()
    return path.read_text()


def _is_deterministic(document: dict) -> bool:
    """Return whether no limit, no signal and no missing package decided the document."""
    rows = document.get("probes", [document])
    return all(
        row["status"] == "ok" or (row["status"] == "error" and row.get("compile_s") is not None) for row in rows
    )


def taken(document: dict) -> dict:
    """Return the document of the reference as this run has it."""
    return {name: value for name, value in document.items() if name != "check"} | {"origin": TAKEN}


def compared(document: dict, earlier: dict) -> dict:
    """Return the document of a compilation that was made again, with what differs from the reference's."""
    differences = {
        name: [earlier.get(name), document.get(name)]
        for name in _decided(document)
        if earlier.get(name) != document.get(name)
    }
    return document | {"check": {"run": earlier.get("run", ""), "differences": differences}}


def _decided(document: dict) -> tuple[str, ...]:
    """Return the fields of a document that may not differ.

    A compilation that stops at its buffers may be faster than the stop; then it has code too.
    """
    if "probes" in document:
        return _SEARCH
    return _BUFFERS if document["assumed_code_bytes"] is not None else _BUFFERS + _CODE


def provenance(document: dict) -> dict[str, str]:
    """Return columns of programs.csv: the run that a document is taken from, and the outcome of its check."""
    check = document.get("check")
    outcome = {True: "differs", False: "agrees"}[bool(check["differences"])] if check else ""
    return {"taken_from": document["run"] if document.get("origin") == TAKEN else "", "checked": outcome}


def refuse_differing(found: dict[Path, dict]) -> None:
    """Check the documents of a run: with one that the reference contradicts, none may be taken from it.

    :raises ValueError: naming the file and what differs.
    """
    number = sum(document.get("origin") == TAKEN for document in found.values())
    for path, document in found.items():
        if number and (differences := document.get("check", {}).get("differences")):
            name, (earlier, here) = next(iter(differences.items()))
            raise ValueError(
                f"{path}: expected what the reference has of the same program and compiler, {name} {_short(earlier)}, "
                f"got {_short(here)}, so that {number} results which were taken from the reference are in doubt; "
                "fix: compile all here: .venv/bin/snakemake --cores all --config recompile=true"
            )


def _short(value: Any) -> str:
    return json.dumps(value)[:100]


def remove_taken(root: Path) -> int:
    """Delete what a run took over, so that it is compiled; return how many files."""
    paths = [
        path
        for name in ("ahead.json", "largest_batch.json")
        for path in Path(root, "ahead").rglob(name)
        if documents.read(path).get("origin") == TAKEN
    ]
    for path in paths:
        path.unlink()
    return len(paths)
