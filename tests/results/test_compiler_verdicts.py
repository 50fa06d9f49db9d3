"""The rules of the sections on replay, memory and programs."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from stackwars.findings.programs import CLAIMS, UNDECIDED
from stackwars.results import compiler_verdicts as words
from stackwars.results.verdicts import FASTER, NO_DATA, NO_DIFFERENCE, NONE, SLOWER


@pytest.mark.parametrize(
    ("older", "newer", "verdict"),
    [
        (SLOWER, FASTER, words.SIGN_CHANGES),
        (FASTER, FASTER, words.SAME_DIRECTION),
        (NONE, SLOWER, words.ONE_GENERATION),
        (NONE, NONE, words.NO_EFFECT),
        (NO_DATA, SLOWER, NO_DATA),
    ],
)
def test_two_generations(older, newer, verdict):
    assert words.generations(older, newer) == verdict


@pytest.mark.parametrize(
    ("ir", "runtime", "values", "verdict"),
    [
        (SLOWER, NONE, (3.0, 9.0), words.DUE_TO_IR),  # a term that spans 0 is none, however large
        (SLOWER, FASTER, (3.0, -9.0), words.DUE_TO_RUNTIME),
        (NONE, NONE, (3.0, 9.0), words.NEITHER_TERM),
        (NO_DATA, NO_DATA, (3.0, 9.0), NO_DATA),
    ],
)
def test_the_larger_resolved_term_is_the_source(ir, runtime, values, verdict):
    assert words.source(ir, runtime, *values) == verdict


@pytest.mark.parametrize(
    ("low", "high", "share", "verdict"),
    [
        (0.59, 0.61, 0.8, words.CLOSES_MOST),
        (0.84, 0.86, 0.3, words.CLOSES_PART),
        (0.95, 1.04, 0.8, NO_DIFFERENCE),
        (1.12, 1.18, -0.3, words.WIDENS),
        (math.nan, math.nan, 0.8, NO_DATA),
        (0.59, 0.61, None, NO_DATA),
    ],
)
def test_an_edit_is_judged_where_the_paired_interval_leaves_1_out(low, high, share, verdict):
    assert words.edit_effect(low, high, share) == verdict


def test_the_share_that_an_edit_closes():
    assert words.share_closed(0.6, 0.5) == pytest.approx(0.8)
    assert words.share_closed(1.8, 2.0) == pytest.approx(0.8)  # the faster one, slowed
    assert words.share_closed(0.9, 1.0) is None


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
