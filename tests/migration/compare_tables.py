"""Find every number of the 25 old tables of the reference again in the new ones, to 1e-9.

    python tests/migration/compare_tables.py [REVISION]

REVISION is the last commit with the old tables. Numbers are looked up by run and workload, comparisons and
cells also by what they are of; verdicts and claims are compared word by word. EXCEPTIONS lists what is
deliberately different, with the reason.
"""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from stackwars.results import held_out, reference, runs, schema, variance
from stackwars.study.config import load

REVISION = "01c468a"
WITHIN = 1e-9
WORDS = {
    "no difference found": "equivalent",
    "unresolved": "inconclusive",
    "not decided": "no interval",
    "holds": "within 10 %",
    "off": "control failed",
}
EXCEPTIONS = {
    "control_*": "control of the reference: a baseline was counted once for each subject in the family that "
    "moderates its variance; it counts once now",
    "steady_boot_*": "the bootstrap's interval decided nothing and is gone",
    "*_over_best, *_over_*": "quotients of two columns are computed when they are printed",
    "form_*_low, form_*_high": "forms of runs before 25 November: the number of processes behind an interval "
    "was taken from all processes, now from those that count",
    "block_deviation, level block": "the spread between blocks of one process stays in the cells' JSON alone",
    "kept_share, class, warmup_points of a process": "likewise; the cell's are in cells.csv",
    "stacks, beyond, matrix": "the reference pools these comparisons over all runs; the number of one run is in "
    "that run's tables. Three claims turn by it: lecture_directions and blocks_pay are not decided any more, "
    "training_slower is supported",
    "gap_causes.csv": "differences of two rows of profile.csv, which stackwars.results.gaps computes",
    "first_largest of TensorFlow": "it does not report how long it compiles, so its largest part is unknown",
    "held_out, variance": "computed when they are printed; the same numbers but for the level of blocks",
}
NOT_KEPT = {
    *("steady_boot_low", "steady_boot_high", "block_deviation", "kept_share", "warmup_points", "steady_blocks"),
    *("steady_over_best", "first_over_best", "memory_over_best", "over_best", "repetition", "closed"),
    *("form_steady_low", "form_steady_high", "form_first_low", "form_first_high", "compile_cost_ms", "call"),
}
"""Columns of EXCEPTIONS, and numbers of rounds and calls."""
SKIPPED = ("claims.csv", "gap_causes.csv", "matrix_effects.csv", "matrix_subsets.csv")
"""Tables without numbers of their own, or compared elsewhere."""


