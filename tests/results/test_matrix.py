"""The two-way decomposition of the matrix, and where its rows come from."""

import math

import numpy as np
import pandas as pd
import pytest

from stackwars.findings.matrix import subset_findings
from stackwars.results import matrix, matrix_subsets
from stackwars.results.folder import Folder
from stackwars.results.matrix import BOTH, COMPILER, FRONTEND, build, complete, decompose, effects
from stackwars.results.whole_study import Source
from stackwars.study.config import load
from stackwars.study.studies import Study

STUDY = Study("matrix", (), ("a", "b"), ("old", "new"), (), None, ("gemm", "mha"))
RANDOM = np.random.default_rng(5)


def logs(frontend=0.0, compiler=0.0, both=0.0, noise=0.0, rounds=4):
    """(rounds, 3, 2) with effects of these sizes."""
    rows, columns = np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 1.0])
    plain = frontend * rows[:, None] + compiler * columns + both * np.outer(rows, columns)
    return plain + noise * RANDOM.normal(size=(rounds, 3, 2)) + RANDOM.normal(size=(rounds, 1, 1))


@pytest.mark.parametrize(
    ("sizes", "name"),
    [({"frontend": 0.5}, FRONTEND), ({"compiler": 0.5}, COMPILER), ({"both": 0.5}, BOTH)],
)
def test_what_there_is_alone_has_the_whole_variance(sizes, name):
    found = decompose(logs(**sizes))
    assert found[name]["share"] == pytest.approx(1)
    assert sum(row["share"] for row in found.values()) == pytest.approx(1)


def test_factor_is_that_of_the_standard_deviation():
    # Compilers at exp(-0.3) and exp(0.3) of their mean.
    assert decompose(logs(compiler=0.3))[COMPILER]["factor"] == pytest.approx(math.exp(0.3))


def test_noise_alone_has_no_interaction_on_average():
    found = [decompose(logs(frontend=0.5, noise=0.2))[BOTH]["share"] for _ in range(300)]
    assert abs(np.mean(found)) < 0.02


def test_interval_contains_the_share_and_two_rounds_have_none():
    inside = 0
    for _ in range(200):
        row = decompose(logs(frontend=0.4, compiler=0.3, noise=0.05))[FRONTEND]
        # Sums of squares: 0.16 * 2 * 2 of the frontends, 0.09 * 6 of the compilers.
        inside += row["share_low"] <= 0.64 / (0.64 + 0.54) <= row["share_high"]
    assert inside >= 180
    assert math.isnan(decompose(logs(frontend=1, rounds=2))[FRONTEND]["share_low"])


def test_a_compiler_with_a_gap_is_left_out_of_the_block():
    cells = pd.DataFrame(
        [
            (f, c, "error" if (f, c) == ("b", "new") else "ok")
            for f in "abc"
            for c in ("old", "new")
        ],
        columns=["framework", "compiler", "status"],
    )
    # A gap in one of two programs of b weighs more than one in one of three of the compiler.
    assert complete(cells) == (["a", "c"], ["old", "new"])


def replay(workload, status="ok", ms=2.0):
    rows = [
        {"workload": workload, "title": workload, "framework": f, "compiler": c, "device": "cpu",
         "status": status, "replay_ms": ms * (1 + (c == "new"))}
        for f in "ab" for c in ("old", "new")
    ]  # fmt: skip
    return [*rows, {**rows[0], "framework": "a+edit"}]


def replayed(workload, rounds=3):
    return [
        {"workload": workload, "framework": f, "compiler": c, "repetition": r,
         "ungated_ms": 1.0 + (f == "b") + r / 100}
        for f in "ab" for c in ("old", "new") for r in range(rounds)
    ]  # fmt: skip


def source(folder, run, rows, blocks=()):
    path = folder / (run or "here")
    path.mkdir()
    pd.DataFrame(rows).to_csv(path / "replay.csv", index=False)
    pd.DataFrame(blocks).to_csv(path / "replayed.csv", index=False)
    return Source(run, path)


