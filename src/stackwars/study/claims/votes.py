"""The rows that a claim is about, their votes, and the verdict on all of them with its evidence.

A row votes by a word, or by a number against a limit or against another row's: for the claim, against it, or it leaves
it open, as a row without data does.

A claim about "the compiler" that a single compiler carries is a claim about that compiler. The query of such a claim
names the factors in `leave_out`; effects.csv has its votes without each of their levels, which `judge` counts too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pandas as pd

from stackwars.core.documents import Row
from stackwars.core.numbers import general, percent
from stackwars.core.outcome import Status
from stackwars.core.ratio import LEVEL, LogRatio
from stackwars.measure import frameworks, workloads
from stackwars.study.claims.definitions import Claim, listed, study_of
from stackwars.study.results import effects, schema, verdicts
from stackwars.study.results.comparisons import EACH_KIND
from stackwars.study.results.dataset import SIDES, Dataset, newest_runs, of_study
from stackwars.study.results.programs import compiler_title
from stackwars.study.results.schema import is_missing
from stackwars.study.results.verdicts import COMPILER, DECIDED, FRONTEND, NO_DATA, NO_INTERVAL, NOT_DECIDED

SUPPORTED = "supported"
CONTRADICTED = "contradicted"
NOT_TESTABLE = "not testable here"
DECISIONS = (SUPPORTED, CONTRADICTED)
CLAIM_VERDICTS = (SUPPORTED, CONTRADICTED, NOT_DECIDED, NOT_TESTABLE)
FOR, AGAINST, OPEN = "for", "against", "open"
MANY = 7
"""If more rows than this say the same, only the minimum and the maximum are shown."""
NO_DATA_FOR = "no data for "
_ORDER = (FOR, AGAINST, OPEN)
WITHIN = "within the tolerance"
BELOW, NOT_BELOW = "below", "not below"
FAMILIES = {
    **dict.fromkeys(("torch_xla_dynamo", "torchax"), "torch_xla"),
    **{"torch_inductor_frozen": "torch_inductor", "tensorflow_graph": "tensorflow_xla"},
}
"""Variants of a stack, and that stack: a unit counts both as one."""
_TELLING = (
    *("baseline", "compiler", "variant", "size", "value", "pass", "device", "target"),
    *("level", "quantity", "baseline_workload", "baseline_compiler", "effect", "subset"),
)
"""The columns that tell rows of one title apart, the first that is needed first."""


@dataclass(frozen=True)
class Vote:
    """The vote of one row: for, against or open; the word for it; and the number behind it.

    row: the columns that identify it, without the empty ones. A row without data has the word NO_DATA.
    """

    vote: str
    word: str
    title: str = ""
    number: str = ""  # as it is shown
    value: float | None = None
    row: dict[str, Any] | None = None

    @property
    def is_silent(self) -> bool:
        return self.word == NO_DATA


class Tally(NamedTuple):
    """The number of votes for a claim, against it, and open."""

    supports: int
    contradicts: int
    open: int


Without = dict[str, list[Vote]]
"""Votes without a compiler or a frontend, by its name."""


def votes_for(claim: Claim, dataset: Dataset) -> list[Vote]:
    """Return a vote for each row that the claim is about, those without data included; or for each unit."""
    return by_unit(claim, row_votes(claim, dataset))


def row_votes(claim: Claim, dataset: Dataset) -> list[Vote]:
    """Return a vote for each row that the claim is about, those without data included."""
    query = claim.query
    result = rows_of(claim, dataset)
    limit = None
    if "below" in query:  # the row that others are compared with does not vote itself
        is_limit = matches(result, query["below"])
        limit, result = next(iter(result[is_limit].to_dict("records")), None), result[~is_limit]
    rows = result.to_dict("records")
    keys = schema.KEYS[query["table"]]
    return [
        replace(_vote_on_every_kind(claim, row, limit), title=title, row=identity(row, keys))
        for row, title in zip(rows, titles(rows, query.get("unit", keys)), strict=True)
    ]


def by_unit(claim: Claim, votes: list[Vote]) -> list[Vote]:
    """Return the votes of the units of some rows, or of the rows, in the claim's own words."""
    labels = claim.query.get("labels", {})
    votes = _units(votes, claim.query["unit"]) if "unit" in claim.query else votes
    return [replace(vote, word=labels.get(vote.word, vote.word)) for vote in votes]


