"""Tables of latencies, stacks, audits, claims, and what the artifact needs."""

import json

import pandas as pd
import yaml

from made_tables import checked
from stackwars.publish.paper.tables import claims
from stackwars.publish.paper.tables.write import render
from stackwars.study.results.dataset import Dataset, Sources
from table_fixture import BY_NAME, NAN, body, cell, compared, shown, sources


def test_tables_one_to_three_have_our_times_and_the_published_ones_verbatim(tmp_path):
    rows = shown(tmp_path, "I", cells=[cell("jax"), cell("torch_xla")])
    times = ["10.00", "9.00--11.0", "20.00", "19.0--21.0", "30.00", "29.0--31.0"]
    assert rows[0] == ["GEMM", "JAX", *times, "250", "3"]
    # 250 items a second of fenced calls of 30 ms; 16 calls with one fence take half of that each.
    unfenced, *_ = shown(tmp_path, "I", cells=[cell("jax", throughput_ms=15.0)])
    assert unfenced[-2] == "500"
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


def test_the_steady_time_of_a_wrong_cell_is_struck_out(tmp_path):
    wrong = {"status": "wrong", "status_detail": "1 of 128 elements wrong: the last", "struck_ms": 12.5}
    row, *_ = shown(tmp_path, "I", cells=[cell("jax", **wrong)])
    assert row[1:] == [
        "JAX",
        r"\multicolumn{4}{c}{wrong, 1 of 128 elements wrong}",
        r"\struck{12.50}",
        "",
        "",
        "3",
    ]
    untimed = shown(tmp_path, "I", cells=[cell("jax", **wrong | {"struck_ms": NAN})])
    assert untimed[0][3] == r"\struck{---}"


def test_a_cell_whose_baseline_has_no_time_says_so(tmp_path):
    rows = [compared("steady", NAN)]
    found, *_ = shown(tmp_path, "published", cells=[cell("torch_xla")], comparisons=rows)
    assert found[5] == r"\multicolumn{4}{c}{no time of the baseline}"


def test_a_fault_has_its_smallest_sizes_and_who_else_is_right(tmp_path):
    odd = {"variant": "odd1", "sizes": "m=17 k=3"}
    wrong = {"status": "wrong", "status_detail": "96 of 128 elements wrong (the last 12 of axis 0)"}
    crash = {"status": "crash", "status_detail": "SIGSEGV in the first call\nlast line"}
    rows = [checked(**wrong), checked(**wrong | odd), checked(variant="odd2", sizes="m=1 k=1")]
    rows += [checked(name, **odd) for name in ("torch_xla", "torchax", "numpy", "tensorflow_xla")]
    rows += [checked(compiler="iree-3.13", **odd), checked("torch_xla", compiler="iree-3.13", **odd | crash)]
    rows += [checked("torchax", "timeout", compiler="iree-3.13", **odd)]
    rows += [checked("numpy", "unsupported", compiler="iree-3.13", status_detail="the compiler refuses it")]
    rows += [checked(one, variant="odd2", sizes="m=1 k=1", **wrong) for one in ("torchax", "torch_xla")]
    found = shown(tmp_path, "faults", values=rows)
    assert found[0] == [
        "GEMM", "m 17, k 3", "2 of 3", "JAX", "jaxlib 0.7.1", "wrong", wrong["status_detail"],
        r"torch\_xla, torchax, NumPy, 1 more", "IREE 3.13",
    ]  # fmt: skip
    assert found[1][3:] == [
        r"torch\_xla", "IREE 3.13", "crash", "SIGSEGV in the first call", "JAX", "jaxlib 0.7.1",
    ]  # fmt: skip
    assert [row[5] for row in found] == ["wrong", "crash", "timeout", "wrong"]
    assert found[3][3] == r"torchax, torch\_xla", "programs that fail alike share a row"


def test_faults_are_of_this_run_or_else_of_the_reference(tmp_path):
    def data(name: str, rows: list[dict]) -> Dataset:
        return sources(tmp_path / name, values=rows).run

    reference = Dataset(data("a", []).config, data("b", [checked(status="crash")]).folder, is_reference=True)
    shown_here = render(BY_NAME["faults"], Sources(data("c", [checked()]), reference, []))
    assert "no program that was checked is wrong" in shown_here and "Checked in this run." in shown_here
    without = render(BY_NAME["faults"], Sources(data("d", []), reference, []))
    assert "crash" in body(without)[0] and "over the accepted runs" in without


def test_marks_variants_and_frameworks_without_a_form_are_explained(tmp_path):
    rows = [cell("jax", "resnet50", gated=False, steady_class="no steady state")]
    rows += [cell("torch_xla_pending", "resnet50"), cell("torch_xla", "resnet50", status="unsupported")]
    text = render(BY_NAME["II"], sources(tmp_path, cells=rows))
    assert r"29.0--31.0$^{\S}$$^{\dagger}$" in text
    assert r"$^{\dagger}$: fewer than half" in text
    assert r"Pending: torch\_xla with inputs still" in text
    assert r"torch\_xla has no form of these workloads." in text
    assert [row[1] for row in body(text) if "published" not in row[1]] == ["JAX", r"\quad pending"]


def test_published_ratios_stand_beside_ours(tmp_path):
    steady = compared("steady", detectable=0.14, contended=True, agreement="differs")
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
    assert gemm[8:] == [r"14\,\%", r"2.00 $\blacktriangle$ [1.80, 2.20]", "differs"]
    assert llama[2:4] == [r"\multicolumn{3}{c}{oom in both}", r"\multicolumn{4}{c}{oom}"]


