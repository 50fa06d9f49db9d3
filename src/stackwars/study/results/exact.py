"""Comparisons of counts, not times: memory, sizes and structure of programs, collectives.

Such a row has no interval. Its verdict is a word of `stackwars.study.results.verdicts`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pandas as pd

from stackwars.core.documents import Row
from stackwars.core.hlo import COLLECTIVES
from stackwars.core.outcome import Status
from stackwars.core.ratio import SAME_SIZE
from stackwars.setup.device import CPU
from stackwars.study.keys import Config
from stackwars.study.programs import BASE
from stackwars.study.results import schema, verdicts
from stackwars.study.results.programs import TARGET, of_newest_compiler
from stackwars.study.results.schema import is_missing
from stackwars.study.studies import PROGRAMS, Comparison, comparisons

AS_CLAIMED = {
    "flattening": ("preserved", "flattened"),
    "layernorm": ("fine-grained", "high-level"),
    "qkv": ("combined", None),
    "contraction": ("explicit", "prepared"),
}
"""The original's statement about each form in JAX and in PyTorch (None: nothing), in the words of
stackwars.core.ir.structure."""
_LIKENESS = {
    (True, True): verdicts.LIKE_BOTH,
    (True, False): verdicts.LIKE_SUBJECT,
    (False, True): verdicts.LIKE_BASELINE,
    (False, False): verdicts.LIKE_NEITHER,
}
"""Verdicts by whether a form is the subject's, and whether it is the baseline's."""
_UNDECIDED = ("not applicable", "no program", "")


def rows(config: Config, cells: pd.DataFrame, programs: pd.DataFrame) -> Iterator[Row]:
    pairs = comparisons(config, PROGRAMS)
    emitted = programs[programs["level"] != schema.OPTIMISED]
    normalised = emitted[emitted["level"] == schema.NORMALISED]
    compiled = programs[(programs["level"] == schema.OPTIMISED) & (programs["target"] != CPU)]
    # The programs of each target's newest compiler.
    undivided = compiled[compiled["devices"].isna()]
    of_targets = undivided.groupby("target", sort=False)
    parts = [of_newest_compiler(some) for _, some in of_targets]
    newest = pd.concat(parts) if parts else undivided
    # Programs that are divided among the chips of a slice, with the columns of a sharded cell.
    sliced = compiled[compiled["devices"].notna()]
    way = sliced["variant"].str.extract(r"^([a-z]+)", expand=False)
    sliced = sliced.assign(size=way, value=sliced["devices"], device=sliced["target"])
    for pair in pairs:
        yield from _memory(newest, pair)
        yield from _largest_batch(newest, pair)
        yield from _optimised(newest, pair)
        yield from _emitted(emitted, pair)
        yield from _structure(normalised, pair)
        yield from _collectives(cells[cells["mode"] == schema.SHARDED], pair)
        yield from _collectives(sliced, pair)
    yield from _likeness(normalised, pairs)


def _row(quantity: str, subject: pd.Series, baseline: str, verdict: str, **columns: object) -> Row:
    names = {"quantity": quantity, "workload": subject["workload"], "subject": subject["framework"]}
    known = {"baseline": baseline, "verdict": verdict, "runs": 1, "machines": 1}
    return {**dict.fromkeys(schema.COMPARISON_KEYS, ""), **names, **known, **columns}


def _amount(
    quantity: str,
    subject: pd.Series,
    base: pd.Series,
    column: str,
    within: float = SAME_SIZE,
    **names: str,
) -> Row:
    """Return the row of a column of both sides: more, less, or the same within this share."""
    one, other = subject[column], base[column]
    verdict = verdicts.amount(one, other, within)
    return _row(quantity, subject, base["framework"], verdict, ratio=_ratio(one, other), **names)


def _sides(table: pd.DataFrame, pair: Comparison, keys: list[str]) -> Iterator[tuple[pd.Series, pd.Series]]:
    """Yield each row of the subject with the baseline's first row that has the same values in these columns."""
    subjects, baselines = (table[table["framework"] == side] for side in (pair.subject, pair.baseline))
    result = baselines.drop_duplicates(keys).set_index(keys, drop=False)
    for _, row in subjects.iterrows():
        key = tuple(row[keys]) if len(keys) > 1 else row[keys[0]]
        if key in result.index:
            yield row, result.loc[key]


def _ratio(one: float, base: float) -> float | None:
    return None if is_missing(one) or is_missing(base) or not base else one / base


def _memory(compiled: pd.DataFrame, pair: Comparison) -> Iterator[Row]:
    for subject, base in _sides(compiled, pair, ["workload", "target", "variant"]):
        names = {"device": subject["target"], "compiler": subject["compiler"], "variant": subject["variant"]}
        yield _amount(schema.HBM, subject, base, "hbm_bytes", **names)
        yield _amount(schema.TEMPORARIES, subject, base, "temp_bytes", **names)


