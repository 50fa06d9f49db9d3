"""Which word stands for which numbers."""

import math

import pytest

from stackwars.core.ratio import NO_DATA, SLOWER
from stackwars.study.results import programs, verdicts
from stackwars.study.results.verdicts import agreement, amount, largest_batch, runs_by_times, shape

NAN = math.nan


@pytest.mark.parametrize(("rule", "given", "word"), [
    (agreement, (0.5, SLOWER), verdicts.DIFFERS),
    (agreement, (None, SLOWER), verdicts.NOT_COMPARABLE),
    (agreement, (2.0, NO_DATA), verdicts.NOT_COMPARABLE),
    (runs_by_times, ("steady at once", 0), verdicts.ONE_SLOW_RUN),
    (runs_by_times, ("warm-up", 2), verdicts.TWO_SLOW_RUNS),
    (runs_by_times, ("warm-up", 7), verdicts.MORE_SLOW_RUNS),
    (runs_by_times, (verdicts.NO_STEADY_STATE, 0), verdicts.NOT_DECIDED),
    (runs_by_times, ("", NAN), NO_DATA),
    (shape, (False, 2), "compiled again"),
    (shape, (True, None), ""),
    (amount, (1000, 0), NO_DATA),
    (largest_batch, ((90, 91), (200, NAN)), verdicts.LESS),
    (largest_batch, ((200, 201), (200, 201)), verdicts.SAME),
    (largest_batch, ((200, 230), (210, 220)), verdicts.NOT_SEPARATED),
    (largest_batch, ((200, NAN), (200, NAN)), verdicts.NOT_SEPARATED),
    (largest_batch, ((NAN, NAN), (200, 201)), NO_DATA),
])  # fmt: skip
def test_words(rule, given, word):
    assert rule(*given) == word


def test_names_of_compilers_targets_and_variants():
    compilers = ["iree-3.13", "jaxlib-0.10.2-no-ynn", "jaxlib-0.10.2", "jaxlib-0.7.1"]
    titles = ["IREE 3.13", "jaxlib 0.10.2 without YNN", "jaxlib 0.10.2", "jaxlib 0.7.1"]
    assert [programs.compiler_title(name) for name in compilers] == titles
    assert programs.base_compiler(compilers[1]) == programs.base_compiler(compilers[2]) == compilers[2]
    row = {"batch": 8.0, "sequence": 512.0}
    assert programs.variant_title(row) == "8\u00d7512"
    assert programs.variant_title(row | {"sequence": NAN}) == "8"
    assert programs.variant_title(row | {"batch": NAN}) == "not recorded"
