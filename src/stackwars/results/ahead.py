"""compile_ahead.csv and largest_batch.csv: a row for every compilation and search that is asked for."""

from __future__ import annotations

from pathlib import Path

import pandas

from stackwars import workloads
from stackwars.measure import documents
from stackwars.results import whole_programs
from stackwars.results.folder import Folder, command
from stackwars.study import programs

NOT_RUN = "not run"
OF_AHEAD = (
    *("status", "verdict", "decided_by", "message", "argument_bytes", "output_bytes", "temp_bytes"),
    *("alias_bytes", "hbm_bytes", "usable_bytes", "compile_s", "peak_rss_bytes"),
)
NAMES = ("workload", "title", "framework", "target", "compiler")
AHEAD_COLUMNS = (
    *(*NAMES, "edit", "variant", "batch", "sequence", *OF_AHEAD, "estimated_cycles", "origin"),
)
OF_LARGEST_BATCH = ("sequence", "fits_batch", "oom_batch")
LARGEST_BATCH_COLUMNS = (*NAMES, *OF_LARGEST_BATCH, "origin")


def compile_ahead(config: dict, folder: Path) -> pandas.DataFrame:
    """AHEAD_COLUMNS: a row per compilation that is asked for; `not run` where it has no result.

    Sizes in bytes; edit is empty for a program as it was emitted; batch is `m` where a workload has no
    batch (GEMM); estimated_cycles are the compiler's own estimate and no measured time.
    """
    rows = [
        _ahead_row(config, compilation, _read(folder / compilation.path / "ahead.json"))
        for compilation in programs.compilations(config)
    ]
    return pandas.DataFrame(rows, columns=list(AHEAD_COLUMNS)).astype(_whole(AHEAD_COLUMNS))


def _ahead_row(config: dict, compilation: programs.Compilation, found: dict | None) -> dict:
    program = compilation.program
    sizes = programs.sizes(config, program.workload, program.variant)
    row = {
        **_names(config, compilation),
        "edit": program.edits,
        "variant": program.variant,
        "batch": sizes.get("batch", sizes.get("m")),
        "sequence": sizes.get("sequence"),
    }
    if found is None:
        return {**row, "status": NOT_RUN, "verdict": "", "decided_by": "", "message": "no result"}
    row |= {key: found[key] for key in OF_AHEAD}
    return {**row, "estimated_cycles": (found["hlo"] or {}).get("estimated_cycles")}


def largest_batches(config: dict, folder: Path) -> pandas.DataFrame:
    """LARGEST_BATCH_COLUMNS: a row per search that was run."""
    rows = []
    for compilation in programs.largest_batches(config):
        found = _read(folder / compilation.largest_batch_path)
        if found is not None:
            rows.append({**_names(config, compilation), **{k: found[k] for k in OF_LARGEST_BATCH}})
    table = pandas.DataFrame(rows, columns=list(LARGEST_BATCH_COLUMNS))
    return table.astype(_whole(LARGEST_BATCH_COLUMNS))


def _names(config: dict, compilation: programs.Compilation) -> dict:
    workload = compilation.program.workload
    return {
        "workload": workload,
        "title": workloads.load(workload).TITLE,
        "framework": compilation.program.emitter,
        "target": compilation.target,
        "compiler": compilation.compiler,
        "origin": config["results"],
    }


def _whole(columns: tuple[str, ...]) -> dict[str, str]:
    """Counts are whole numbers also beside rows that have none."""
    counts = ("batch", "sequence", "estimated_cycles", "fits_batch", "oom_batch")
    return {c: "Int64" for c in columns if c in counts or c.endswith("_bytes")}


def _read(path: Path) -> dict | None:
    return documents.read(path) if path.exists() else None


def write(config: dict, folder: Folder) -> None:
    """From the compilations to compile_ahead.csv and largest_batch.csv, completed from accepted runs."""
    folder.results.mkdir(parents=True, exist_ok=True)
    compile_ahead(config, folder.measured).to_csv(folder["ahead"], index=False)
    largest_batches(config, folder.measured).to_csv(folder["largest_batch"], index=False)
    whole_programs.complete(config, folder, "ahead", "largest_batch")


if __name__ == "__main__":
    command(write)
