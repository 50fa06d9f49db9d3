"""values.csv, from the documents of checks."""

import json

import numpy as np

from made_tables import OLD, check, outcome, values_of
from measured import config, write_results
from stackwars.study.results import native, programs, raw, schema
from stackwars.study.results.raw import Raw

WHERE = "the last 12 of axis 0"


def test_a_row_for_each_program_with_what_was_found():
    wrong = outcome("wrong", "96 of 128 elements wrong", wrong=96, where=WHERE)
    crash = outcome("crash", "SIGSEGV in the first call")
    found = programs.build_values(
        config(), Raw(checks=[check({"jax": wrong, "torch_xla": outcome(), "torchax": crash})])
    )
    rows = found.set_index("framework")
    assert list(found.columns) == list(schema.VALUES)
    names = ["workload", "title", "sizes", "compiler", "variant", "judge", "largest_error"]
    assert tuple(rows.loc["jax", names]) == (
        "gemm", "GEMM", "m=16 k=32 n=64", OLD, "base", "NumPy in float64", 2e-7,
    )  # fmt: skip
    outcomes = rows[["status", "status_detail", "wrong", "where", "flaky"]]
    assert tuple(outcomes.loc["jax"]) == ("wrong", wrong["status_detail"], 96, WHERE, False)
    assert tuple(rows.loc["torchax", ["status", "judge", "flaky"]]) == ("crash", "", None)
    assert np.isnan(rows.loc["torchax", "wrong"]) and rows.loc["torch_xla", "status"] == "ok"


def test_an_infinite_error_is_one_and_no_missing_number():
    infinite = outcome("wrong", wrong=96, l2=None, largest=None)
    found = programs.build_values(config(), Raw(checks=[check({"jax": infinite})])).iloc[0]
    assert tuple(found[["l2", "largest_error"]]) == (np.inf, np.inf)
    assert native.judged(values_of(wrong=1, l2=None))["parity_rel_l2"] == np.inf


def test_rows_are_in_the_order_of_workloads_sizes_and_compilers():
    places = [("ffn", "odd2", OLD), ("ffn", "odd10", OLD), ("gemm", "odd1", OLD), ("gemm", "base", "iree-3.13")]
    places += [("gemm", "base", OLD), ("no_longer_there", "base", OLD)]
    checks = [check(["jax"], workload=w, variant=v, compiler=c) for w, v, c in places]
    found = programs.build_values(config(), Raw(checks=checks))
    assert [tuple(row) for row in found[["workload", "variant", "compiler"]].to_numpy()] == [
        ("gemm", "base", OLD), ("gemm", "base", "iree-3.13"), ("gemm", "odd1", OLD), ("ffn", "odd2", OLD),
        ("ffn", "odd10", OLD),
    ]  # fmt: skip


def test_the_checks_of_a_folder_are_read(tmp_path):
    folder = write_results(tmp_path)
    assert raw.read(config(), folder).checks == []
    path = folder / "checks" / OLD / "gemm" / "odd1" / "check.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(check(["jax"], variant="odd1")))
    found = programs.build_values(config(), raw.read(config(), folder))
    assert found["variant"].tolist() == ["odd1"]


def test_a_fault_is_wrong_crashed_or_outside_the_compiler():
    def is_fault(status: str, detail: str = "", *more: str) -> bool:
        return programs.is_fault({"status": status, "status_detail": detail}, *more)

    assert is_fault("wrong") and is_fault("crash")
    assert is_fault("unsupported", "ran outside the compiler: aten::linalg_solve")
    assert not is_fault("ok") and not is_fault("unsupported", "the compiler refuses it")
    assert is_fault("timeout", "", "timeout") and not is_fault("timeout")
