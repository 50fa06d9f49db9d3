"""A family of ratios lends each member its variance, and all intervals one level."""

import math

import numpy as np
import pytest

from made_tables import cell, compared, rounds
from stackwars.core.ratio import EQUIVALENT, FASTER, INCONCLUSIVE, SLOWER, LogRatio, direction
from stackwars.study.results import families
from stackwars.study.results.families import Prior


def test_a_variance_is_drawn_towards_its_family_by_degrees_of_freedom():
    assert families.shrink(4.0, 2, Prior(1.0, 4.0)) == (pytest.approx(2.0), 6.0)
    assert families.shrink(4.0, 2, None) == (4.0, 2)


def test_a_family_needs_three():
    assert families.fit_prior([1.0, 2.0], [2, 2]) is None
    assert families.fit_prior([1.0, 2.0, 3.0], [2, 2, 2]) is not None


def test_the_prior_of_a_family_is_found_again():
    random = np.random.default_rng(2)
    dofs = random.integers(2, 6, 3000)
    true = 0.01 * 6 / random.chisquare(6, 3000)
    prior = families.fit_prior(true * random.chisquare(dofs) / dofs, dofs)
    assert prior.variance == pytest.approx(0.01, rel=0.1) and prior.dof == pytest.approx(6, rel=0.2)


def test_variances_that_differ_by_chance_alone_are_one():
    random = np.random.default_rng(3)
    prior = families.fit_prior(0.01 * random.chisquare(3, 300) / 3, [3] * 300)
    assert prior.variance == pytest.approx(0.01, rel=0.15) and prior.dof > 20


def test_values_that_agree_to_every_digit_do_not_count_for_more_than_they_know():
    alike = families.fit_prior([1e-30, 0.01, 0.012, 0.009, 0.011], [2] * 5)
    assert 2e-4 < alike.variance < 0.1


def level_of(ratios: list[LogRatio]) -> float:
    def decided(level: float) -> int:
        return sum(direction(ratio.estimate(level)) != INCONCLUSIVE for ratio in ratios)

    return families.level(len(ratios), decided)


def test_is_benjamini_and_hochbergs_procedure():
    # p by Student's t with many degrees of freedom; of 4, the third is over 3 * 0.05 / 4.
    z = {0.001: 3.2905, 0.02: 2.3263, 0.04: 2.0537, 0.9: 0.1257}
    ratios = [LogRatio(value, 1.0, 1e9) for value in z.values()]
    assert level_of(ratios) == pytest.approx(1 - 0.05 * 2 / 4)
    assert [direction(ratio.estimate(level_of(ratios))) for ratio in ratios] == [SLOWER, SLOWER] + [
        INCONCLUSIVE
    ] * 2


def test_one_comparison_is_not_corrected_and_none_that_decides_leaves_the_strictest_level():
    assert level_of([LogRatio(3.0, 1.0, 1e9)]) == pytest.approx(0.95)
    assert level_of([LogRatio(0.1, 1.0, 1e9)] * 10) == pytest.approx(1 - 0.05 / 10)


def test_at_most_5_percent_of_what_is_decided_is_wrong():
    random, wrong, decided = np.random.default_rng(5), [], 0
    for _ in range(200):
        truths = np.where(random.random(120) < 0.6, 0.0, random.normal(0, 0.1, 120))
        ratios = []
        for truth in truths:
            error = 0.03 * math.sqrt(random.chisquare(4) / 4)
            ratios.append(LogRatio(truth + random.normal(0, 0.03), error, 4.0))
        level = level_of(ratios)
        words = [direction(ratio.estimate(level)) for ratio in ratios]
        right = {SLOWER: truths > 0, FASTER: truths < 0, EQUIVALENT: np.abs(truths) <= math.log(1.05)}
        false = [not right[word][n] for n, word in enumerate(words) if word != INCONCLUSIVE]
        decided += len(false)
        wrong.append(sum(false) / max(len(false), 1))
    assert decided > 1000 and np.mean(wrong) <= 0.05


def test_the_printed_interval_decides():
    names = ("gemm", "ffn", "mha", "conv", "layernorm", "ffn_relu")
    random, paired = np.random.default_rng(1), []
    for place, name in enumerate(names):
        paired += rounds(
            "steady", "torch_xla", tuple(np.exp(0.03 * place + random.normal(0, 0.05, 5))), workload=name
        )
    cells = [cell("torch_xla", name) for name in names]
    table = compared(cells, paired)
    table = table[table["quantity"] == "steady"]
    assert table["confidence"].nunique() == 1 and 0.95 < table["confidence"].iloc[0] < 1
    excludes = (table["low"] > 1) | (table["high"] < 1)
    assert set(table[excludes]["verdict"]) == {"slower"} and set(table[~excludes]["verdict"]) == {
        "inconclusive"
    }
