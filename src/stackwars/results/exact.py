"""Comparisons of what is counted, not timed: memory, sizes and structure of programs, collectives.

Such a row has no interval. Its verdict is a word of `stackwars.results.verdicts`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd

from stackwars.results import schema, verdicts
from stackwars.results.names import BASE, DEFAULT_PRECISION, TARGET, by_age, generations
from stackwars.results.schema import is_missing
from stackwars.setup.device import CPU
from stackwars.study.comparisons import PROGRAMS, Comparison, comparisons

Row = dict[str, Any]
AMOUNTS = {schema.HBM: "hbm_bytes", schema.TEMPORARIES: "temp_bytes", schema.CYCLES: "estimated_cycles"}
"""Quantities compared of two programs compiled for a target: columns of programs.csv."""
AS_CLAIMED = {
    "flattening": ("preserved", "flattened"),
    "layernorm": ("fine-grained", "high-level"),
    "qkv": ("combined", None),
    "contraction": ("explicit", "prepared"),
}
"""The original's statement about each form in JAX and in PyTorch (None: nothing), in the words of
stackwars.ir.structure."""
OF_PRODUCTS = ("flattening", "contraction")
"""The forms that tell two frontends apart by what they do to products."""
_UNDECIDED = ("not applicable", "no program", "")
_KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute")


def rows(config: dict, cells: pd.DataFrame, programs: pd.DataFrame) -> Iterator[Row]:
    """Every such row of one run."""
    pairs = comparisons(config, PROGRAMS)
    emitted = programs[programs["level"] != schema.OPTIMISED]
    compiled = programs[(programs["level"] == schema.OPTIMISED) & (programs["target"] != CPU)]
    whole = compiled[compiled["devices"].isna()]
    yield from _rss(cells)
    for pair in pairs:
        yield from _memory(_newest(whole), pair)
        yield from _largest_batch(_newest(whole), pair)
        yield from _optimised(_newest(whole), pair)
        yield from _emitted(emitted, pair)
        yield from _structure(emitted, pair)
        yield from _collectives(cells[cells["mode"] == schema.SHARDED], pair)
        yield from _collectives(_sliced(compiled), pair)
    yield from _default_precision(_newest(whole))
    yield from _fits(whole)
    yield from _likeness(emitted, pairs)


def _row(
    quantity: str, subject: pd.Series, baseline: str, verdict: str, ratio: float | None = None, **names: str
) -> Row:
    return {
        **dict.fromkeys(schema.COMPARISON_KEYS, ""),
        "quantity": quantity,
        "workload": subject["workload"],
        "subject": subject["framework"],
        "baseline": baseline,
        "verdict": verdict,
        "ratio": ratio,
        "runs": 1,
        "machines": 1,
        **names,
    }


def _sides(table: pd.DataFrame, pair: Comparison, keys: list[str]) -> Iterator[tuple[pd.Series, pd.Series]]:
    """The rows of the subject with the same of the baseline, by these keys."""
    base = table[table["framework"] == pair.baseline].drop_duplicates(keys).set_index(keys, drop=False)
    for _, row in table[table["framework"] == pair.subject].iterrows():
        key = tuple(row[keys]) if len(keys) > 1 else row[keys[0]]
        if key in base.index:
            yield row, base.loc[key]


def _newest(compiled: pd.DataFrame) -> pd.DataFrame:
    """The rows of the newest compiler of each target."""
    parts = [
        rows[rows["compiler"] == by_age(rows["compiler"])[-1]]
        for _, rows in compiled.groupby("target", sort=False)
    ]
    return pd.concat(parts) if parts else compiled


def ratio(one: float, base: float) -> float | None:
    """Return one amount over the other; None if either is missing."""
    return None if is_missing(one) or is_missing(base) or not base else one / base


def _memory(compiled: pd.DataFrame, pair: Comparison) -> Iterator[Row]:
    for subject, base in _sides(compiled, pair, ["workload", "target", "variant"]):
        names = {"device": subject["target"], "compiler": subject["compiler"], "variant": subject["variant"]}
        for quantity, column in AMOUNTS.items():
            one, other = subject[column], base[column]
            yield _row(
                quantity, subject, pair.baseline, verdicts.amount(one, other), ratio(one, other), **names
            )


def _largest_batch(compiled: pd.DataFrame, pair: Comparison) -> Iterator[Row]:
    known = compiled[compiled["largest_batch"].notna() | compiled["smallest_refused_batch"].notna()]
    columns = ["largest_batch", "smallest_refused_batch"]
    for subject, base in _sides(known, pair, ["workload", "target", "variant"]):
        one, other = tuple(subject[columns]), tuple(base[columns])
        yield _row(
            schema.BATCH, subject, pair.baseline, verdicts.largest_batch(one, other), ratio(one[0], other[0]),
            device=subject["target"], compiler=subject["compiler"],
        )  # fmt: skip


def _optimised(compiled: pd.DataFrame, pair: Comparison) -> Iterator[Row]:
    """Bytes moved between layouts, fusions and operations of the programs compiled for the original's
    device."""
    base = compiled[
        (compiled["target"] == TARGET) & (compiled["variant"] == BASE) & compiled["operations"].notna()
    ]
    for subject, other in _sides(base, pair, ["workload"]):
        names = {"device": TARGET, "compiler": subject["compiler"]}
        for quantity, column, within, variant in (
            (schema.LAYOUT, "layout_bytes", verdicts.SAME_SIZE, ""),
            (schema.FUSIONS, "fusions", 0, ""),
            (schema.OPERATIONS, "operations", 0, schema.OPTIMISED),
        ):
            verdict = verdicts.amount(subject[column], other[column], within=within)
            share = ratio(subject[column], other[column])
            yield _row(quantity, subject, pair.baseline, verdict, share, variant=variant, **names)


def _emitted(emitted: pd.DataFrame, pair: Comparison) -> Iterator[Row]:
    """Whether both programs are the same, and which has more operations, as emitted and normalised."""
    ok = emitted[emitted["status"] == "ok"]
    for subject, base in _sides(ok, pair, ["workload", "level"]):
        one, other = subject["operations"], base["operations"]
        names = {"variant": subject["level"]}
        yield _row(
            schema.OPERATIONS,
            subject,
            pair.baseline,
            verdicts.amount(one, other, within=0),
            ratio(one, other),
            **names,
        )
        if subject["canonical_hash"] and base["canonical_hash"]:
            same = subject["canonical_hash"] == base["canonical_hash"]
            yield _row(
                schema.PROGRAM, subject, pair.baseline, verdicts.SAME if same else verdicts.DIFFERENT, **names
            )


def _normalised(emitted: pd.DataFrame) -> pd.DataFrame:
    return emitted[emitted["level"] == schema.NORMALISED]


def _structure(emitted: pd.DataFrame, pair: Comparison) -> Iterator[Row]:
    """Whether both programs have the form that the original describes, for each of its claims that both
    decide."""
    for subject, base in _sides(_normalised(emitted), pair, ["workload"]):
        for form, (in_baseline, in_subject) in AS_CLAIMED.items():
            one, other = subject[form], base[form]
            if one in _UNDECIDED or other in _UNDECIDED:
                continue
            is_claimed = other == in_baseline and in_subject in (None, one)
            yield _row(
                schema.STRUCTURE, subject, pair.baseline,
                verdicts.AS_CLAIMED if is_claimed else verdicts.NOT_AS_CLAIMED,
                variant=form, detail=f"{other}; {one}",
            )  # fmt: skip


def _likeness(emitted: pd.DataFrame, pairs: list[Comparison]) -> Iterator[Row]:
    """Whose form the program of a third frontend has: that of the first comparison's subject, or its
    baseline's.

    Of products only if those two differ; of anything else if the baseline's is known.
    """
    if not pairs:
        return
    first, others = pairs[0], {pair.subject for pair in pairs[1:]}
    normalised = _normalised(emitted)
    known = normalised.drop_duplicates(["workload", "framework"]).set_index(["workload", "framework"])
    for _, row in normalised[normalised["framework"].isin(others)].iterrows():
        sides = [(row["workload"], side) for side in (first.subject, first.baseline)]
        for form in schema.FORMS:
            subject, base = (known.loc[key][form] if key in known.index else "" for key in sides)
            if row[form] in _UNDECIDED or base in _UNDECIDED:
                continue
            if form in OF_PRODUCTS and (subject in _UNDECIDED or subject == base):
                continue
            verdict = {
                (True, True): verdicts.LIKE_BOTH,
                (True, False): verdicts.LIKE_SUBJECT,
                (False, True): verdicts.LIKE_BASELINE,
                (False, False): verdicts.LIKE_NEITHER,
            }[row[form] == subject, row[form] == base]
            yield _row(schema.LIKENESS, row, first.baseline, verdict, variant=form, detail=row[form])


def _default_precision(compiled: pd.DataFrame) -> Iterator[Row]:
    """Memory of the programs whose products were edited to the default precision, over the same as emitted."""
    of_target = compiled[(compiled["target"] == TARGET) & (compiled["variant"] == BASE)]
    emitted = of_target.set_index(["workload", "framework"])
    for _, row in of_target[of_target["framework"].str.endswith(f"+{DEFAULT_PRECISION}")].iterrows():
        key = (row["workload"], row["framework"].partition("+")[0])
        if key not in emitted.index:
            continue
        base = emitted.loc[key]
        for quantity in (schema.HBM, schema.TEMPORARIES):
            one, other = row[AMOUNTS[quantity]], base[AMOUNTS[quantity]]
            yield _row(
                quantity, row, key[1], verdicts.amount(one, other), ratio(one, other),
                device=TARGET, compiler=row["compiler"], variant=BASE,
            )  # fmt: skip


def _fits(compiled: pd.DataFrame) -> Iterator[Row]:
    """Whether the oldest and the newest compiler for the original's device agree that a program fits it."""
    here = compiled[(compiled["target"] == TARGET) & ~compiled["framework"].str.contains("+", regex=False)]
    order = generations(here["compiler"])
    if len(order) < 2:
        return
    keys = ["workload", "variant", "framework"]
    older, newer = (
        here[here["compiler"] == name].set_index(keys, drop=False) for name in (order[0], order[-1])
    )
    for key, row in newer.iterrows():
        other = older.loc[key]["verdict"] if key in older.index else ""
        if {row["verdict"], other} <= {verdicts.FITS, verdicts.TOO_LARGE}:
            yield _row(
                schema.FIT, row, row["framework"],
                verdicts.AGREES if row["verdict"] == other else verdicts.DIFFERS,
                ratio(row["hbm_bytes"], older.loc[key]["hbm_bytes"]),
                device=TARGET, compiler=order[-1], baseline_compiler=order[0], variant=row["variant"],
            )  # fmt: skip


