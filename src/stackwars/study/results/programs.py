"""programs.csv, values.csv and releases.csv: the outcome of every program; and the names of programs and compilers.

programs.csv: every program as it was emitted, and as compilers made it. values.csv: which programs compute the right
values in which compiler, at the preset's sizes and at odd ones; a row is one program of one check: a separate process
that compiles the program, calls it with both sets of inputs and compares every output with the expected values
(`stackwars.core.judge`). releases.csv: the outcome and the time of a program in each release of a compiler, and what
the release changed.

``python -m stackwars.study.results.programs`` writes program_forms.json, the counts and the structure of every emitted
program, as text and normalised. A program that is missing or cannot be read gives rows that say so.
"""

from __future__ import annotations

import hashlib
import json
import re
import statistics
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from stackwars.core import documents, program_text
from stackwars.core.documents import Row
from stackwars.core.launch import REPOSITORY, clean_environ
from stackwars.core.outcome import Status
from stackwars.measure import workloads
from stackwars.measure.workloads import parallel
from stackwars.setup.device import CPU
from stackwars.setup.environments import Unavailable, ensure
from stackwars.study import programs, sharding
from stackwars.study.keys import Config
from stackwars.study.programs import BASE
from stackwars.study.results import published, schema
from stackwars.study.results.folder import Folder, command
from stackwars.study.results.raw import Raw, errors
from stackwars.study.results.schema import is_missing

TARGET = "tpu-v6e"
"""The device of the original."""
_WITHOUT = "-no-"  # in the name of a compiler, before what is left out
PINS = REPOSITORY / "envs" / "jax.txt"
"""The environment whose MLIR bindings read the text of every framework."""
OF_AHEAD = (
    *("verdict", "decided_by", "argument_bytes", "output_bytes", "temp_bytes", "alias_bytes", "hbm_bytes"),
    *("usable_bytes", "compile_s", "peak_rss_bytes"),
)
"""Columns that ahead.json has under the same names."""
_ENDS = {"ratio": "value", "low": "low", "high": "high"}


def build(config: Config, folder: Folder, raw: Raw) -> pd.DataFrame:
    """Return programs.csv: emitted programs, then those compiled for targets, slices, and for replays.

    :raises ValueError: if a compilation belongs to another program than the emitted one.
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
    row = {"workload": workload, "title": title, "framework": framework, "level": level}
    return row | {"variant": BASE, **names}


def _emitted(forms: list[Row]) -> Iterator[Row]:
    for row in forms:
        columns = {key: value for key, value in row.items() if key in schema.PROGRAMS}
        yield _head(row["workload"], row["framework"], row["level"]) | columns


def _compiled(config: Config, measured: Path, digests: dict[tuple[str, str], str]) -> Iterator[Row]:
    """Yield a row for every configured compilation for a target; the first compiler's with counts of its HLO."""
    original = published.read_published()
    counted, searched = (set(programs.base_compilations(config)), set(programs.largest_batches(config)))
    for compilation in programs.compilations(config):
        program = compilation.program
        names = {"target": compilation.target, "compiler": compilation.compiler, "variant": program.variant}
        row = _head(program.workload, program.framework, schema.OPTIMISED, **names)
        sizes = programs.sizes(config, program.workload, program.variant)
        row |= {"batch": sizes.get("batch", sizes.get("m")), "sequence": sizes.get("sequence")}
        if compilation.target == TARGET:
            row["published_status"] = published.status(program.workload, program.framework, original)
        path = measured / compilation.path / "ahead.json"
        if not path.exists():
            yield row | {"status": Status.NOT_RUN, "status_detail": "no result"}
            continue
        result = documents.read(path)
        row |= {"status": result["status"], "status_detail": result["message"]}
        row |= {key: result[key] for key in OF_AHEAD}
        row["estimated_cycles"] = (result["hlo"] or {}).get("estimated_cycles")
        if result["compile_s"] is not None:  # else its size is an assumption
            row["code_bytes"] = result["code_bytes"]
        if compilation in counted:
            digest = digests.get((program.workload, program.framework), result["program_sha256"])
            if result["program_sha256"] != digest:
                raise ValueError(
                    f"{path}: expected a compilation of the program with the digest {digest}, got one of "
                    f"{result['program_sha256']}; fix: delete it, and it is compiled again"
                )
            row |= _optimised(result["hlo"])
        batches = measured / compilation.largest_batch_path
        if compilation in searched and batches.exists():
            search = documents.read(batches)
            row |= {"largest_batch": search["fits_batch"], "smallest_refused_batch": search["oom_batch"]}
        yield row


