"""values.csv, from the documents of checks."""

import json

import numpy as np

from made_tables import OLD, check, values_of
from measured import config, write_results
from stackwars.results import native, raw, schema, values
from stackwars.results.raw import Raw

WRONG = {
    "status": "wrong",
    "status_detail": "96 of 128 elements wrong",
    "wrong": 96,
    "where": "the last 12 of axis 0",
}
CRASH = {"status": "crash", "status_detail": "SIGSEGV in the first call"}
CRASH |= dict.fromkeys(("wrong", "total", "l2", "largest", "where", "flaky"))


def test_a_row_for_each_program_with_what_was_found():
    found = values.build(config(), Raw(checks=[check({"jax": WRONG, "torch_xla": {}, "torchax": CRASH})]))
    rows = found.set_index("framework")
    assert list(found.columns) == list(schema.VALUES)
    assert tuple(rows.loc["jax", ["workload", "title", "sizes", "compiler", "variant"]]) == (
        "gemm", "GEMM", "m=16 k=32 n=64", OLD, "base",
    )  # fmt: skip
    jax, crashed = rows.loc["jax"], rows.loc["torchax"]
    assert tuple(jax[["status", "wrong", "total", "where", "flaky"]]) == (
        "wrong",
        96,
        128,
        WRONG["where"],
        False,
    )
    assert (jax["judge"], jax["largest_error"]) == ("NumPy in float64", 2e-7)
    assert tuple(crashed[["status", "status_detail", "judge", "flaky"]]) == (
        "crash",
        CRASH["status_detail"],
        "",
        None,
    )
    assert np.isnan(crashed["wrong"]) and rows.loc["torch_xla", "status"] == "ok"


def test_an_infinite_error_is_one_and_no_missing_number():
    infinite = WRONG | {"l2": None, "largest": None}
    found = values.build(config(), Raw(checks=[check({"jax": infinite})])).iloc[0]
    assert tuple(found[["l2", "largest_error"]]) == (np.inf, np.inf)
    assert native.judged(values_of(wrong=1, l2=None))["parity_rel_l2"] == np.inf


def test_rows_are_in_the_order_of_workloads_sizes_and_compilers():
    places = [("ffn", "odd2", OLD), ("ffn", "odd10", OLD), ("gemm", "odd1", OLD), ("gemm", "base", "iree-3.13")]
    places += [("gemm", "base", OLD), ("no_longer_there", "base", OLD)]
    checks = [check({"jax": {}}, workload=w, variant=v, compiler=c) for w, v, c in places]
    found = values.build(config(), Raw(checks=checks))
    assert [tuple(row) for row in found[["workload", "variant", "compiler"]].to_numpy()] == [
        ("gemm", "base", OLD), ("gemm", "base", "iree-3.13"), ("gemm", "odd1", OLD), ("ffn", "odd2", OLD),
        ("ffn", "odd10", OLD),
    ]  # fmt: skip


def test_the_checks_of_a_folder_are_read(tmp_path):
    folder = write_results(tmp_path)
    assert raw.read(config(), folder).checks == []
    path = folder / "checks" / OLD / "gemm" / "odd1" / "check.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(check({"jax": {}}, variant="odd1")))
    found = values.build(config(), raw.read(config(), folder))
    assert found["variant"].tolist() == ["odd1"]


def test_a_fault_is_wrong_crashed_or_outside_the_compiler():
    def is_fault(status: str, detail: str = "", *more: str) -> bool:
        return values.is_fault({"status": status, "status_detail": detail}, *more)

    assert is_fault("wrong") and is_fault("crash")
    assert is_fault("unsupported", "ran outside the compiler: aten::linalg_solve")
    assert not is_fault("ok") and not is_fault("unsupported", "the compiler refuses it")
    assert is_fault("timeout", "", "timeout") and not is_fault("timeout")
