"""Tables I to III, the ratios of both papers, and how much ours vary."""

from __future__ import annotations

import pandas as pd

from stackwars.paper.tables.render import render
from table_fixture import BY_NAME, body, cell, compared, shown, sources


def test_tables_one_to_three_have_our_times_and_the_published_ones_verbatim(tmp_path):
    rows = shown(tmp_path, "I", cells=[cell("jax"), cell("torch_xla")])
    assert rows[0] == [
        "GEMM",
        "JAX",
        "10.00",
        "9.00--11.0",
        "20.00",
        "19.0--21.0",
        "30.00",
        "29.0--31.0",
        "250",
        "3",
    ]
    assert rows[3] == ["", r"\quad\textit{published}", "0.198", "", "0.086", "", "0.055", "", "", ""]
    assert len(rows) == 4


def test_a_failed_cell_shows_why_and_an_absent_device_has_no_row(tmp_path):
    failed = cell("jax", "llama3_8b", status="oom", status_detail="refused at build: MemoryError: 224 MiB")
    absent = cell("torch_xla", "llama3_8b", device="tpu", status="not run")
    present = cell("torch_xla", "llama3_8b", device="cuda")
    rows = shown(tmp_path, "III", cells=[failed, absent, present])
    assert rows[0][2] == r"\multicolumn{7}{c}{oom, refused at build}"
    assert rows[1][2] == r"\multicolumn{7}{c}{oom}"
    assert [row[1] for row in rows if "published" not in row[1]] == ["JAX", r"torch\_xla, cuda"]


def test_marks_variants_and_frameworks_without_a_form_are_explained(tmp_path):
    rows = [cell("jax", "resnet50", gated=False, steady_class="no steady state")]
    rows += [cell("torch_xla_pending", "resnet50"), cell("numpy", "resnet50", status="unsupported")]
    text = render(BY_NAME["II"], sources(tmp_path, cells=rows))
    assert r"29.0--31.0$^{\S}$$^{\dagger}$" in text
    assert r"$^{\dagger}$: of all blocks" in text
    assert r"Pending: torch\_xla with inputs still" in text
    assert "NumPy has no form of these workloads." in text
    assert [row[1] for row in body(text) if "published" not in row[1]] == ["JAX", r"\quad pending"]


def test_published_ratios_stand_beside_ours(tmp_path):
    steady = compared("steady", p_adjusted=0.0004, detectable=0.14, contended=True, agreement="differs")
    rows = [
        steady | {"published_ratio": 0.2868},
        compared("first", 1.05, published_ratio=0.0048),
        compared("second"),
    ]
    rows += [compared("steady", 2.0, device="cpu-1t")]
    cells = [cell("torch_xla"), cell("torch_xla", "llama3_8b", status="oom")]
    gemm, llama = shown(tmp_path, "published", cells=cells, comparisons=rows)
    assert gemm[2:5] == ["0.00480", "---", "0.287"]  # the second run's has no published ratio here
    assert gemm[5] == r"1.05 $\cdot$ [0.945, 1.16]"
    assert gemm[7] == r"1.50 $\blacktriangle$ [1.35, 1.65]$^{\ddagger}$"
    assert gemm[8:] == ["$<$0.001", r"14\,\%", r"2.00 $\blacktriangle$ [1.80, 2.20]", "differs"]
    assert llama[2:4] == [r"\multicolumn{3}{c}{oom in both}", r"\multicolumn{5}{c}{oom}"]


def test_the_variance_has_a_column_for_each_level(tmp_path, monkeypatch):
    found = [
        {"quantity": "ratio", "device": "cpu", "level": level, "deviation": deviation, "count": 3}
        for level, deviation in (("process", None), ("round", 0.19), ("run", 0.098), ("machine", 0.084))
    ]
    monkeypatch.setattr("stackwars.paper.tables.latency.variance.table", lambda runs: pd.DataFrame(found))
    assert shown(tmp_path, "variance") == [
        ["Steady ratio, all cores", "---", r"19\,\%", r"9.8\,\%", r"8.4\,\%"]
    ]
