"""Add a run of this machine to the reference: its tables join results/reference/runs, and all are pooled again.

The reference also holds measured files (cells, replays, checks, programs, compilations), each from the newest run that
wrote it and had every cell of the first study. In addition to its tables, a run has its results about the reference
that was committed before it.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from stackwars.core import documents
from stackwars.core.launch import REPOSITORY
from stackwars.core.lines import fold
from stackwars.measure import FORMS, PROTOCOL
from stackwars.measure.rounds import ROUNDS
from stackwars.publish.paper.figures.ratios import write_answer
from stackwars.study import cells, printed
from stackwars.study.claims import compare, pages
from stackwars.study.config import ConfigError, load
from stackwars.study.results import runs, schema
from stackwars.study.results.folder import MEASURED
from stackwars.study.results.runs import OF_A_RUN, REFERENCE
from stackwars.study.results.tables import NOT_MEASURED
from stackwars.study.studies import of_tables
from stackwars.study.workflow import damage

MEMORY = "memory.json"
REFERENCE_FILES = (
    printed.OPTIMISED,
    *("cell.json", "stablehlo.mlir.gz", "output.npy", "peak.json", "peaks/*.json", "devices.json"),
    *("program.mlir.gz", "arguments.json", "ahead.json", "largest_batch.json", "replay.json"),
    *("profile.json", MEASURED["audits"], f"{FORMS}/*.txt.gz", "growth/*/*/*/process.json"),
    "sharded/*/*/*/process.json",
    *("checks/*/*/*/check.json", "causes/*/*/causes.json", f"memory/*/*/{MEMORY}"),
)
"""The measured files that the reference has, as patterns. The optimised HLO of targets is left out: it is
large, and counted in ahead.json."""
SOURCED = (
    "cell.json", "replay.json", "check.json", "causes.json", "ahead.json", "process.json", MEMORY,
)  # fmt: skip
"""The measured files that say from which sources they were made."""
MOST_BYTES = 3_000_000
"""Limit of the size of a run's tables."""


class AcceptError(ValueError):
    """A run that cannot join the reference."""


def accept(full: Path, reference: Path) -> tuple[str, int]:
    """Add a run to the reference; return its name, and how many of its measured files the reference has now.

    The new reference is built next to the old one, and replaces it once it is complete.

    :raises AcceptError: if the run cannot be accepted.
    :raises DamagedRunError: if an accepted run is damaged.
    """
    old, new = (reference.with_name(f"{reference.name}.{name}") for name in ("old", "new"))
    if old.exists() and not reference.exists():  # a kill between the two renames below
        old.rename(reference)
    context, revisions = check(full, reference)
    for left in (old, new):
        shutil.rmtree(left, ignore_errors=True)
    if reference.exists():
        shutil.copytree(reference, new)
    identity = add_run(full, new, context, revisions)
    count = replace_measured(full, new)
    runs.read(new)
    if reference.exists():
        reference.rename(old)
    new.rename(reference)
    shutil.rmtree(old, ignore_errors=True)
    return identity, count


def check(full: Path, reference: Path) -> tuple[dict, set[str]]:
    """Return the context of a run that can be accepted, and the revisions that it was measured with.

    :raises Damaged: for a table that cannot be read.
    :raises AcceptError: if it cannot be accepted.
    """
    if missing := [name for name in OF_A_RUN if not (full / name).exists()]:
        raise _refusal(f"the tables of a run in {full}", f"none named {missing[0]}", "make paper")
    for name in schema.TABLES:
        schema.read(full / f"{name}.csv")
    context = documents.read(full / "context.json")
    if context.get("protocol") != PROTOCOL:
        expected = f"a run of version {PROTOCOL} of the measuring protocol"
        raise _refusal(expected, context.get("protocol"), "measure again with this checkout")
    if context["date_utc"] == NOT_MEASURED:
        raise _refusal(
            f"a run in {full} that has measured or compiled something",
            "a context.json without a date",
            "delete that file, and make the run again",
        )
    if context["preset"] != "full":
        got = f"one of {context['preset']}, which has other shapes"
        raise _refusal("a run of the preset full", got, "make paper")
    for accepted in runs.read(reference):
        sizes = accepted.context["sizes"]
        if other := [w for w, new in context["sizes"].items() if sizes.get(w, new) != new]:
            raise _refusal(
                f"the shapes of the accepted run {accepted.identity}",
                f"others of {', '.join(other)}",
                "change the sizes back, as ratios of two sizes are not combined, or PROTOCOL in "
                "src/stackwars/measure/__init__.py, which leaves all earlier runs out",
            )
    sources = _sources(full)
    if dirty := [path for path, some in sources.items() if any(one["git_dirty"] for one in some)]:
        got = f"{dirty[0]} and {len(dirty) - 1} more that were measured or compiled with uncommitted changes"
        raise _refusal("a run of committed sources", got, "commit, delete these files, and run: make paper")
    if text := damage.disturbed_text(full):
        raise AcceptError(text)
    return context, {one.get("git_revision", "unknown") for some in sources.values() for one in some}


