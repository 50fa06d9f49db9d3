"""The rules of the sections on replay, memory and programs."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from stackwars.findings.programs import CLAIMS, UNDECIDED
from stackwars.measure.log_ratio import LogRatio
from stackwars.results import compiler_verdicts as words
from stackwars.results.verdicts import (
    FASTER,
    NO_DATA,
    NO_DIFFERENCE,
    NOT_DECIDED,
    SLOWER,
    UNRESOLVED,
)


@pytest.mark.parametrize(
    ("older", "newer", "verdict"),
    [
        (SLOWER, FASTER, words.SIGN_CHANGES),
        (FASTER, FASTER, words.SAME_DIRECTION),
        (NO_DIFFERENCE, SLOWER, words.ONE_GENERATION),
        (NO_DIFFERENCE, NO_DIFFERENCE, words.NO_EFFECT),
        (UNRESOLVED, SLOWER, UNRESOLVED),
        (NO_DIFFERENCE, UNRESOLVED, UNRESOLVED),
        (NO_DATA, SLOWER, NO_DATA),
        (NOT_DECIDED, SLOWER, NO_DATA),
    ],
)
def test_two_generations(older, newer, verdict):
    assert words.generations(older, newer) == verdict


def log_ratio(value: float, error: float | None = 0.01) -> LogRatio:
    return LogRatio(math.log(value), error, None if error is None else 3.0)


@pytest.mark.parametrize(
    ("edited", "other", "verdict"),
    [
        (log_ratio(0.6), log_ratio(0.5), words.CLOSES_MOST),
        (log_ratio(1.7), log_ratio(2.0), words.CLOSES_MOST),  # the faster one, slowed
        (log_ratio(0.85), log_ratio(0.5), words.CLOSES_PART),
        (log_ratio(0.71), log_ratio(0.5), words.CLOSES_SOME),  # about half
        (log_ratio(0.6, 0.1), log_ratio(0.5), words.CLOSES_SOME),  # too wide to tell
        (log_ratio(1.0, 0.005), log_ratio(0.5), NO_DIFFERENCE),
        (log_ratio(0.8, 0.2), log_ratio(0.5), UNRESOLVED),
        (log_ratio(1.15), log_ratio(0.5), words.WIDENS),
        (log_ratio(0.6), log_ratio(0.5, 0.4), UNRESOLVED),
        (log_ratio(0.6, None), log_ratio(0.5), NO_DATA),
        (log_ratio(0.6), log_ratio(0.5, None), NO_DATA),
    ],
)
def test_an_edit_is_judged_as_far_as_intervals_decide(edited, other, verdict):
    assert words.edit_effect(edited, other) == verdict


def test_the_share_that_an_edit_closes():
    assert words.share_closed(log_ratio(0.5), log_ratio(0.25)) == pytest.approx(0.5)
    assert words.share_closed(log_ratio(2.0), log_ratio(4.0)) == pytest.approx(0.5)
    assert words.share_closed(log_ratio(0.9), log_ratio(1.0)) is None


@pytest.mark.parametrize(
    ("sizes", "verdict"),
    [
        (["oom", "oom"], words.EXPLAINED),
        (["fits", "oom"], words.EXPLAINED_IF_LARGER),
        (["fits", "", "fits"], words.NOT_EXPLAINED),
        (["", ""], NO_DATA),
    ],
)
def test_what_bytes_explain(sizes, verdict):
    assert words.explains(sizes) == verdict


@pytest.mark.parametrize(
    ("torch", "jax", "verdict"),
    [
        ((208, 209), (200, 201), words.MORE),
        ((90, 91), (200, math.nan), words.LESS),
        ((200, 201), (200, 201), words.SAME),
        ((200, 230), (210, 220), words.NOT_SEPARATED),
        ((200, math.nan), (200, math.nan), words.NOT_SEPARATED),
        ((math.nan, math.nan), (200, 201), NO_DATA),
    ],
)
def test_frontiers_are_told_apart_only_where_brackets_are(torch, jax, verdict):
    assert words.largest_batch(torch, jax) == verdict


def test_the_words_of_the_claims_are_those_that_the_rules_give():
    rules = Path(__file__).parents[2] / "src" / "stackwars" / "ir" / "structure.py"
    said = {word for claim in CLAIMS.values() for word in (claim.baseline, claim.subject)}
    for word in (said | UNDECIDED | set(CLAIMS)) - {None, ""}:
        assert f'"{word}"' in rules.read_text(), word