def _largest_batch(compiled: pd.DataFrame, pair: Comparison) -> Iterator[Row]:
    known = compiled[compiled["largest_batch"].notna() | compiled["smallest_refused_batch"].notna()]
    columns = ["largest_batch", "smallest_refused_batch"]
    for subject, base in _sides(known, pair, ["workload", "target", "variant"]):
        one, other = tuple(subject[columns]), tuple(base[columns])
        names = {"device": subject["target"], "compiler": subject["compiler"]}
        verdict = verdicts.largest_batch(one, other)
        yield _row(schema.BATCH, subject, pair.baseline, verdict, ratio=_ratio(one[0], other[0]), **names)


def _optimised(compiled: pd.DataFrame, pair: Comparison) -> Iterator[Row]:
    """Yield layout bytes, fusions and operations of the programs compiled for the original's device."""
    is_base = (compiled["target"] == TARGET) & (compiled["variant"] == BASE)
    counted = compiled[is_base & compiled["operations"].notna()]
    for subject, base in _sides(counted, pair, ["workload"]):
        names = {"device": TARGET, "compiler": subject["compiler"]}
        yield _amount(schema.LAYOUT, subject, base, "layout_bytes", **names)
        yield _amount(schema.FUSIONS, subject, base, "fusions", 0, **names)
        yield _amount(schema.OPERATIONS, subject, base, "operations", 0, variant=schema.OPTIMISED, **names)


def _emitted(emitted: pd.DataFrame, pair: Comparison) -> Iterator[Row]:
    """Yield whether both programs are the same, and which has more operations, as emitted and normalised."""
    for subject, base in _sides(emitted[emitted["status"] == Status.OK], pair, ["workload", "level"]):
        level, hashes = subject["level"], (subject["canonical_hash"], base["canonical_hash"])
        yield _amount(schema.OPERATIONS, subject, base, "operations", 0, variant=level)
        if all(hashes):
            verdict = verdicts.SAME if hashes[0] == hashes[1] else verdicts.DIFFERENT
            yield _row(schema.PROGRAM, subject, pair.baseline, verdict, variant=level)


def _structure(normalised: pd.DataFrame, pair: Comparison) -> Iterator[Row]:
    """Yield whether both programs have the form that the original describes, for each claim that both decide."""
    for subject, base in _sides(normalised, pair, ["workload"]):
        for form, (in_baseline, in_subject) in AS_CLAIMED.items():
            one, other = subject[form], base[form]
            if one in _UNDECIDED or other in _UNDECIDED:
                continue
            is_claimed = other == in_baseline and in_subject in (None, one)
            verdict = verdicts.AS_CLAIMED if is_claimed else verdicts.NOT_AS_CLAIMED
            names = {"variant": form, "detail": f"{other}; {one}"}
            yield _row(schema.STRUCTURE, subject, pair.baseline, verdict, **names)


def _likeness(normalised: pd.DataFrame, pairs: list[Comparison]) -> Iterator[Row]:
    """Yield whose form a third frontend's program has: the first comparison's subject's or its baseline's.

    Products are compared only if those two differ; anything else if the baseline's form is known.
    """
    if not pairs:
        return
    first, others = pairs[0], {pair.subject for pair in pairs[1:]}
    known = normalised.drop_duplicates(["workload", "framework"]).set_index(["workload", "framework"])
    for _, row in normalised[normalised["framework"].isin(others)].iterrows():
        sides = [(row["workload"], side) for side in (first.subject, first.baseline)]
        for form in schema.FORMS:
            subject, base = (known.loc[key][form] if key in known.index else "" for key in sides)
            if row[form] in _UNDECIDED or base in _UNDECIDED:
                continue
            is_of_products = form in ("flattening", "contraction")
            if is_of_products and (subject in _UNDECIDED or subject == base):
                continue
            verdict = _LIKENESS[row[form] == subject, row[form] == base]
            yield _row(schema.LIKENESS, row, first.baseline, verdict, variant=form, detail=row[form])


def _collectives(divided: pd.DataFrame, pair: Comparison) -> Iterator[Row]:
    """Yield whether both programs, annotated and divided by XLA, have as many collectives of each kind."""
    known = divided[(divided["collectives"] != "") & (divided["value"] > 1)]
    for subject, base in _sides(known, pair, ["workload", "size", "value", "device"]):
        sides = [json.loads(side["collectives"]) for side in (subject, base)]
        counts = [[side.get(kind) for kind in COLLECTIVES] for side in sides]
        if any(map(is_missing, (*counts[0], *counts[1]))):
            continue
        verdict = verdicts.SAME if counts[0] == counts[1] else verdicts.DIFFERENT
        names = {"device": subject["device"], "variant": f"{subject['size']}{subject['value']:.0f}"}
        names["detail"] = f"{sum(counts[0])} and {sum(counts[1])}"
        ratio = _ratio(*(side.get("bytes") for side in sides))
        yield _row(schema.COLLECTIVES, subject, pair.baseline, verdict, ratio=ratio, **names)
