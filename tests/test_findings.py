"""Findings from synthetic results: a verdict follows the numbers, and only where they allow it."""

from __future__ import annotations

import json
import math

import pandas
import pytest

import paper_fixture
from stackwars import verdicts
from stackwars.findings import write_findings


def findings_of(folder) -> dict[str, dict]:
    write_findings(paper_fixture.files(folder), folder / "findings.json")
    document = json.loads((folder / "findings.json").read_text())
    return {finding["id"]: finding for finding in document["findings"]}


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return findings_of(paper_fixture.write(tmp_path_factory.mktemp("full")))


@pytest.mark.parametrize(
    ("ratio", "low", "high", "verdict"),
    [
        (1.3, 1.2, 1.4, "slower"),
        (0.7, 0.6, 0.8, "faster"),
        (1.02, 0.98, 1.06, "no difference found"),
        (1.02, 1.0, 1.04, "no difference found"),
        (1.3, math.nan, math.nan, "not decided"),
        (math.nan, math.nan, math.nan, "no data"),
        (None, None, None, "no data"),
    ],
)
def test_a_direction_needs_an_interval_without_one(ratio, low, high, verdict):
    assert verdicts.direction(ratio, low, high) == verdict


def test_steady_verdicts_follow_the_ratios(full):
    assert full["steady/bert_base/torch_xla"]["verdict"] == verdicts.SLOWER
    assert full["steady/gpt2_small/torch_xla"]["verdict"] == verdicts.FASTER
    assert full["steady/gemm/torch_xla"]["verdict"] == verdicts.NO_DIFFERENCE
    llama = full["steady/llama3_8b/torch_xla"]
    assert llama["verdict"] == verdicts.NO_DATA
    assert llama["ratio"] is None
    assert llama["status"] == llama["baseline_status"] == "oom, refused at build"


def test_flipped_ratios_flip_every_decided_verdict(full, tmp_path):
    flipped = findings_of(paper_fixture.write(tmp_path, "flipped"))
    swap = {verdicts.SLOWER: verdicts.FASTER, verdicts.FASTER: verdicts.SLOWER}
    for name, finding in full.items():
        if name.startswith("steady/"):
            expected = swap.get(finding["verdict"], finding["verdict"])
            assert flipped[name]["verdict"] == expected, name
    assert full["headline"]["verdict"] == verdicts.HOLDS_IN_PART
    assert flipped["headline"]["verdict"] == verdicts.HOLDS_IN_PART
    assert flipped["agreement/bert_base"]["verdict"] == verdicts.DIFFERS


def test_two_slow_runs_are_those_that_compile_twice(full):
    assert full["stabilising/bert_base/torch_xla_pending"]["verdict"] == verdicts.TWO_SLOW_RUNS
    assert full["stabilising/bert_base/torch_xla"]["verdict"] == verdicts.ONE_SLOW_RUN
    assert full["stabilising/llama3_8b/torch_xla_pending"]["verdict"] == verdicts.NO_DATA


def test_bert_is_called_longest_only_where_intervals_part(full, tmp_path):
    assert full["bert_first"]["verdict"] == verdicts.NOT_LONGEST
    paper_fixture.write(tmp_path)
    frame = pandas.read_csv(tmp_path / "frame.csv")
    bert = (frame.workload == "bert_base") & (frame.framework == "jax") & (frame.device == "cpu")
    columns = ["first_ms", "first_low_ms", "first_high_ms"]
    for values, verdict in (
        ((9000.0, 8000.0, 9900.0), verdicts.LONGEST),
        ((4000.0, 3000.0, 5000.0), verdicts.NOT_DECIDED),
    ):
        frame.loc[bert, columns] = values
        frame.to_csv(tmp_path / "frame.csv", index=False)
        assert findings_of(tmp_path)["bert_first"]["verdict"] == verdict


def test_out_of_memory_is_set_beside_the_published_outcome(full):
    assert full["memory/llama3_8b/jax"]["verdict"] == verdicts.OOM_BOTH
    assert full["memory/vit_b16/torch_xla"]["verdict"] == verdicts.OOM_THERE
    assert full["memory/gemm/jax"]["verdict"] == verdicts.RAN_BOTH
    assert full["memory/conv/jax"]["verdict"] == verdicts.NO_DATA


def test_invalid_pairs_take_part_in_no_comparison(tmp_path):
    found = findings_of(paper_fixture.write(tmp_path, "invalid"))
    for name in ("steady/gemm/torch_xla", "first/mha/torch_xla", "gemm_first"):
        assert found[name]["verdict"] == verdicts.NO_DATA, name
    assert found["stabilising/mha/torch_xla"]["verdict"] == verdicts.NO_DATA
    assert len(found["invalid"]["cells"]) == 3
    assert found["parity"]["worst"] == pytest.approx(8e-7)


def test_one_repetition_decides_nothing(tmp_path):
    found = findings_of(paper_fixture.write(tmp_path, "single"))
    decided = {verdicts.SLOWER, verdicts.FASTER, verdicts.NO_DIFFERENCE}
    assert not [f for f in found.values() if f["verdict"] in decided]
    assert found["headline"]["verdict"] == verdicts.NOT_DECIDED


def test_nothing_run_gives_findings_that_say_so(tmp_path):
    found = findings_of(paper_fixture.write(tmp_path, "nothing"))
    assert found["cells"]["verdict"] == verdicts.NONE_OK
    for name in ("headline", "parity", "peak", "time", "bert_first", "ir/precision"):
        assert found[name]["verdict"] == verdicts.NO_DATA, name


def test_the_precision_is_that_of_every_program(full, tmp_path):
    assert full["ir/precision"]["precisions"] == ["HIGHEST"]
    paper_fixture.write(tmp_path)
    facts = json.loads((tmp_path / "facts.json").read_text())
    facts["ffn"]["torch_xla"]["precision"] = "DEFAULT"
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    assert findings_of(tmp_path)["ir/precision"]["precisions"] == ["DEFAULT", "HIGHEST"]