def old_tables(revision: str) -> dict[str, dict[str, pd.DataFrame]]:
    """Return {run ("" for the reference itself): {file: table}} of a revision."""
    packed = subprocess.run(
        ["git", "archive", revision, "results/reference"], check=True, capture_output=True
    ).stdout
    found: dict[str, dict[str, pd.DataFrame]] = {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive.getmembers():
            path = Path(member.name)
            if path.suffix == ".csv" and path.parent.name == "reference":
                found.setdefault("", {})[path.name] = pd.read_csv(archive.extractfile(member))
            elif path.suffix == ".csv" and path.parts[2] == "runs" and len(path.parts) == 5:
                found.setdefault(path.parts[3], {})[path.name] = pd.read_csv(archive.extractfile(member))
    return found


class Numbers:
    """All numbers of a run's tables, by workload."""

    def __init__(self, tables: dict[str, pd.DataFrame]) -> None:
        self._by_workload: dict[str, list[np.ndarray]] = {}
        for table in tables.values():
            for workload, rows in table.groupby("workload") if "workload" in table else [("", table)]:
                numbers = rows.select_dtypes("number").to_numpy().ravel()
                counts = [list(_counted(text)) for column in ("collectives", "operations_by_kind")
                          if column in rows for text in rows[column]]  # fmt: skip
                extra = np.array([n for some in counts for n in some], dtype=float)
                both = np.concatenate([numbers, 1 / numbers[numbers > 0], extra])
                if "compile_s" in rows:
                    both = np.concatenate([both, rows["compile_s"]])
                self._by_workload.setdefault(str(workload), []).append(both[np.isfinite(both)])
        self._sorted = {name: np.sort(np.concatenate(some)) for name, some in self._by_workload.items()}

    def has(self, workload: str, value: float) -> bool:
        """Return whether a number is among those of a workload, to WITHIN."""
        known = self._sorted.get(workload, np.array([]))
        place = np.searchsorted(known, value)
        near = known[max(0, place - 1) : place + 1]
        return bool(len(near)) and bool((np.abs(near - value) <= WITHIN * max(1.0, abs(value))).any())


def _counted(text: str) -> Iterator[float]:
    if text:
        yield from (float(value) for value in json.loads(text).values())


def numbers_of(run: str, new: dict[str, pd.DataFrame], old: dict[str, pd.DataFrame]) -> Counter:
    """Count the numbers of a run's old tables that are found again, and name those that are not."""
    known = Numbers(new)
    result: Counter = Counter()
    for name, table in old.items():
        if "workload" not in table or name in SKIPPED:
            continue
        if "run" in table:
            table = table[table["run"].isna()]  # others are rows of other runs
        for column in table.select_dtypes("float"):
            if column in NOT_KEPT or column.endswith("_freedom"):
                continue
            for workload, value in zip(table["workload"], table[column], strict=True):
                if math.isfinite(value):
                    is_found = known.has(str(workload), float(value))
                    result["found" if is_found else f"{name} {column}"] += 1
    return result


def comparisons_of(new: pd.DataFrame, old: dict[str, pd.DataFrame]) -> Counter:
    """Count the ratios of ratios.csv, split.csv and replay.csv that are the same, with intervals and verdicts."""
    keys = ["quantity", "workload", "device", "compiler", "subject", "baseline"]
    rows = {tuple(row[key] for key in keys): row for row in new.to_dict("records")}
    result: Counter = Counter()
    for key, columns in _asked(old):
        row = rows.get(key)
        for name, value in columns.items():
            is_same = row is not None and _same(row[name], value)
            result["same" if is_same else f"{key[0]} {name}"] += 1
    return result


def _asked(old: dict[str, pd.DataFrame]) -> Iterator[tuple[tuple, dict]]:
    ends = {"ratio": "ratio", "low": "ratio_low", "high": "ratio_high", "error": "error", "dof": "freedom"}
    pooled = {"runs": "runs", "machines": "machines", "predicted_low": "predicted_low"}
    for row in old["ratios.csv"].to_dict("records") if "ratios.csv" in old else ():
        for stage in schema.STAGES:
            named = {**ends, **pooled, "p": "p", "p_adjusted": "p_holm", "verdict": "verdict"}
            key = (stage, row["workload"], row["device"], "", row["framework"], row["baseline"])
            yield key, {new: row.get(f"{stage}_{name}") for new, name in named.items()}
    terms = (("ir", "replay", "ir"), ("runtime", "runtime", "runtime"), ("control", "control", "control"))
    for row in old["split.csv"].to_dict("records") if "split.csv" in old else ():
        for term, quantity, verdict in terms:
            if not pd.isna(row[f"{term}_ratio"]):
                subject = row["baseline"] if quantity == "control" else row["framework"]
                key = (quantity, row["workload"], row["device"], row["compiler"], subject, row["baseline"])
                columns = {new: row.get(f"{term}_{name}") for new, name in {**ends, **pooled}.items()}
                yield key, columns | {"verdict": row[f"{verdict}_verdict"]}
        if not pd.isna(row["lead_ratio"]):
            key = ("margin", *(row[n] for n in ("workload", "device", "compiler", "framework", "baseline")))
            yield key, {"error": row["lead_error"], "verdict": row["source_verdict"]}


def _same(one: object, other: object) -> bool:
    if isinstance(other, str):
        return one == WORDS.get(other, other)
    if other is None or pd.isna(other):
        return True
    return isinstance(one, float) and abs(one - other) <= WITHIN * max(1.0, abs(other))


def main() -> None:
    config, accepted = load(), runs.read()
    found = reference.tables(config, accepted)
    old = old_tables(sys.argv[1] if len(sys.argv) > 1 else REVISION)
    total: Counter = Counter()
    for run in accepted:
        tables = {name: run.table(name) for name in ("cells", "programs", "rounds", "comparisons", "profile")}
        numbers = numbers_of(run.identity, tables, old[run.identity])
        same = comparisons_of(tables["comparisons"], old[run.identity])
        total += numbers + same
        _report(run.identity, numbers + same)
    same = comparisons_of(found["comparisons"], old[""]) + _effects(found["effects"], old[""])
    _report("the reference", same)
    held, spread = held_out.table(accepted), variance.table(accepted)
    for name, table, before in (("held_out", held, "held_out.csv"), ("variance", spread, "variance.csv")):
        columns = ["inside", "total"] if name == "held_out" else ["deviation"]
        own = old[""][before]
        own = own[own["level"] != "block"] if "level" in own else own
        is_same = all(
            np.allclose(table[column].dropna(), own[column].dropna(), rtol=WITHIN) for column in columns
        )
        print(f"{name}: {'same' if is_same else 'DIFFERENT'}")
    _claims(old[""]["claims.csv"])
    print(f"in all runs: {total['found']} numbers and {total['same']} columns of comparisons found again")


def _effects(new: pd.DataFrame, old: dict[str, pd.DataFrame]) -> Counter:
    """Count the shares and factors of effects that are the same."""
    keys = ["subset", "workload", "effect"]
    rows = {tuple(row[key] for key in keys): row for row in new.to_dict("records")}
    result: Counter = Counter()
    for row in old["matrix_subsets.csv"].to_dict("records"):
        found = rows.get((row["subset"], row["workload"], row["effect"].replace("both", "interaction")))
        for column in ("share", "share_low", "share_high", "factor"):
            is_same = found is not None and _same(found[column], row[column])
            result["same" if is_same else f"effect {column}"] += 1
    return result


def _report(name: str, counts: Counter) -> None:
    lost = {what: n for what, n in counts.items() if what not in ("found", "same")}
    print(f"{name}: {counts['found'] + counts['same']} found, {sum(lost.values())} not: {lost or ''}")


def _claims(before: pd.DataFrame) -> None:
    path = runs.REFERENCE / "claims.csv"
    if not path.exists():
        return
    now = schema.read(path).set_index("id")["verdict"]
    for row in before.itertuples():
        if now.get(row.id, "struck out") != row.verdict:
            print(f"claim {row.id}: {row.verdict} before, {now.get(row.id, 'struck out')} now")


if __name__ == "__main__":
    main()
