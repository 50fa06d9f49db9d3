"""How rows vote on a claim: by a word, by a number against a limit, or by a number against another row's."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from stackwars.claims import query as queries
from stackwars.claims.definitions import Claim
from stackwars.claims.verdicts import AGAINST, FOR, OPEN, Vote
from stackwars.measure.log_ratio import LEVEL, LogRatio
from stackwars.results.dataset import Dataset
from stackwars.results.schema import is_missing
from stackwars.results.verdicts import DECIDED, NO_DATA, NO_INTERVAL

WITHIN = "within the tolerance"
BELOW, NOT_BELOW = "below", "not below"
Row = dict[str, Any]


def of_claim(claim: Claim, dataset: Dataset) -> list[Vote]:
    """Return a vote for each row that the claim is about, those without data included; or for each unit."""
    query = claim.query
    result = queries.rows(claim, dataset)
    limit = None
    if "below" in query:  # the row that others are compared with does not vote itself
        is_limit = queries.matches(result, query["below"])
        limit, result = next(iter(result[is_limit].to_dict("records")), None), result[~is_limit]
    rows = result.to_dict("records")
    columns = query.get("unit", queries.KEYS[query["table"]])
    votes = [
        replace(_vote(claim, row, limit), title=title, row=queries.identity(row, columns))
        for row, title in zip(rows, queries.titles(rows, columns), strict=True)
    ]
    votes = _units(votes) if "unit" in query else votes
    labels = query.get("labels", {})
    return [replace(vote, word=labels.get(vote.word, vote.word)) for vote in votes]


def _vote(claim: Claim, row: Row, limit: Row | None) -> Vote:
    query = claim.query
    if query["table"] == "cells" and "status" not in query["where"] and row["status"] != "ok":
        return Vote(OPEN, NO_DATA)  # what is left in the row of a wrong or invalid cell decides nothing
    if "number" not in query:
        return _by_word(query, claim.tolerance, row)
    if is_missing(row[query["number"]]):
        return Vote(OPEN, NO_DATA)
    if "below" in query:
        return _below(query["number"], row, limit)
    return _by_number(query, claim.tolerance, row)


def _by_word(query: dict, tolerance: float, row: Row) -> Vote:
    """Return a vote by a word; a direction of a ratio within 1 +- the tolerance is open."""
    word = row[query.get("field", "verdict")]
    if word in ("", NO_DATA):
        return Vote(OPEN, NO_DATA)
    vote = FOR if word in query["supports"] else AGAINST if word in query["contradicts"] else OPEN
    if word in DECIDED and not is_missing(row.get("ratio")) and abs(row["ratio"] - 1) <= tolerance:
        vote, word = OPEN, WITHIN
    return Vote(vote, word, "", *_shown(row, query.get("show_field", "ratio")))


def _by_number(query: dict, tolerance: float, row: Row) -> Vote:
    """Return a vote by a number and its interval; without one it is open within the tolerance of its limit."""
    name = query["number"]
    if name == "ratio":
        row = row | _one_sided(row)
    low, high = _ends(row, name)
    open_word = NO_INTERVAL if math.isnan(low) else OPEN
    if not _has_interval(row, name):
        low, high, open_word = low * (1 - tolerance), high * (1 + tolerance), WITHIN
    if "at_most" in query:
        limit, words = query["at_most"], ("at most", "over")
        supports, contradicts = high <= limit, low > limit
    else:
        limit, words = query["at_least"], ("at least", "under")
        supports, contradicts = low >= limit, high < limit
    vote = FOR if supports else AGAINST if contradicts else OPEN
    word = open_word if vote == OPEN else f"{words[vote == AGAINST]} {limit:g}".replace("e-0", "e-")
    return Vote(vote, word, "", *_shown(row, query.get("show_field", name)))


def _one_sided(row: Row) -> Row:
    """Return the ends of the two one-sided 95 % intervals of a ratio: against one limit, one end decides."""
    if is_missing(row["error"]) or is_missing(row["dof"]):
        return {"low": math.nan, "high": math.nan}
    half = LogRatio(math.log(row["ratio"]), row["error"], row["dof"]).half_width(2 * LEVEL - 1)
    return {"low": row["ratio"] * math.exp(-half), "high": row["ratio"] * math.exp(half)}


def _below(name: str, row: Row, limit: Row | None) -> Vote:
    """Return a vote on whether a number, with its interval if it has one, is below that of another row."""
    if limit is None or is_missing(limit[name]):
        return Vote(OPEN, NO_DATA)
    (low, high), (other_low, other_high) = _ends(row, name), _ends(limit, name)
    vote, word = OPEN, OPEN
    if high < other_low:
        vote, word = FOR, BELOW
    elif low > other_high or (low == other_high and not _has_interval(row, name)):
        vote, word = AGAINST, NOT_BELOW
    return Vote(vote, word, "", f"{digits(row[name])} against {digits(limit[name])}", row[name])


def _units(votes: list[Vote]) -> list[Vote]:
    """Return one vote for all rows of a unit: theirs if they agree, else an open one.

    A row without data says nothing in a unit in which others have some.
    """
    units: dict[str, list[Vote]] = {}
    for vote in votes:
        units.setdefault(str(vote.row), []).append(vote)
    merged = []
    for every in units.values():
        said = [vote for vote in every if not vote.is_silent] or every
        sides, words = {vote.vote for vote in said}, sorted({vote.word for vote in said})
        number = (said[0].number, said[0].value) if len(said) == 1 else ("", None)
        side = sides.pop() if len(sides) == 1 else OPEN
        merged.append(Vote(side, " and ".join(words), said[0].title, *number, said[0].row))
    return merged


def _has_interval(row: Row, name: str) -> bool:
    return _names_of_ends(name)[0] in row


def _ends(row: Row, name: str) -> tuple[float, float]:
    """Return the ends of a number's interval; twice the number if its table has no columns for one."""
    low, high = _names_of_ends(name)
    return (row[low], row[high]) if low in row else (row[name], row[name])


def _names_of_ends(name: str) -> tuple[str, str]:
    if name == "ratio":
        return "low", "high"
    stem, unit = (name[:-3], "_ms") if name.endswith("_ms") else (name, "")
    return f"{stem}_low{unit}", f"{stem}_high{unit}"


def _shown(row: Row, name: str) -> tuple[str, float | None]:
    """Return ``1.31 (1.27 to 1.35)`` for a ratio, a share as a percentage; nothing without a number."""
    value = row.get(name)
    if is_missing(value) or isinstance(value, str):
        return "", None
    if name.endswith("share"):
        return f"{100 * value:.0f} %", value
    if name != "ratio" or is_missing(row["low"]):
        return digits(value), value
    return f"{digits(value)} ({digits(row['low'])} to {digits(row['high'])})", value


def digits(value: float) -> str:
    """Return three digits; a power of ten if plain decimals would be unreadable."""
    if math.isinf(value):
        return "infinite"
    size = abs(value)
    if not size:
        return "0"
    if not 1e-3 <= size < 1e5:
        mantissa, _, exponent = f"{value:.1e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{value:.0f}" if size >= 100 else f"{value:#.3g}"
