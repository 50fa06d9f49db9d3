"""Accepts the full run of this machine: its tables join results/reference/runs, and the reference is made anew.

What was measured (cells, replays, programs, compilations) is kept of the newest run that has all of it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from stackwars.audits import audit_entries
from stackwars.claims import pages, stability
from stackwars.measure import FORMS, PROTOCOL, documents
from stackwars.results import folder, runs
from stackwars.results.context import NEVER
from stackwars.results.folder import REFERENCE
from stackwars.setup.environments import REPOSITORY
from stackwars.study import printed
from stackwars.study.config import load
from stackwars.workflow import damage

FULL = REPOSITORY / "results" / "full"
KEPT = (
    printed.OPTIMISED,
    *("cell.json", "stablehlo.mlir.gz", "output.npy", "peak.json", "peaks/*.json", "devices.json"),
    *("program.mlir.gz", "arguments.json", "ahead.json", "largest_batch.json", "replay.json"),
    *("profile.json", "audits.json", f"{FORMS}/*.txt.gz", "growth/*/*/*/process.json"),
    "sharded/*/*/*/process.json",
)
"""What the paper is made from, as patterns. The optimised HLO of targets is left out: it is large, and counted
in ahead.json."""
TABLES = (*folder.TABLES.values(), folder.MADE["context"])
OF_A_RUN = (
    *(name for name in TABLES if name != folder.TABLES["calls"]),
    folder.MADE["reproduction"],
)
"""What is kept of every run: its tables but for the single calls, which only the newest run's figure has, and
what of the reference before it it found again. Beside them are its programs of the workloads that the paper
lists.
"""
MOST_BYTES = 3_000_000
"""Of a run's tables."""


class AcceptError(ValueError):
    """A run that cannot join the reference: what was expected, what came, what to do."""


def check(full: Path) -> dict:
    """The context of a run that can be accepted. Raises AcceptError."""
    lacking = [name for name in OF_A_RUN if not (full / name).exists()]
    if lacking:
        raise AcceptError(
            f"expected a full run in {full}; {lacking[0]} missing: make it with: make paper"
        )
    context = documents.read(full / folder.MADE["context"])
    if context.get("protocol") != PROTOCOL:
        raise AcceptError(
            f"expected a run of version {PROTOCOL} of the measuring protocol; came {context.get('protocol')}: "
            "measure again with this checkout"
        )
    if context["date_utc"] == NEVER:
        raise AcceptError(
            f"expected a run in {full} that has measured or compiled something; {folder.MADE['context']} "
            "has no date: delete that file, and make the run again"
        )
    if context["preset"] != "full":
        raise AcceptError(
            f"expected a run of the preset full; came one of {context['preset']}, whose shapes are others: "
            "make one with: make paper"
        )
    for accepted in runs.read(REFERENCE):
        sizes = documents.read(accepted.folder / folder.MADE["context"])["sizes"]
        other = [w for w, own in context["sizes"].items() if sizes.get(w, own) != own]
        if other:
            raise AcceptError(
                f"expected the shapes of the accepted run {accepted.identity}; came others of "
                f"{', '.join(other)}: ratios of two sizes are not combined. Change the sizes back, or PROTOCOL "
                "in src/stackwars/measure/__init__.py, which leaves all earlier runs out"
            )
    if dirty := _uncommitted(full):
        raise AcceptError(
            f"expected a run of committed sources; {dirty[0]} and {len(dirty) - 1} more were measured or "
            "compiled with uncommitted changes: commit, delete them, and run: make paper"
        )
    return context


def _measured(root: Path, names: Iterable[str]) -> set[Path]:
    """The files under a folder of results with these names (patterns), relative to it; none set aside."""
    files = {path.relative_to(root) for name in names for path in root.rglob(name)}
    return {path for path in files if path.parts[0] not in damage.NO_RESULTS}