def _vote_on_every_kind(claim: Claim, row: Row, limit: Row | None) -> Vote:
    """Return the vote of a row; a comparison's is over all kinds of machine, and open unless they agree."""
    votes = [_vote(claim, one, limit) for one in row.get(EACH_KIND, [row])]
    if len(votes) == 1:
        return votes[0]
    sides, words = ({getattr(vote, name) for vote in votes} for name in ("vote", "word"))
    values = [vote.value for vote in votes if vote.value is not None]
    return Vote(
        sides.pop() if len(sides) == 1 else OPEN,
        words.pop() if len(words) == 1 else verdicts.over_kinds([vote.word for vote in votes]),
        number=" and ".join(vote.number for vote in votes),
        value=min(values, key=lambda value: abs(value - 1), default=None),
    )


def _vote(claim: Claim, row: Row, limit: Row | None) -> Vote:
    query = claim.query
    if query["table"] == "cells" and row["status"] != Status.OK:
        return Vote(OPEN, NO_DATA)  # what is left in the row of a wrong or invalid cell decides nothing
    if "number" not in query:
        return _by_word(query, claim.tolerance, row)
    if is_missing(row[query["number"]]):
        return Vote(OPEN, NO_DATA)
    return _below(query["number"], row, limit) if "below" in query else _by_limit(query, row)


def _by_word(query: dict, tolerance: float, row: Row) -> Vote:
    """Return a vote by a word; a direction of a ratio within 1 +- the tolerance is open."""
    word = row[query.get("field", "verdict")] or row.get("verdict", "")
    if word in ("", NO_DATA):
        return Vote(OPEN, NO_DATA)
    vote = FOR if word in query["supports"] else AGAINST if word in query["contradicts"] else OPEN
    if word in DECIDED and not is_missing(row.get("ratio")) and abs(row["ratio"] - 1) <= tolerance:
        vote, word = OPEN, WITHIN
    return Vote(vote, word, "", *_shown(row, query.get("show_field", "ratio")))


def _by_limit(query: dict, row: Row) -> Vote:
    """Return a vote by a ratio's one-sided 95 % intervals: against one limit, one end decides."""
    low = high = math.nan
    if not is_missing(row["error"]) and not is_missing(row["dof"]):
        half = LogRatio(math.log(row["ratio"]), row["error"], row["dof"]).half_width(2 * LEVEL - 1)
        low, high = row["ratio"] * math.exp(-half), row["ratio"] * math.exp(half)
    if "at_most" in query:
        limit, words = query["at_most"], ("at most", "over")
        supports, contradicts = high <= limit, low > limit
    else:
        limit, words = query["at_least"], ("at least", "under")
        supports, contradicts = low >= limit, high < limit
    vote = FOR if supports else AGAINST if contradicts else OPEN
    open_word = NO_INTERVAL if math.isnan(low) else OPEN
    word = open_word if vote == OPEN else f"{words[vote == AGAINST]} {limit:g}"
    return Vote(vote, word, "", *_shown(row | {"low": low, "high": high}, query.get("show_field", "ratio")))


def _below(name: str, row: Row, limit: Row | None) -> Vote:
    """Return a vote on whether a number, with its interval if it has one, is below another row's."""
    if limit is None or is_missing(limit[name]):
        return Vote(OPEN, NO_DATA)
    (low, high), (other_low, other_high) = _ends(row, name), _ends(limit, name)
    vote, word = OPEN, OPEN
    if high < other_low:
        vote, word = FOR, BELOW
    elif low > other_high or low == high == other_high:  # a count has no interval
        vote, word = AGAINST, NOT_BELOW
    return Vote(vote, word, "", f"{general(row[name])} against {general(limit[name])}", row[name])


def _units(votes: list[Vote], columns: list[str]) -> list[Vote]:
    """Return one vote for all rows of a unit: theirs if they agree, else an open one.

    A row without data does not count in a unit in which others have some. Variants of a stack stand behind it.
    """
    units: dict[str, list[Vote]] = {}
    for vote in sorted(votes, key=lambda vote: bool(FAMILIES.keys() & (vote.row or {}).values())):
        row = {name: value for name, value in (vote.row or {}).items() if name in columns}
        unit = str({name: FAMILIES.get(value, value) for name, value in row.items()})
        units.setdefault(unit, []).append(replace(vote, row=row))
    merged = []
    for group in units.values():
        cast = [vote for vote in group if not vote.is_silent] or group
        sides, words = {vote.vote for vote in cast}, sorted({vote.word for vote in cast})
        number = (cast[0].number, cast[0].value) if len(cast) == 1 else ("", None)
        side = sides.pop() if len(sides) == 1 else OPEN
        merged.append(Vote(side, " and ".join(words), cast[0].title, *number, cast[0].row))
    return merged