def _refusal(expected: str, got: object, fix: str) -> AcceptError:
    return AcceptError(f"expected {expected}, got {got}; fix: {fix}")


def _measured(root: Path, names: Iterable[str]) -> set[Path]:
    """Return the files under a folder of results with these names (patterns), relative to it."""
    files = {path.relative_to(root) for name in names for path in root.rglob(name)}
    left_out = {*damage.NO_RESULTS, runs.FOLDER}
    return {path for path in files if path.parts[0] not in left_out and ROUNDS not in path.parts}


def _sources(full: Path) -> dict[Path, list[dict]]:
    """Return the sources of each process and compilation of a run, by the file of its result."""
    by_file = {}
    for path in sorted(_measured(full, SOURCED)):
        result = documents.read(full / path)
        sources = [one.get("source") for one in [result, *result.get("processes", [])]]
        by_file[path] = [source for source in sources if source]
    return by_file


def add_run(full: Path, reference: Path, context: dict, revisions: set[str]) -> str:
    """Copy a run's tables, and the programs that the paper lists, to the reference's runs; return its name.

    The run's confirmations join them. revisions: of the sources that measured the run.

    :raises AcceptError: if the tables are too large.
    """
    size = sum((full / name).stat().st_size for name in OF_A_RUN)
    if size > MOST_BYTES:
        raise AcceptError(f"expected at most {MOST_BYTES} bytes of tables for a run, got {size}")
    identity = runs.identity(context)
    folder = reference / runs.FOLDER / identity
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in OF_A_RUN:
        shutil.copyfile(full / name, folder / name)
    documents.write(folder / runs.CONFIRMATION, compare.confirmation(full, revisions))
    runs.write_manifest(folder)
    for workload in load().paper.listings:
        for name in (printed.PROGRAM, printed.OPTIMISED):
            for path in full.glob(f"*/*/{workload}/{name}"):
                _copy(path, folder / path.relative_to(full))
    return identity


def replace_measured(full: Path, reference: Path) -> int:
    """Replace the measured files by those of this run; return their number.

    A run without the first study replaces those in which nothing is timed. What this run did not measure stays: other
    stacks' cells, replays in other compilers, audits, compilations.
    """
    files = _measured(full, REFERENCE_FILES)
    first_study = {cell.path / "cell.json" for cell in cells.asked(load(measure=[of_tables(load()).name]))}
    if not first_study & _measured(reference, ["cell.json"]) <= files:
        files = {path for path in files if path.name == MEMORY}
    for path in files:
        _copy(full / path, reference / path)
    return len(files)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def main() -> None:
    """Run `python -m stackwars.publish.accept [FOLDER]`, after a run of the preset full."""
    full = Path(sys.argv[1]) if sys.argv[1:] else REPOSITORY / "results" / "full"
    try:
        identity, count = accept(full, REFERENCE)
    except (AcceptError, ConfigError, documents.Damaged, runs.DamagedRunError) as error:
        sys.exit(str(error))
    pages.update(REPOSITORY)
    write_answer(REPOSITORY, REFERENCE)
    without = "but not its cells, which lack some of the first study"
    measured = f"and its {count} measured files" if count else without
    text = f"{len(OF_A_RUN)} tables of the run {identity} {measured} are now in results/reference; commit them"
    print(fold(text))


if __name__ == "__main__":
    main()
