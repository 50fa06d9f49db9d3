"""What the compilers gave, read and checked: replay, split, profiles, compile-ahead, largest batch, programs.

A file with its header alone is a run that has none of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pandas

from stackwars.results.read_cells import on_cpu, read_table

TARGET = "tpu-v6e"  # the device of the original
OPTIMISED = f"optimised:{TARGET}"
BASE = "base"  # the variant with the preset's own sizes
DEFAULT_PRECISION = "default_precision"  # the edit of the programs that are also compiled for it

REPLAY_KEYS = [
    "workload",
    "title",
    "framework",
    "compiler",
    "device",
    "status",
    "replay_ms",
    "origin",
]
SPLIT_KEYS = [
    "workload",
    "title",
    "framework",
    "baseline",
    "compiler",
    "device",
    "ir_ratio",
    "ir_verdict",
    "runtime_verdict",
]
AHEAD_KEYS = ["workload", "title", "framework", "target", "compiler", "variant", "verdict"]
BATCH_KEYS = ["workload", "title", "framework", "target", "compiler", "fits_batch", "oom_batch"]
OP_TIME_KEYS = ["workload", "title", "framework", "compiler", "device", "class", "ms", "adds_up"]
GAP_KEYS = ["workload", "title", "compiler", "device", "subject", "baseline", "ratio", "verdict"]
GAP_KEYS += ["class", "where", "why"]
METRIC_KEYS = ["workload", "title", "framework", "level", "status", "canonical_hash"]
METRIC_KEYS += ["operations", "operations_by_kind", "layout_bytes"]
STRUCTURE_KEYS = ["workload", "title", "claim", "framework", "verdict", "evidence"]
TEXTS = (
    *("status", "status_detail", "origin", "title", "verdict", "decided_by", "message", "reason"),
    *("ir_verdict", "runtime_verdict", "control_verdict", "canonical_hash", "evidence", "variant"),
    *("class", "where", "why", "tried", "edit", "run"),
)
_WITHOUT = "-no-"  # in the name of a compiler, before what is left out


def read_replay(path: Path) -> pandas.DataFrame:
    """replay.csv: a row per workload, program and generation of XLA; those of the CPU, as in all tables."""
    return _of_generations(on_cpu(_read(path, REPLAY_KEYS)))


def read_split(path: Path) -> pandas.DataFrame:
    """split.csv: a row per workload, generation of XLA and comparison; those of the CPU."""
    return _of_generations(on_cpu(_read(path, SPLIT_KEYS)))


def read_op_times(path: Path) -> pandas.DataFrame:
    """op_times.csv: a row per workload, program, compiler and class of operations; those of the CPU."""
    return on_cpu(_with_run(_read(path, OP_TIME_KEYS))).reset_index(drop=True)


def read_gap_causes(path: Path) -> pandas.DataFrame:
    """gap_causes.csv: a row per gap and class of operations; those of the CPU."""
    return on_cpu(_with_run(_read(path, GAP_KEYS))).reset_index(drop=True)


def read_ahead(path: Path) -> pandas.DataFrame:
    """compile_ahead.csv: a row per program as it was emitted, variant, target and compiler."""
    return _of_edit(path, "")


def read_default_precision(path: Path) -> pandas.DataFrame:
    """The same file's rows of programs whose products were edited to the default precision."""
    return _of_edit(path, DEFAULT_PRECISION)


def _of_edit(path: Path, edit: str) -> pandas.DataFrame:
    """The rows of one edit; a file without that column is of before edited programs were compiled."""
    table = _read(path, AHEAD_KEYS)
    found = table.edit if "edit" in table.columns else pandas.Series("", index=table.index)
    return table[found == edit].reset_index(drop=True)


def read_largest_batches(path: Path) -> pandas.DataFrame:
    """largest_batch.csv: a row per workload, framework, target and compiler."""
    return _read(path, BATCH_KEYS)


def read_metrics(path: Path) -> pandas.DataFrame:
    """ir_metrics.csv: a row per workload, framework and level."""
    return _read(path, METRIC_KEYS)


def read_structure(path: Path) -> pandas.DataFrame:
    """structure.csv: a row per workload, claim and framework."""
    return _read(path, STRUCTURE_KEYS)


def _read(path: Path, keys: list[str]) -> pandas.DataFrame:
    table = read_table(path, keys)
    for column in TEXTS:
        if column in table.columns:
            table[column] = table[column].astype(object).fillna("").astype(str)
    return table


def _with_run(table: pandas.DataFrame) -> pandas.DataFrame:
    """With the column run: earlier accepted runs have none, and all their rows are their own."""
    return table if "run" in table else table.assign(run="")


def _of_generations(table: pandas.DataFrame) -> pandas.DataFrame:
    """Without the rows of compilers that are no generation of XLA as it comes."""
    return table[table.compiler.map(is_generation).astype(bool)].reset_index(drop=True)


def compilers(table: pandas.DataFrame) -> list[str]:
    """The compilers of a table from the oldest to the newest."""
    return by_age(table.compiler.drop_duplicates())


def by_age(names: Iterable[str]) -> list[str]:
    """Names of compilers from the oldest to the newest."""
    return sorted(names, key=_version)


def generations(names: Iterable[str]) -> list[str]:
    """The generations of XLA among them, from the oldest to the newest."""
    return by_age(filter(is_generation, names))


def is_generation(compiler: str) -> bool:
    """Whether it is a release of jaxlib with the options that it comes with: ``jaxlib-0.10.2``."""
    return bool(re.fullmatch(r"jaxlib-[0-9.]+", compiler))


def base_compiler(compiler: str) -> str:
    """The compiler that it is but for something left out: ``jaxlib-0.10.2`` for ``jaxlib-0.10.2-no-ynn``."""
    return compiler.partition(_WITHOUT)[0]


def _version(compiler: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", compiler)]


def compiler_title(compiler: str) -> str:
    """``jaxlib 0.10.2 without YNN`` for ``jaxlib-0.10.2-no-ynn``, ``IREE 3.13`` for ``iree-3.13``."""
    name, _, version = compiler.partition("-")
    version, _, without = version.partition(_WITHOUT)
    name = name if name == "jaxlib" else name.upper()
    return f"{name} {version}" + (f" without {without.upper()}" if without else "")


def target_title(target: str) -> str:
    """``TPU v6e`` for ``tpu-v6e``, ``H100`` for ``h100``."""
    return target.replace("-", " ", 1).replace("tpu", "TPU").replace("h100", "H100")


def variant_title(row: pandas.Series) -> str:
    """``2``, or ``8x512`` where the program has a sequence."""
    if pandas.isna(row.batch):
        return "not recorded"
    batch = f"{row.batch:.0f}"
    return batch if pandas.isna(row.sequence) else f"{batch}\u00d7{row.sequence:.0f}"
