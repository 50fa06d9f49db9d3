"""Rows that a claim is about, their votes, and verdicts without each compiler and frontend."""

import pytest

from claims_fixture import claim, config, dataset
from made_tables import cell, comparison, program
from stackwars.study.claims.decide import decide
from stackwars.study.claims.votes import votes_for
from stackwars.study.results import effects
from stackwars.study.studies import full_study

STEADY = {"where": {"quantity": "steady"}, "supports": ["slower"], "contradicts": ["faster"]}
CELLS = {"table": "cells", "where": {"framework": "jax"}}
SLOW_RUNS = {
    **CELLS, "field": "slow_runs", "supports": ["one slow run"], "contradicts": ["two slow runs"],
}  # fmt: skip


def said(query, folder, tolerance=0.02, is_reference=False, **tables) -> list[tuple[str, str, str]]:
    """The vote, the word and the title of each row."""
    votes = votes_for(claim(query, tolerance=tolerance), dataset(folder, is_reference, **tables))
    return [(vote.vote, vote.word, vote.title) for vote in votes]


def test_a_direction_within_the_tolerance_is_open(tmp_path):
    rows = [comparison("mha", 1.015, error=1e-4)]
    assert said(STEADY, tmp_path, comparisons=rows) == [("open", "within the tolerance", "MHA")]
    assert said(STEADY, tmp_path, 0.01, comparisons=rows)[0][0] == "for"


@pytest.mark.parametrize("status", ["wrong", "invalid", "crash"])
def test_a_cell_that_is_not_ok_has_no_data(tmp_path, status):
    rows = [cell("jax", status=status, slow_runs="one slow run"), cell("jax", "mha", slow_runs="one slow run")]
    assert said(SLOW_RUNS, tmp_path, cells=rows) == [
        ("open", "no data", "GEMM"),
        ("for", "one slow run", "MHA"),
    ]


@pytest.mark.parametrize(("limit", "word"), [("at_most", "at most 1.05"), ("at_least", "under 1.05")])
def test_a_ratio_is_tested_against_a_limit_on_one_side_whatever_its_two_sided_interval(limit, word, tmp_path):
    """t(0.95, 2) = 2.92 and t(0.975, 2) = 4.30: exp(2.92 * 0.015) = 1.045, exp(4.30 * 0.015) = 1.067."""
    row = comparison("mha", 1.0, 0.015, dof=2.0, low=0.9, high=1.2)
    query = {"where": {"quantity": "steady"}, "number": "ratio", limit: 1.05}
    [found] = votes_for(claim(query), dataset(tmp_path, comparisons=[row]))
    assert (found.word, found.number) == (word, "1.00 (0.957 to 1.04)")


@pytest.mark.parametrize(
    ("low", "high", "vote"),
    [(1.0, 2.0, "for"), (1.0, 9.5, "open"), (11.5, 13.0, "against"), (None, None, "open")],
)
def test_a_time_is_below_that_of_another_row_with_its_whole_interval(low, high, vote, tmp_path):
    query = {**CELLS, "number": "first_ms", "below": {"workload": "bert_base"}}
    bert = cell("jax", "bert_base", first_ms=10.0, first_low_ms=9.0, first_high_ms=11.0)
    rival = cell("jax", "resnet50", first_ms=5.0, first_low_ms=low, first_high_ms=high)
    [found] = votes_for(claim(query), dataset(tmp_path, cells=[rival, bert]))
    assert (found.vote, found.title, found.number) == (vote, "ResNet-50", "5.00 against 10.0")
    [alone] = votes_for(claim(query), dataset(tmp_path, cells=[rival]))
    assert alone.is_silent


@pytest.mark.parametrize(("operations", "vote"), [(5, "for"), (10, "against"), (11, "against")])
def test_a_count_is_below_another_exactly(operations, vote, tmp_path):
    query = {"table": "programs", "number": "operations", "below": {"workload": "bert_base"}}
    rows = [program("jax", "resnet50", operations=operations), program("jax", "bert_base", operations=10)]
    assert said(query, tmp_path, programs=rows)[0][:2] == (vote, "below" if vote == "for" else "not below")


