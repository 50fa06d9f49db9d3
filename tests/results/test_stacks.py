"""Every stack beside the best of its workload."""

import pandas as pd
import pytest

from stackwars.results.stacks import COLUMNS, build
from stackwars.results.whole_study import Source
from stackwars.study.studies import Study

STUDY = Study("stacks", ("a", "b"), (), (), (), ("cpu",), ("gemm", "mha"))


def cell(workload, framework, ms, status="ok", device="cpu"):
    known = ms if status == "ok" else None
    return {
        "workload": workload, "title": workload, "kind": "basic", "framework": framework, "device": device,
        "status": status, "status_detail": "", "first_ms": known and 100 * ms, "steady_ms": known,
        "peak_rss_bytes": known and 1e9 * ms,
    }  # fmt: skip


def source(folder, run, cells):
    path = folder / (run or "here")
    path.mkdir()
    pd.DataFrame(cells).to_csv(path / "frame.csv", index=False)
    ratio = {"steady_ratio": 2.0, "steady_ratio_low": 1.9, "steady_ratio_high": 2.1}
    ratio |= {"steady_verdict": "slower", "steady_error": 0.02, "steady_freedom": 2.0}
    rows = [
        {
            "workload": c["workload"],
            "device": c["device"],
            "framework": "b",
            **ratio,
            "steady_verdict": "slower",
        }
        for c in cells
        if c["framework"] == "b"
    ]
    pd.DataFrame(rows).to_csv(path / "ratios.csv", index=False)
    return Source(run, path)


def test_each_workload_is_of_one_run_and_over_its_best(tmp_path):
    here = source(
        tmp_path,
        "",
        [
            cell("gemm", "a", 1.0), cell("gemm", "b", 4.0), cell("gemm", "c", 0.1),
            cell("gemm", "b", 9.0, device="cpu-1t"), cell("mha", "a", 5.0),
            cell("mha", "b", 0, "not run"),
        ],
    )  # fmt: skip
    other = source(tmp_path, "2026-01", [cell("mha", "a", 3.0), cell("mha", "b", 2.0)])
    table = build(STUDY, [here, other])
    assert list(table.columns) == list(COLUMNS)
    known = table.set_index(["workload", "framework"])
    assert len(known) == 4
    assert known.loc[("gemm", "b"), "steady_over_best"] == 4.0
    assert set(known.loc["mha", "run"]) == {"2026-01"}
    assert known.loc[("mha", "a"), "first_over_best"] == pytest.approx(1.5)
    assert known.loc[("mha", "a"), "memory_over_best"] == pytest.approx(1.5)
    assert known.loc[("gemm", "b"), "steady_ratio"] == 2.0
    assert pd.isna(known.loc[("gemm", "a"), "steady_ratio"])


def test_a_stack_without_a_number_keeps_its_reason(tmp_path):
    table = build(
        STUDY, [source(tmp_path, "", [cell("gemm", "a", 1.0), cell("gemm", "b", 0, "oom")])]
    )
    lost = table[table["framework"] == "b"].iloc[0]
    assert (lost["status"], pd.isna(lost["steady_over_best"])) == ("oom", True)


def test_what_ran_out_of_memory_was_run(tmp_path):
    oom = cell("gemm", "a", 0, "oom") | {"peak_rss_bytes": 18e9}
    cells = [oom, cell("gemm", "b", 0, "not run")]
    here = source(tmp_path, "", cells)
    other = source(tmp_path, "2026-01", [oom, oom | {"framework": "b"}])
    table = build(STUDY, [here, other])
    assert set(table["run"]) == {"2026-01"} and set(table["status"]) == {"oom"}
    # What it held until it failed is shown beside no other's need.
    assert table["memory_over_best"].isna().all() and (table["peak_rss_bytes"] == 18e9).all()


def test_a_study_with_no_workload_of_the_run_has_the_columns_alone(tmp_path):
    none = Study("stacks", ("a", "b"), (), (), (), ("cpu",), ())
    table = build(none, [source(tmp_path, "", [cell("gemm", "a", 1.0), cell("gemm", "b", 4.0)])])
    assert list(table.columns) == list(COLUMNS) and table.empty