def test_a_workload_that_this_run_lacks_comes_whole_from_an_accepted_run(tmp_path):
    here = source(tmp_path, "", [*replay("gemm"), *replay("mha", "not run")], replayed("gemm"))
    newest = source(tmp_path, "2026-02", replay("gemm", ms=9.0), replayed("gemm"))
    oldest = source(tmp_path, "2026-01", [*replay("gemm"), *replay("mha", ms=5.0)], replayed("mha"))
    table = build(STUDY, [here, newest, oldest])
    assert list(table["framework"].unique()) == ["a", "b"]  # no edited program
    runs = table.groupby("workload")["run"].unique()
    assert (list(runs["gemm"]), list(runs["mha"])) == ([""], ["2026-01"])
    assert set(table["over_best"]) == {1.0, 2.0}
    found = effects(table, [here, newest, oldest]).set_index(["workload", "effect"])
    assert found.loc[("mha", FRONTEND), "run"] == "2026-01"
    assert found.loc[("gemm", FRONTEND), "share"] == pytest.approx(1)
    assert (found.loc[("all", FRONTEND), "share"], len(found)) == (pytest.approx(1), 9)


def test_a_cell_that_no_run_has_is_a_row_with_what_measures_it(tmp_path):
    part = [row for row in replay("gemm") if row["framework"] == "a"]
    other = [{**row, "status": "not run", "status_detail": "no result"} for row in replay("mha")]
    here = source(tmp_path, "", [*part, *other], replayed("gemm"))
    table = build(STUDY, [here])
    assert len(table.drop_duplicates(["workload", "framework", "compiler"])) == 2 * 2 * 2
    ok = table[table["status"] == "ok"]
    assert set(zip(ok["workload"], ok["framework"], strict=True)) == {("gemm", "a")}
    lacking = table[table["status"] == "not run"]
    assert len(ok) + len(lacking) == len(table)
    for row in lacking.itertuples():
        assert row.status_detail.endswith(f"make matrix WORKLOADS={row.workload}")


def test_without_such_a_study_there_are_headers_alone(tmp_path):
    for module in (matrix, matrix_subsets):
        module.write({"studies": {"tables": {}}}, Folder(tmp_path))
    assert list(pd.read_csv(tmp_path / "matrix.csv").columns) == list(matrix.COLUMNS)
    assert pd.read_csv(tmp_path / "matrix_effects.csv").empty
    assert pd.read_csv(tmp_path / "matrix_subsets.csv").empty


def test_an_effect_of_what_is_left_out_is_gone_without_it(tmp_path):
    # Only IREE is slower, and of PyTorch's two frontends only the second.
    compilers = {"jaxlib-0.7.1": 0.0, "jaxlib-0.10.2": 0.01, "iree-3.13": 1.0}
    frontends = {"jax": 0.0, "torch_xla": 0.02, "torchax": 0.3}
    times = [
        {
            "workload": "gemm",
            "framework": frontend,
            "compiler": compiler,
            "repetition": number,
            "ungated_ms": math.exp(own + other + (number % 2) * 1e-4),
        }
        for frontend, own in frontends.items()
        for compiler, other in compilers.items()
        for number in range(3)
    ]
    pd.DataFrame(times).to_csv(tmp_path / "replayed.csv", index=False)
    cells = (
        pd.DataFrame(times).drop_duplicates(["framework", "compiler"]).assign(status="ok", run="")
    )
    table = matrix_subsets.build(load(), cells, [Source("", tmp_path)]).assign(here=True)
    shares = table.set_index(["subset", "effect"])["share"]
    assert shares["all", COMPILER] > 0.9
    assert shares["XLA alone", FRONTEND] > 0.9
    assert shares["one frontend a dialect", COMPILER] > 0.99
    assert shares["both restrictions", FRONTEND] == pytest.approx(0.8, abs=0.01)
    found = {one["subset"]: one for one in subset_findings(table)}
    assert [one["by_compiler"] for one in found.values()] == [1, 0, 1, 0]
    assert (found["all"]["frontends"], found["both restrictions"]["frontends"]) == (3, 2)
    assert found["XLA alone"]["compilers"] == 2