def _optimised(hlo: dict | None) -> Row:
    """Return what an optimised HLO module holds; constants and parameters are no operations."""
    if hlo is None:
        return {}
    kinds = {kind: n for kind, n in hlo["operations_by_kind"].items() if kind not in ("constant", "parameter")}
    return {
        "operations": sum(kinds.values()),
        "operations_by_kind": json.dumps(kinds),
        **{f"{kind}s": kinds.get(kind, 0) for kind in ("reshape", "transpose", "broadcast", "fusion")},
        "layout_bytes": hlo["layout_bytes"],
        "depth": hlo["depth"],
    }


def _slices(config: Config, measured: Path) -> Iterator[Row]:
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
    """Yield a row for every program of every replay, as its compiler optimised it."""
    for replay, result in raw.replays.items():
        for name, program in result["programs"].items():
            names = {"target": CPU, "compiler": replay.compiler}
            row = _head(replay.workload, name, schema.OPTIMISED, **names)
            row |= {key: program[key] for key in ("status", "status_detail")}
            if program.get("compile_s"):
                row["compile_s"] = statistics.median(program["compile_s"])
            yield row | (program.get("optimised") or {})


def build_values(config: Config, raw: Raw) -> pd.DataFrame:
    """Return values.csv, in the order of the workloads and compilers, the preset's sizes first."""
    places, compilers = (
        {name: n for n, name in enumerate(names)} for names in (config.workloads, config.compilers)
    )
    known = [check for check in raw.checks if check["workload"] in places]

    def place(check: dict) -> tuple:
        variant, last = check["variant"], len(compilers)
        of_variant = (variant != BASE, len(variant), variant)
        return (places[check["workload"]], *of_variant, compilers.get(check["compiler"], last))

    known.sort(key=place)
    return schema.table("values", [row for check in known for row in _value_rows(check)])


def _value_rows(check: dict) -> Iterator[Row]:
    where = {key: check[key] for key in ("workload", "variant", "compiler")}
    where |= {
        "title": workloads.load(check["workload"]).TITLE,
        "sizes": " ".join(f"{name}={value}" for name, value in check["sizes"].items()),
    }
    names = ("status", "status_detail", "wrong", "total", "where", "flaky")
    for name, program in check["programs"].items():
        row = where | {"framework": name, **{key: program[key] for key in names}}
        yield row if program["total"] is None else row | {"judge": check["judge"], **errors(program)}


def is_fault(row: Row, *more: str) -> bool:
    """Return whether a row of values.csv or cells.csv is wrong, crashed or ran outside the compiler, or has one of
    these other statuses."""
    is_outside = "outside the compiler" in row["status_detail"]
    return row["status"] in (Status.WRONG, Status.CRASH, *more) or is_outside


def build_releases(raw: Raw) -> pd.DataFrame:
    """Return releases.csv, in the order of the grid; the releases of a program newest first."""
    return schema.table("releases", [row for document in raw.releases for row in _release_rows(document)])