def _ends(row: Row, name: str) -> tuple[float, float]:
    """Return the ends of a number's interval; twice the number if its table has no columns for one."""
    stem, unit = (name[:-3], "_ms") if name.endswith("_ms") else (name, "")
    return tuple(row.get(f"{stem}_{end}{unit}", row[name]) for end in ("low", "high"))


def _shown(row: Row, name: str) -> tuple[str, float | None]:
    """Return ``1.31 (1.27 to 1.35)`` for a ratio, a share as a percentage; nothing without a number."""
    value = row.get(name)
    if is_missing(value) or isinstance(value, str):
        return "", None
    if name.endswith("share"):
        return percent(value), value
    if name != "ratio" or is_missing(row["low"]):
        return general(value), value
    return f"{general(value)} ({general(row['low'])} to {general(row['high'])})", value


def rows_of(claim: Claim, dataset: Dataset) -> pd.DataFrame:
    """Return the rows that a claim is about.

    All cells and programs of a workload come from one run; comparisons are pooled over the runs of each kind. A
    configuration without the claim's study has none.
    """
    query = claim.query
    table, where = query["table"], query["where"]
    study = study_of(dataset.config, claim)
    if study not in dataset.config.studies:
        return schema.empty(table)
    if table == "comparisons":
        result = dataset.comparisons(study)
    elif table == "cells":
        result = dataset.rows("cells", study)
    else:
        result = of_study(dataset.study(study), dataset.table(table))
    result = result[matches(result, where)]
    if table == "programs":
        # Chosen from what the claim is about: a run may have more programs of a workload and none for this target.
        result = result[result["run"] == result["workload"].map(newest_runs(dataset, result, study)).fillna("")]
    return result


def matches(table: pd.DataFrame, where: dict[str, Any]) -> pd.Series:
    """Return which rows have these values: one of them if a list is given."""
    result = pd.Series(True, index=table.index)
    for column, wanted in where.items():
        result &= table[column].isin(listed(wanted))
    return result


def identity(row: Row, columns: list[str]) -> Row:
    return {name: row[name] for name in columns if not is_missing(row[name]) and row[name] != ""}


def titles(rows: list[Row], columns: list[str]) -> list[str]:
    """Return what each row is called, ``MHA under torch_xla (jaxlib 0.7.1)``.

    The framework is named if there are several, and those of the columns that tell rows of one name apart.
    """
    names = [row.get("title") or workloads.load(row["workload"]).TITLE for row in rows]
    for side in (side for side in SIDES if side in columns and len({row[side] for row in rows}) > 1):
        names = [f"{name} under {frameworks.title(row[side])}" for name, row in zip(names, rows, strict=True)]
    details: list[list[str]] = [[] for _ in rows]
    shown = names
    for column in (name for name in _TELLING if name in columns):
        more = [[*detail, *_text(column, row[column])] for row, detail in zip(rows, details, strict=True)]
        if len(set(_joined(names, more))) > len(set(shown)):
            details, shown = more, _joined(names, more)
    return shown


def _joined(names: list[str], details: list[list[str]]) -> list[str]:
    return [f"{name} ({', '.join(some)})" if some else name for name, some in zip(names, details, strict=True)]


def _text(column: str, value: Any) -> list[str]:
    """Return how a value is shown; nothing if there is none."""
    if is_missing(value) or value == "":
        return []
    if column == "baseline":
        return [f"over {frameworks.title(value)}"]
    if column in ("compiler", "baseline_compiler"):
        return [compiler_title(value)]
    return [f"{value:g}" if isinstance(value, float) else str(value)]


def votes_without(claim: Claim, dataset: Dataset) -> Without:
    """Return the votes of a claim without each level of its factors; nothing if its query leaves nothing out."""
    study = dataset.study(study_of(dataset.config, claim))
    levels = {COMPILER: study.compilers, FRONTEND: study.programs}
    query, result = claim.query, {}
    for factor in query.get("leave_out", ()):
        for level in levels[factor]:
            where = query["where"] | {"subset": effects.without(factor, level)}
            result[level] = votes_for(replace(claim, query=query | {"where": where}), dataset)
    return result


