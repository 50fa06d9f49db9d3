"""Tables of the stacks, of audits, of claims, and of what the artifact needs."""

from __future__ import annotations

import json
import re

import yaml

from stackwars.paper.tables import artifact, claims
from stackwars.paper.tables.render import render
from stackwars.results.dataset import Dataset, Sources
from stackwars.setup.environments import REPOSITORY
from table_fixture import BY_NAME, NAN, body, compared, shown, sources


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
        compared(
            "form", ratio, workload=one, baseline_workload=other, subject=name, baseline=name, variant=stage
        )
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
    assert {row[2] for row in body(text)} == {"not run"} and "Of this run." in text
    entry = {"id": "aa", "title": "A/A", "verdict": "fail", "aim": "x", "figures": {}, "detail": "2 of 5"}
    document = {"schema": 2, "run": "r1", "audits": [entry]}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "audits.json").write_text(json.dumps(document))
    both = Sources(own.run, Dataset(own.run.config, tmp_path / "other", True), [])
    text = render(BY_NAME["audits_full"], both)
    assert ["A/A", "x", "fail", "2 of 5"] in body(text) and "Of the accepted run r1." in text


def claim(identity: str, origin: str = "ours", **columns: object) -> dict:
    known = {
        "verdict": "supported",
        "margin": "2 of 3, needs 2",
        "evidence": "slower in 2 of 3: A 1.2, B 1.3; faster in 1: C 0.9",
    }
    return {"id": identity, "origin": origin, "sentence": f"It is {identity}."} | known | columns


def test_claims_have_their_margin_and_counts_and_untestable_ones_the_reason(tmp_path):
    reason = {"verdict": "not testable here", "margin": "", "evidence": "no TPU here (no driver)"}
    rows = [claim("b", "transferred"), claim("a", "published", **reason), claim("c")]
    first, second = shown(tmp_path, "claims_original", claims=rows)
    assert first[1:] == ["It is a.", "not testable here", "", "no TPU here (no driver)"]
    assert second[0].startswith("The same")
    assert second[3:] == ["2 of 3, needs 2", "slower in 2 of 3, faster in 1"]


def test_our_claims_are_those_that_the_text_uses(tmp_path, monkeypatch):
    text = (
        r"\claimbox{boxed} \begin{relies}{relied=supported, steady/gemm/torch_xla=slower} unused \end{relies}"
    )
    monkeypatch.setattr(claims, "texts", lambda: {"a.tex": text})
    rows = [claim(name) for name in ("boxed", "relied", "unused")]
    assert [row[0] for row in shown(tmp_path, "claims_ours", claims=rows)] == ["It is boxed.", "It is relied."]


def test_what_the_artifact_needs_names_targets_that_exist(tmp_path):
    document = yaml.safe_load(artifact.SOURCE.read_text(encoding="utf-8"))
    rows = shown(tmp_path, "needs")
    assert len(rows) == len(document["needs"]) + len(document["quick_start"])
    assert [artifact.minutes(value) for value in (0.3, 1.7)] == ["18 s", "1.7 min"]
    targets = [
        one["command"].split()[1] for one in document["quick_start"] if one["command"].startswith("make ")
    ]
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