def _release_rows(document: dict) -> Iterator[Row]:
    """Yield a row for each release of a document that `stackwars.study.releases` wrote."""
    where = {key: document[key] for key in ("project", "workload", "framework", "stablehlo")}
    where["title"] = workloads.load(document["workload"]).TITLE
    changes = {change["newer"]: change for change in document["changes"]}
    for release in document["releases"]:
        ratio, compiled = release["ratio"] or {}, release.get("compile_rounds_s")
        row = where | {
            **{key: release[key] for key in ("version", "status", "status_detail", "ms")},
            **{key: release.get(key) for key in ("wrong", "total", "where")},
            "compile_s": statistics.median(compiled) if compiled else release.get("compile_s"),
            **{name: ratio.get(end) for name, end in _ENDS.items()},
        }
        if document["reason"]:
            row |= {"status": Status.UNSUPPORTED, "status_detail": document["reason"]}
        if change := changes.get(release["version"]):
            ratio = change["ratio"] or {}
            row |= {"change": change["kind"], "previous": change["older"]}
            row["same_program"] = {True: "yes", False: "no"}.get(change.get("same_hlo"), "")
            row |= {f"change_{name}": ratio.get(end) for name, end in _ENDS.items()}
        yield row


def ask(question: str, arguments: Sequence[Any]) -> list[Any]:
    """Return what `stackwars.core.ir` answers to a question about each argument, in the environment of PINS.

    :raises Unavailable: if this Python cannot have that environment.
    :raises RuntimeError: if the process fails.
    """
    python = ensure(PINS)
    done = subprocess.run(
        [python, "-m", "stackwars.core.ir"],
        input=json.dumps([question, list(arguments)]),
        capture_output=True,
        text=True,
        env=clean_environ({}),
    )
    if done.returncode:
        raise RuntimeError(
            f"stackwars.core.ir: expected answers, got exit status {done.returncode}: {done.stderr}"
        )
    return json.loads(done.stdout)


def write_forms(config: Config, folder: Folder) -> None:
    """Write program_forms.json: a list of rows with workload, framework and the digest of the text.

    It is empty if this Python cannot have MLIR's bindings.
    """
    paths = {
        program: path
        for program in programs.base_programs(config)
        if (path := Path(folder.measured) / program.path / "program.mlir.gz").exists()
    }
    texts = {program: program_text.read(path) for program, path in paths.items()}
    rows: list[Row] = []
    try:
        answers = ask("forms", list(texts.values()))
    except Unavailable:
        texts, answers = {}, []
    for (program, text), program_rows in zip(texts.items(), answers, strict=True):
        names = {"workload": program.workload, "framework": program.framework}
        digest = hashlib.sha256(text.encode()).hexdigest()
        rows += [{**names, "sha256": digest, **row} for row in program_rows]
    documents.write(folder["program_forms"], rows)


def by_age(names: Iterable[str]) -> list[str]:
    return sorted(dict.fromkeys(names), key=lambda name: [int(n) for n in re.findall(r"\d+", name)])


def of_newest_compiler(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the newest of their compilers."""
    return rows[rows["compiler"].isin(by_age(rows["compiler"])[-1:])]


def base_compiler(compiler: str) -> str:
    """Return the compiler without what is left out: ``jaxlib-0.10.2`` for ``jaxlib-0.10.2-no-ynn``."""
    return compiler.partition(_WITHOUT)[0]


def compiler_title(compiler: str) -> str:
    """Return ``jaxlib 0.10.2 without YNN`` for ``jaxlib-0.10.2-no-ynn``, ``IREE 3.13`` for ``iree-3.13``."""
    name, _, version = compiler.partition("-")
    version, _, without = version.partition(_WITHOUT)
    name = name if name == "jaxlib" else name.upper()
    return f"{name} {version}" + (f" without {without.upper()}" if without else "")


def variant_title(row: pd.Series) -> str:
    """Return ``2``, or ``8x512`` with a multiplication sign if the program has a sequence."""
    if is_missing(row["batch"]):
        return "not recorded"
    batch = f"{row['batch']:.0f}"
    return batch if is_missing(row["sequence"]) else f"{batch}\u00d7{row['sequence']:.0f}"


if __name__ == "__main__":
    command(write_forms, ValueError)