def _uncommitted(full: Path) -> list[Path]:
    """The results of processes and compilations that ran with uncommitted sources."""
    found = []
    for path in sorted(_measured(full, ("cell.json", "replay.json", "ahead.json", "process.json"))):
        result = documents.read(full / path)
        sources = [one.get("source") for one in [result, *result.get("processes", [])]]
        if any(source and source["git_dirty"] for source in sources):
            found.append(path)
    return found


def keep_run(full: Path, reference: Path, context: dict) -> Path:
    """Copy a run's tables to its folder among the reference's runs, and return that. Raises AcceptError."""
    size = sum((full / name).stat().st_size for name in OF_A_RUN)
    if size > MOST_BYTES:
        raise AcceptError(f"expected at most {MOST_BYTES} bytes of tables for a run; came {size}")
    kept = reference / runs.FOLDER / runs.identity(context)
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for name in OF_A_RUN:
        shutil.copyfile(full / name, kept / name)
    for workload in load()["paper"]["listings"]:
        for name in (printed.PROGRAM, printed.OPTIMISED):
            for path in full.glob(f"*/*/{workload}/{name}"):
                target = kept / path.relative_to(full)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    return kept


def keep_measured(full: Path, reference: Path) -> int:
    """Replace what was measured by that of this run, if it has all that is there; return how many files.

    Audits of the harness that this run was made without stay, with the run that they are of; so do the forms of
    programs that it did not make.
    """
    files = _measured(full, KEPT)
    there = _measured(reference, ["cell.json"])
    if not there <= files:
        return 0
    audits = reference / folder.MEASURED["audits"]
    kept = None
    if audits.exists() and not (full / audits.name).exists():
        context = documents.read(reference / folder.MADE["context"])
        run = audit_entries.run_of(audits) or runs.identity(context)
        kept = audit_entries.read(audits), audits, run
    forms = {path: (reference / path).read_bytes() for path in _lone_forms(reference, files)}
    for path in reference.iterdir() if reference.exists() else ():
        if path.name not in (runs.FOLDER, folder.FAULTS):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in sorted({*files, *forms}):
        target = reference / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if path in forms:
            target.write_bytes(forms[path])
        else:
            shutil.copyfile(full / path, target)
    if kept:
        audit_entries.write(*kept)
    return len(files)


def _lone_forms(reference: Path, files: set[Path]) -> set[Path]:
    """What the reference has of programs in the forms that their compilers print, in folders that are not among
    these files. They are what is read of a program and no measurement.
    """
    there = _measured(reference, KEPT)
    cells = {path.parents[1] for path in there if path.parent.name == FORMS}
    cells -= {path.parents[1] for path in files if path.parent.name == FORMS}
    return {path for path in there if any(path.is_relative_to(cell) for cell in cells)} - files


def add_tables(repository: Path) -> None:
    """Make the tables of the reference again, from all its runs.

    Raises CalledProcessError where Snakemake fails.
    """
    made = [f"results/from-reference/{name}" for name in TABLES]
    snakemake = [sys.executable, "-m", "snakemake", *made, "--cores", "1"]
    subprocess.run([*snakemake, "--config", "results=reference"], cwd=repository, check=True)
    for path in made:
        shutil.copyfile(repository / path, repository / "results" / "reference" / Path(path).name)


def main() -> None:
    """`python -m stackwars.workflow.accept [FOLDER]`, after a full run, or one of whole studies."""
    full = Path(sys.argv[1]) if sys.argv[1:] else FULL
    try:
        context = check(full)
        kept = keep_run(full, REFERENCE, context)
    except AcceptError as error:
        sys.exit(str(error))
    count = keep_measured(full, REFERENCE)
    add_tables(REPOSITORY)
    print(
        "deciding every claim for runs that are drawn from the reference, in about 4 minutes",
        flush=True,
    )
    stability.write(REFERENCE)
    pages.write(REPOSITORY, REFERENCE)
    told = (
        f"and its {count} measured files"
        if count
        else "but not its cells, which are fewer than those there"
    )
    print(
        f"{len(OF_A_RUN)} tables {told} are now in {kept.relative_to(REPOSITORY).parents[1]}; commit them"
    )


if __name__ == "__main__":
    main()