def _rss(cells: pd.DataFrame) -> Iterator[Row]:
    """Peak resident set of every cell over its baseline's."""
    ok = cells[(cells["mode"] == schema.NATIVE) & (cells["status"] == "ok")]
    peaks = ok.set_index(["workload", "framework", "device"])["peak_rss_bytes"].to_dict()
    for _, cell in ok[ok["baseline"] != ""].iterrows():
        base = peaks.get((cell["workload"], cell["baseline"], cell["device"]))
        if base is not None:
            one = cell["peak_rss_bytes"]
            yield _row(
                schema.RSS,
                cell,
                cell["baseline"],
                verdicts.amount(one, base),
                ratio(one, base),
                device=cell["device"],
            )


def _sliced(compiled: pd.DataFrame) -> pd.DataFrame:
    """The programs that are divided among the chips of a slice, with the columns of a sharded cell."""
    sliced = compiled[compiled["devices"].notna()]
    way = sliced["variant"].str.extract(r"^([a-z]+)", expand=False)
    return sliced.assign(size=way, value=sliced["devices"], device=sliced["target"])


def _collectives(divided: pd.DataFrame, pair: Comparison) -> Iterator[Row]:
    """Whether both programs, annotated and divided by XLA, have as many collectives of each kind."""
    known = divided[(divided["collectives"] != "") & (divided["value"] > 1)]
    for subject, base in _sides(known, pair, ["workload", "size", "value", "device"]):
        one, other = (json.loads(side["collectives"]) for side in (subject, base))
        if any(is_missing(side.get(kind)) for side in (one, other) for kind in _KINDS):
            continue
        same = all(one[kind] == other[kind] for kind in _KINDS)
        yield _row(
            schema.COLLECTIVES, subject, pair.baseline, verdicts.SAME if same else verdicts.DIFFERENT,
            ratio(one.get("bytes"), other.get("bytes")), device=subject["device"],
            variant=f"{subject['size']}{subject['value']:.0f}",
            detail=f"{sum(one[kind] for kind in _KINDS)} and {sum(other[kind] for kind in _KINDS)}",
        )  # fmt: skip
