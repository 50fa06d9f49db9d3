"""programs.csv: every program as it was emitted, and as compilers made it."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from stackwars.core import documents
from stackwars.core.documents import Row
from stackwars.measure import workloads
from stackwars.measure.workloads import parallel
from stackwars.setup.device import CPU
from stackwars.study import programs, sharding
from stackwars.study.programs import BASE, Compilation
from stackwars.study.results import published, schema
from stackwars.study.results.folder import Folder
from stackwars.study.results.names import TARGET
from stackwars.study.results.raw import Raw

OF_AHEAD = (
    *("verdict", "decided_by", "argument_bytes", "output_bytes", "temp_bytes", "alias_bytes", "hbm_bytes"),
    *("usable_bytes", "compile_s", "peak_rss_bytes"),
)
"""Columns that ahead.json has under the same names."""
_NO_OPERATION = ("constant", "parameter")  # in HLO's words


def build(config: dict, folder: Folder, raw: Raw) -> pd.DataFrame:
    """Return programs.csv: emitted programs, then those compiled for targets, slices, and for replays.

    :raises ValueError: if a compilation is of another program than the one that was emitted.
    """
    forms = documents.read(folder["program_forms"]) if folder["program_forms"].exists() else []
    digests = {(row["workload"], row["framework"]): row["sha256"] for row in forms}
    rows = [
        *_emitted(forms),
        *_compiled(config, folder.measured, digests),
        *_slices(config, folder.measured),
        *_replayed(raw),
    ]
    return schema.table("programs", rows)


def _head(workload: str, framework: str, level: str, **names: object) -> Row:
    title = workloads.load(workload).TITLE
    return {
        "workload": workload,
        "title": title,
        "framework": framework,
        "level": level,
        "variant": BASE,
        **names,
    }


def _emitted(forms: list[Row]) -> Iterator[Row]:
    """Yield both levels of every emitted program."""
    for row in forms:
        columns = {key: value for key, value in row.items() if key in schema.PROGRAMS}
        yield _head(row["workload"], row["framework"], row["level"]) | columns


def _compiled(config: dict, measured: Path, digests: dict[tuple[str, str], str]) -> Iterator[Row]:
    """Yield a row for every configured compilation for a target; the first compiler's with counts of its HLO."""
    original = published.read_published()
    counted, searched = (set(programs.base_compilations(config)), set(programs.largest_batches(config)))
    for compilation in programs.compilations(config):
        program = compilation.program
        names = {"target": compilation.target, "compiler": compilation.compiler, "variant": program.variant}
        row = _head(program.workload, program.framework, schema.OPTIMISED, **names)
        row |= _sizes(config, compilation)
        if compilation.target == TARGET:
            row["published_status"] = published.status(program.workload, program.framework, original)
        path = measured / compilation.path / "ahead.json"
        if not path.exists():
            yield row | {"status": "not run", "status_detail": "no result"}
            continue
        result = documents.read(path)
        row |= {"status": result["status"], "status_detail": result["message"]}
        row |= {key: result[key] for key in OF_AHEAD}
        row["estimated_cycles"] = (result["hlo"] or {}).get("estimated_cycles")
        if result["compile_s"] is not None:  # else its size is an assumption
            row["code_bytes"] = result["code_bytes"]
        if compilation in counted:
            _check_digest(path, result, digests.get((program.workload, program.framework)))
            row |= _optimised(result["hlo"])
        batches = measured / compilation.largest_batch_path
        if compilation in searched and batches.exists():
            search = documents.read(batches)
            row |= {"largest_batch": search["fits_batch"], "smallest_refused_batch": search["oom_batch"]}
        yield row


def _sizes(config: dict, compilation: Compilation) -> Row:
    sizes = programs.sizes(config, compilation.program.workload, compilation.program.variant)
    return {"batch": sizes.get("batch", sizes.get("m")), "sequence": sizes.get("sequence")}


def _check_digest(path: Path, found: dict, digest: str | None) -> None:
    if digest is not None and found["program_sha256"] != digest:
        raise ValueError(
            f"{path}: expected a compilation of the program with the digest {digest}, got one of "
            f"{found['program_sha256']}; fix: delete it, and it is compiled again"
        )


def _optimised(hlo: dict | None) -> Row:
    """Return what an optimised HLO module holds; constants and parameters are no operations."""
    if hlo is None:
        return {}
    kinds = {kind: n for kind, n in hlo["operations_by_kind"].items() if kind not in _NO_OPERATION}
    return {
        "operations": sum(kinds.values()),
        "operations_by_kind": json.dumps(kinds),
        **{f"{kind}s": kinds.get(kind, 0) for kind in ("reshape", "transpose", "broadcast", "fusion")},
        "layout_bytes": hlo["layout_bytes"],
        "depth": hlo["depth"],
    }


def _slices(config: dict, measured: Path) -> Iterator[Row]:
    """Yield a row for every compilation for a slice of several chips."""
    for compilation in sharding.slices(config):
        path = measured / compilation.path / "ahead.json"
        if not path.exists():
            continue
        program, result = compilation.program, documents.read(path)
        division = parallel.of_variant(workloads.load(program.workload), program.variant)
        collectives = (result["hlo"] or {}).get("collectives")
        yield _head(program.workload, program.framework, schema.OPTIMISED) | {
            **{"target": compilation.target, "compiler": compilation.compiler},
            "variant": f"{division.way}{division.devices}",
            "devices": division.devices,
            **{"status": result["status"], "status_detail": result["message"], "verdict": result["verdict"]},
            **{"hbm_bytes": result["hbm_bytes"], "usable_bytes": result["usable_bytes"]},
            "collectives": json.dumps(collectives) if collectives else "",
        }


def _replayed(raw: Raw) -> Iterator[Row]:
    """Yield a row for every program of every replay: what its compiler made of it."""
    for replay, result in raw.replays.items():
        for name, program in result["programs"].items():
            names = {"target": CPU, "compiler": replay.compiler}
            row = _head(replay.workload, name, schema.OPTIMISED, **names)
            row |= {key: program[key] for key in ("status", "status_detail")}
            if program.get("compile_s"):
                row["compile_s"] = statistics.median(program["compile_s"])
            yield row | (program.get("optimised") or {})