def test_programs_are_of_the_run_that_has_those_asked_for(tmp_path):
    """A newer run may have more programs of a workload, and none for the target."""
    rows = [program("jax", target="tpu-v6e", run="1", verdict="fits")]
    rows += [program("jax", level=level, run="2") for level in ("raw", "normalised")]
    where = {"target": "tpu-v6e"}
    query = {"study": "targets", "table": "programs", "where": where, "supports": ["fits"], "contradicts": []}
    assert said(query, tmp_path, is_reference=True, programs=rows)[0][0] == "for"


STUDY = full_study(config(), effects.STUDY)
WORKLOADS = STUDY.workloads[:5]
QUERY = {
    "table": "effects", "study": effects.STUDY, "where": {"subset": "all", "effect": "compiler"}, "field": "largest",
    "supports": ["compiler"], "contradicts": ["frontend"], "leave_out": ["compiler", "frontend"],
}  # fmt: skip
LEVELS = [("compiler", name) for name in STUDY.compilers] + [("frontend", name) for name in STUDY.programs]


def effect(subset: str, words: dict[str, str]) -> list[dict]:
    """Return a row a workload: which effect is the largest on it."""
    return [
        {"subset": subset, "workload": name, "effect": "compiler", "largest": word}
        for name, word in words.items()
    ]


def decided(folder, of_all: dict[str, str], **without: dict[str, str]):
    """Decide by these words; each level that is not named leaves them as they are."""
    rows = effect("all", of_all)
    for factor, level in LEVELS:
        rows += effect(effects.without(factor, level), without.get(level, of_all))
    return decide(claim(QUERY), dataset(folder, effects=rows))


def words(supports: int, others: str = "frontend") -> dict[str, str]:
    """Return the largest effects of five workloads."""
    return {name: "compiler" if place < supports else others for place, name in enumerate(WORKLOADS)}


def test_a_level_that_carries_the_majority_is_named(tmp_path):
    found = decided(tmp_path, words(4), **{"jaxlib-0.10.2": words(2), "jax": words(2, "not separated")})
    assert found.verdict == "not decided"
    assert (
        found.margin
        == "4 of 5 for, 1 against (4 needed); not without jaxlib-0.10.2: 2 of 5; not without jax: 2 of 5"
    )
    against = decided(tmp_path, words(1), **{"iree-3.13": words(3)})
    assert (against.verdict, against.margin) == (
        "not decided",
        "1 of 5 for, 4 against (4 needed); not without iree-3.13: 2 of 5",
    )


def test_a_workload_without_a_row_leaves_its_vote_open(tmp_path):
    left = dict.fromkeys(WORKLOADS[:2], "compiler")
    found = decided(tmp_path, words(5), **{"iree-3.13": left})
    assert found.margin == "5 of 5 for (4 needed); not without iree-3.13: 2 of 5"
    table = dataset(tmp_path, effects=effect("all", words(5)))
    assert decide(claim(QUERY), table).verdict == "not decided"


@pytest.mark.parametrize(
    ("words", "side", "word"),
    [
        (("slower", "slower"), "for", "slower"),
        (("slower", "faster"), "open", "opposite"),
        (("slower", "equivalent"), "open", "inconclusive"),
        (("faster", "faster"), "against", "faster"),
    ],
)
def test_a_comparison_votes_as_all_kinds_of_machine_do(tmp_path, words, side, word):
    rows = [comparison("gemm", 2.0, verdict=one, machine=name) for name, one in zip("ab", words, strict=True)]
    [vote] = votes_for(claim(STEADY), dataset(tmp_path, comparisons=rows))
    assert (vote.vote, vote.word) == (side, word)
    assert vote.number.count("2.00 (") == 2, "the ratio of each kind"


def test_a_limit_holds_only_if_it_holds_on_every_kind_of_machine(tmp_path):
    query = {"where": {"quantity": "steady"}, "number": "ratio", "at_least": 1.1}
    for ratios, side in (((2.0, 1.5), "for"), ((2.0, 1.0), "open"), ((1.0, 1.0), "against")):
        rows = [comparison("gemm", ratio, machine=name) for name, ratio in zip("ab", ratios, strict=True)]
        [vote] = votes_for(claim(query), dataset(tmp_path / side, comparisons=rows))
        assert vote.vote == side