def test_the_variance_has_a_column_for_each_level(tmp_path, monkeypatch):
    found = [
        {"quantity": "ratio", "device": "cpu", "level": level, "deviation": deviation, "count": 3}
        for level, deviation in (("process", None), ("round", 0.19), ("run", 0.098), ("machine", 0.084))
    ]
    monkeypatch.setattr(
        "stackwars.publish.paper.tables.latency.variance.table", lambda runs: pd.DataFrame(found)
    )
    assert shown(tmp_path, "variance") == [
        ["Steady ratio, all cores", "---", r"19\,\%", r"9.8\,\%", r"8.4\,\%"]
    ]


def test_what_a_stack_is_comes_from_its_module(tmp_path):
    rows = dict(shown(tmp_path, "explained"))
    assert rows["JAX"].startswith(r"\texttt{jax.jit} over a pure function")
    assert len(rows) > 10


def test_pairs_have_a_column_each_and_workloads_without_a_ratio_no_row(tmp_path):
    pair = {"subject": "torch_inductor", "baseline": "torch_eager"}
    rows = [compared("pairwise", 0.5, **pair), compared("pairwise", NAN, **pair, workload="mha", title="MHA")]
    found = shown(tmp_path, "pairwise", comparisons=rows)
    assert len(found) == 1 and found[0][0] == "GEMM"
    assert found[0][1].startswith("0.500") and set(found[0][2:]) == {"---"}


def test_two_forms_of_a_function_are_named_by_what_differs(tmp_path):
    rows = [
        compared("form", ratio, workload=one, baseline_workload=other, variant=stage)
        | {"subject": name, "baseline": name}
        for one, other in (("unrolled_rnn", "scan_rnn"), ("moe_sorted", "moe"))
        for name in ("torch_inductor", "jax", "numpy")
        for stage, ratio in (("steady", 1.5), ("first", 2.0))
    ]
    found = shown(tmp_path, "forms", comparisons=rows)
    assert [row[:2] for row in found] == [
        ["Mixture of experts, sorted / plain", "JAX"],
        ["", "TorchInductor"],
        ["RNN, unrolled / scan", "JAX"],
        ["", "TorchInductor"],
    ]
    assert found[0][2].startswith("1.50") and found[0][3].startswith("2.00")


def test_the_lecture_has_its_pairs_alone(tmp_path):
    lecture = {"workload": "two_matmuls", "title": "Two products", "subject": "torch_inductor"}
    rows = [
        compared("steady", 1.6, **lecture, published_ratio=1.0439, agreement="agrees"),
        compared("steady", published_ratio=2.0),
    ]
    found = shown(tmp_path, "lecture", comparisons=rows)
    assert [row[:3] + row[4:] for row in found] == [["Two products", "TorchInductor / JAX", "1.04", "agrees"]]


def test_audits_are_of_this_run_or_else_of_the_reference(tmp_path):
    own = sources(tmp_path)
    text = render(BY_NAME["audits"], own)
    assert {row[2] for row in body(text)} == {"not run"} and "No audit was run." in text
    entry = {"id": "aa", "title": "A/A", "verdict": "fail", "aim": "x", "figures": {}, "detail": "2 of 5"}
    document = {"schema": 3, "run": "r1", "revisions": ["abc"], "machine": "A CPU", "audits": [entry]}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "audits.json").write_text(json.dumps(document))
    both = Sources(own.run, Dataset(own.run.config, tmp_path / "other", True), [])
    text = render(BY_NAME["audits"], both)
    assert ["A/A", "x", "fail", "2 of 5"] in body(
        text
    ) and "Of the run r1, with revision abc, on A CPU." in text


def claim(identity: str, origin: str = "ours", **columns: object) -> dict:
    known = {"verdict": "supported", "margin": "2 of 3, needs 2"}
    known |= {"evidence": "slower in 2 of 3: A 1.2, B 1.3; faster in 1: C 0.9"}
    return {"id": identity, "origin": origin, "sentence": f"It is {identity}."} | known | columns


def test_claims_have_their_margin_and_counts_and_untestable_ones_the_reason(tmp_path):
    reason = {"verdict": "not testable here", "margin": "", "evidence": "no TPU here (no driver)"}
    rows = [claim("b", "transferred"), claim("a", "published", **reason), claim("c")]
    first, second = shown(tmp_path, "claims_original", claims=rows)
    assert first[1:] == ["It is a.", "not testable here", "", "no TPU here (no driver)"]
    assert second[0].startswith("On this CPU")
    assert second[3:] == ["2 of 3, needs 2", "slower in 2 of 3, faster in 1"]


def test_our_claims_are_those_that_the_text_uses(tmp_path, monkeypatch):
    text = (
        r"\claimbox{boxed} \begin{relies}{relied=supported, steady/gemm/torch_xla=slower} unused \end{relies}"
    )
    monkeypatch.setattr(claims, "texts", lambda: {"a.tex": text})
    rows = [claim(name) for name in ("boxed", "relied", "unused")]
    assert [row[0] for row in shown(tmp_path, "claims_ours", claims=rows)] == ["It is boxed.", "It is relied."]


def test_what_the_artifact_needs_is_in_the_paper(tmp_path):
    document = yaml.safe_load(claims.EVALUATION.read_text(encoding="utf-8"))
    rows = shown(tmp_path, "needs")
    assert [row[0].lower() for row in rows] == [one["what"].lower() for one in document["needs"]]