def judge(claim: Claim, votes: list[Vote], without: Without) -> tuple[str, str]:
    """Return the verdict and the count that decides, ``9 of 15 for (9 needed); not without iree-3.13: 7 of 15``.

    Without a level the majority is enough: a vote to spare is needed with all levels alone.
    """
    quantifier, cast = claim.query["quantifier"], tally(votes)
    verdict, count = quantified(quantifier, cast), margin(quantifier, cast)
    if verdict not in DECISIONS:
        return verdict, count
    winning = 0 if verdict == SUPPORTED else 1
    lost = [
        f"not without {level}: {left[winning]} of {sum(left)}"
        for level, left in ((level, _on_rows_of(votes, some)) for level, some in without.items())
        if quantified(quantifier, left, spare=0) != verdict
    ]
    return (NOT_DECIDED if lost else verdict), "; ".join([count, *lost])


def _on_rows_of(votes: Iterable[Vote], some: Iterable[Vote]) -> Tally:
    """Return some votes on the rows that all votes are on; a row without one leaves it open."""
    known = {_place(vote): vote for vote in some}
    cast = tally(known[place] for place in map(_place, votes) if place in known)
    return cast._replace(open=len(list(votes)) - cast.supports - cast.contradicts)


def _place(vote: Vote) -> str:
    return str({name: value for name, value in (vote.row or {}).items() if name != "subset"})


def tally(votes: Iterable[Vote]) -> Tally:
    sides = [vote.vote for vote in votes]
    return Tally(*(sides.count(side) for side in _ORDER))


def quantified(quantifier: str, votes: Tally, spare: int = 1) -> str:
    """Return the verdict of a claim with this quantifier: ``every``, or ``most``, which is more than half of all votes.

    A claim is supported or contradicted only if the open votes cannot change that any more. spare: so many votes
    on the winning side of ``most`` may turn to the other side without another verdict; unanimous votes need none.
    """
    total = sum(votes)
    if not total:
        return NOT_TESTABLE
    supports, contradicts, _ = votes
    if quantifier == "every":
        is_supported, is_contradicted = supports == total, contradicts > 0
    else:
        is_supported = supports == total or 2 * (supports - spare) > total
        is_contradicted = contradicts == total or 2 * (contradicts - spare) >= total
    if is_supported:
        return SUPPORTED
    return CONTRADICTED if is_contradicted else NOT_DECIDED


def margin(quantifier: str, votes: Tally) -> str:
    """Return the count that decides, ``9 of 15 for, 4 against (9 needed)``: all, or a majority and one more."""
    total = sum(votes)
    against = f", {votes.contradicts} against" if votes.contradicts else ""
    needed = total if quantifier == "every" else min(total, total // 2 + 2)
    return f"{votes.supports} of {total} for{against} ({needed} needed)"


def evidence(votes: Sequence[Vote]) -> str:
    """Return ``slower in 2 of 3: FFN 1.31 (1.27 to 1.35), MHA 1.44 (1.4 to 1.48); faster in 1: ...``.

    :func:`counts` takes the counts out again.
    """
    cast = sorted((vote for vote in votes if not vote.is_silent), key=lambda vote: _ORDER.index(vote.vote))
    by_word: dict[str, list[Vote]] = {}
    for vote in cast:
        by_word.setdefault(vote.word, []).append(vote)
    parts = []
    for word, same in by_word.items():
        count = f" in {len(same)}" if len(cast) > 1 else ""
        of = f" of {len(cast)}" if count and not parts else ""
        details = _details(same)
        parts.append(f"{word}{count}{of}{': ' if details else ''}{details}")
    silent = [vote.title for vote in votes if vote.is_silent]
    return "; ".join([*parts, *([NO_DATA_FOR + ", ".join(silent)] if silent else [])])


def counts(text: str) -> str:
    """Return the counts alone of an :func:`evidence`: ``slower in 2 of 3, faster in 1``."""
    parts = (part.partition(": ")[0] for part in text.split("; "))
    return ", ".join(part for part in parts if not part.startswith(NO_DATA_FOR))


def _details(votes: list[Vote]) -> str:
    if len(votes) <= MANY:
        return ", ".join(f"{vote.title} {vote.number}".strip() for vote in votes)
    known = sorted((vote for vote in votes if vote.value is not None), key=lambda vote: vote.value)
    if not known:
        return ""
    low, high = known[0], known[-1]
    if low.number == high.number:
        return f"all {low.number}"
    return f"from {low.number} ({low.title}) to {high.number} ({high.title})"
