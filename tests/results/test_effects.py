"""The two-way decomposition of the matrix of frontends and compilers."""

import math

import numpy as np
import pandas as pd
import pytest

from made_tables import accepted, replay
from measured import config
from stackwars.study.config import load
from stackwars.study.results import effects, schema, tables
from stackwars.study.results.effects import decompose, largest, with_ends
from stackwars.study.results.verdicts import COMPILER, FRONTEND, NOT_SEPARATED

RANDOM = np.random.default_rng(5)


def logs(frontend=0.0, compiler=0.0, interaction=0.0, noise=0.0, rounds=4):
    """(rounds, 3, 2) with effects of these sizes."""
    rows, columns = np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 1.0])
    plain = frontend * rows[:, None] + compiler * columns + interaction * np.outer(rows, columns)
    return plain + noise * RANDOM.normal(size=(rounds, 3, 2)) + RANDOM.normal(size=(rounds, 1, 1))


def test_interval_contains_the_share_and_two_rounds_have_none():
    inside = 0
    for _ in range(200):
        row = with_ends(decompose(logs(frontend=0.4, compiler=0.3, noise=0.05)))[FRONTEND]
        # Sums of squares: 0.16 * 2 * 2 of the frontends, 0.09 * 6 of the compilers.
        inside += row["share_low"] <= 0.64 / (0.64 + 0.54) <= row["share_high"]
    assert inside >= 180
    two = with_ends(decompose(logs(frontend=1, rounds=2)))
    assert math.isnan(two[FRONTEND]["share_low"]) and largest(two) == "no interval"


def test_a_compiler_with_a_gap_is_left_out_of_the_block():
    gaps = {("b", "new"): "error"}
    cells = pd.DataFrame(
        [(f, c, gaps.get((f, c), "ok")) for f in "abc" for c in ("old", "new")],
        columns=["framework", "compiler", "status"],
    )
    # A gap in one of two compilers of b weighs more than one in one of three programs of the compiler.
    assert effects.complete(cells) == (["a", "c"], ["old", "new"])


FRONTENDS = {"jax": 0.0, "torch_xla": 0.02, "torchax": 0.3}
COMPILERS = {"jaxlib-0.7.1": 0.0, "jaxlib-0.10.2": 0.01, "iree-3.13": 1.0}


def measured(workload="gemm", frontends=FRONTENDS, compilers=COMPILERS, rounds=3):
    """The cells and rounds of a workload: only IREE is much slower, and of PyTorch's frontends only the second."""
    pairs = [(frontend, compiler) for frontend in frontends for compiler in compilers]
    cells = [replay(*pair, workload) for pair in pairs]
    names = {"quantity": "process", "workload": workload, "device": "cpu", "basis": "interleaved", "rounds": 1}
    times = [
        {**names, "subject": frontend, "compiler": compiler, "round": number,
         "subject_ms": math.exp(frontends[frontend] + compilers[compiler] + (number % 2) * 1e-4)}
        for frontend, compiler in pairs for number in range(rounds)
    ]  # fmt: skip
    return cells, times


def built(cells, times, asked=None):
    return effects.build(
        asked or load(measure=[effects.STUDY]), schema.table("cells", cells), schema.table("rounds", times)
    )


def test_too_small_a_block_and_too_few_rounds_are_not_decomposed():
    assert built(*measured(rounds=1)).empty
    assert built(*measured(frontends={"jax": 0.0})).empty
    assert built(*measured(), asked=config(studies={"tables": {}})).empty


def two_runs(folder, first, second):
    """Return two accepted runs, of these workloads and effects of torchax; their own tables have no effects."""
    every = []
    for run, workloads in (("2026-01", first), ("2026-02", second)):
        cells, rounds = [], []
        for name, (compilers, effect) in workloads.items():
            own, times = measured(name, {**FRONTENDS, "torchax": effect}, compilers)
            cells, rounds = cells + own, rounds + times
        every.append(accepted(folder / run, cells=cells, rounds=rounds, effects=[]))
    return every


def of_reference(*runs, column="share"):
    table = tables.reference_tables(load(source="reference"), list(runs))["effects"]
    return table[table["subset"] == "all"].set_index(["effect", "workload"])[column]


def test_effects_of_the_reference_are_those_of_the_newest_run_of_each_workload(tmp_path):
    first = {"gemm": (COMPILERS, 2.0), "mha": (COMPILERS, 3.0)}
    every = two_runs(tmp_path, first, {"gemm": (COMPILERS, 0.3)})
    found, old, new = of_reference(*every), of_reference(every[0]), of_reference(every[1])
    assert found[COMPILER, "gemm"] == new[COMPILER, "gemm"] != pytest.approx(old[COMPILER, "gemm"])
    assert found[COMPILER, "mha"] == old[COMPILER, "mha"]
    assert found[COMPILER, "all"] == pytest.approx(found[COMPILER][["gemm", "mha"]].mean())
    runs = of_reference(*every, column="runs")
    assert runs[COMPILER, "gemm"] == 2 and runs[COMPILER, "mha"] == 1


def test_the_largest_effect_is_named_if_all_runs_name_it(tmp_path):
    alike = two_runs(tmp_path / "alike", {"gemm": (COMPILERS, 0.0)}, {"gemm": (COMPILERS, 0.1)})
    assert of_reference(*alike, column="largest")[COMPILER, "gemm"] == COMPILER
    apart = two_runs(tmp_path / "apart", {"gemm": (COMPILERS, 0.0)}, {"gemm": (COMPILERS, 90.0)})
    assert [of_reference(run, column="largest")[COMPILER, "gemm"] for run in apart] == [COMPILER, FRONTEND]
    assert of_reference(*apart, column="largest")[COMPILER, "gemm"] == NOT_SEPARATED
