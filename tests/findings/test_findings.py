"""Findings from synthetic results: a verdict follows the numbers, and only where they allow it."""

from __future__ import annotations

import json

import pandas
import pytest

import paper_fixture
from claim_edits import edit
from stackwars.findings import sharding
from stackwars.findings.collect import write_findings
from stackwars.results import verdicts
from stackwars.results.folder import Folder
from stackwars.results.values import is_missing


def findings_of(folder) -> dict[str, dict]:
    write_findings(Folder(folder))
    document = json.loads((folder / "findings.json").read_text())
    return {finding["id"]: finding for finding in document["findings"]}


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return findings_of(paper_fixture.write(tmp_path_factory.mktemp("full")))


def changed(folder, file: str, where: dict, **values) -> dict[str, dict]:
    """The findings after setting columns in the rows that match."""
    edit(file, where, **values)(paper_fixture.write(folder))
    return findings_of(folder)


def test_steady_verdicts_follow_the_ratios(full):
    assert full["steady/bert_base/torch_xla"]["verdict"] == verdicts.SLOWER
    assert full["steady/gpt2_small/torch_xla"]["verdict"] == verdicts.FASTER
    assert full["steady/gemm/torch_xla"]["verdict"] == verdicts.UNRESOLVED
    assert full["steady/conv/torch_xla"]["verdict"] == verdicts.NO_DIFFERENCE
    bert = full["steady/bert_base/torch_xla"]
    assert bert["rounds"] == 4
    assert (bert["gated"], bert["contended"]) == (True, False)
    assert bert["low"] < bert["ratio"] < bert["high"]
    assert (bert["p_holm"], bert["detectable"]) == (0.0004, pytest.approx(0.042))
    assert full["steady/vit_b16/torch_xla"]["gated"] is False
    assert full["steady/resnet50/torch_xla_pending"]["contended"] is True
    assert full["first/bert_base/torch_xla"]["gated"] is None
    llama = full["steady/llama3_8b/torch_xla"]
    assert llama["verdict"] == verdicts.NO_DATA
    assert llama["ratio"] is None
    assert llama["status"] == llama["baseline_status"] == "oom, refused at build"


def test_an_interval_beside_a_ratio_is_that_ratio_s(full):
    # Claims print `ratio` with `low` and `high`, whatever the finding is about.
    pairs = {
        f["id"]: (f["low"], f["ratio"], f["high"])
        for f in full.values()
        if not any(is_missing(f.get(name)) for name in ("low", "ratio", "high"))
    }
    assert len(pairs) > 50
    assert {
        i: (low, ratio, high) for i, (low, ratio, high) in pairs.items() if not low <= ratio <= high
    } == {}


def test_a_direction_needs_the_corrected_verdict_and_not_an_interval(tmp_path):
    row = {"workload": "ffn", "framework": "torch_xla", "device": "cpu"}
    found = changed(tmp_path, "ratios", row, steady_verdict="unresolved", steady_p_holm=0.07)
    ffn = found["steady/ffn/torch_xla"]
    assert ffn["low"] > 1
    assert ffn["verdict"] == verdicts.UNRESOLVED
    assert found["agreement/ffn/torch_xla"]["verdict"] == verdicts.UNRESOLVED
    assert found["headline"]["unresolved"] == 2


def test_flipped_ratios_flip_every_decided_verdict(full, tmp_path):
    flipped = findings_of(paper_fixture.write(tmp_path, "flipped"))
    swap = {verdicts.SLOWER: verdicts.FASTER, verdicts.FASTER: verdicts.SLOWER}
    for name, finding in full.items():
        if name.startswith("steady/"):
            expected = swap.get(finding["verdict"], finding["verdict"])
            assert flipped[name]["verdict"] == expected, name
    assert full["headline"]["verdict"] == verdicts.HOLDS_IN_PART
    assert flipped["headline"]["verdict"] == verdicts.HOLDS_IN_PART
    assert flipped["agreement/bert_base/torch_xla"]["verdict"] == verdicts.DIFFERS


def test_two_slow_runs_are_those_that_compile_twice_and_are_slow_twice(full, tmp_path):
    assert full["stabilising/bert_base/torch_xla_pending"]["verdict"] == verdicts.TWO_SLOW_RUNS
    assert full["stabilising/bert_base/torch_xla"]["verdict"] == verdicts.ONE_SLOW_RUN
    assert full["stabilising/llama3_8b/torch_xla_pending"]["verdict"] == verdicts.NO_DATA
    slow_alone = full["stabilising/layernorm/jax"]
    assert slow_alone["verdict"] == verdicts.COUNTS_DISAGREE
    assert slow_alone["by_compiles"] == verdicts.ONE_SLOW_RUN
    assert slow_alone["by_times"] == verdicts.TWO_SLOW_RUNS
    compiled_alone = full["stabilising/gpt_neo_1p3b/torch_xla_pending"]
    assert compiled_alone["verdict"] == verdicts.COUNTS_DISAGREE
    assert compiled_alone["by_compiles"] == verdicts.TWO_SLOW_RUNS
    assert compiled_alone["by_times"] == verdicts.ONE_SLOW_RUN
    assert full["stabilising/ffn_relu/torch_xla"]["by_times"] == verdicts.MORE_SLOW_RUNS
    assert full["stabilising/mha/torch_xla"]["verdict"] == verdicts.NOT_DECIDED
    assert full["stabilising/conv/torch_xla"]["steady_class"] == verdicts.SLOWING
    row = {"workload": "bert_base", "framework": "torch_xla_pending", "device": "cpu"}
    found = changed(tmp_path, "frame", row, compiles_second=0)
    assert found["stabilising/bert_base/torch_xla_pending"]["verdict"] == verdicts.COUNTS_DISAGREE


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


def test_bert_is_not_called_longest_beside_some_of_its_rivals_alone(tmp_path):
    folder = paper_fixture.write(tmp_path)
    here = {"framework": "jax", "device": "cpu"}
    bert = dict.fromkeys(("first_ms", "first_low_ms", "first_high_ms"), 9000.0)
    edit("frame", {"workload": "bert_base", **here}, **bert)(folder)
    edit("frame", {"workload": "gpt2_small", **here}, status="timeout")(folder)
    assert findings_of(folder)["bert_first"]["verdict"] == verdicts.NO_DATA


def test_an_output_that_is_off_is_the_worst_of_any(tmp_path):
    where = {"workload": "mha", "framework": "torch_xla", "device": "cpu"}
    found = changed(tmp_path, "frame", where, status="invalid", parity_rel_l2=1e-3)["parity"]
    assert found["of_any"] == 1e-3 and found["worst"] < 1e-5


def test_losses_that_parted_differ_though_there_is_no_ratio(tmp_path):
    where = {"workload": "train_mlp", "framework": "torch_xla"}
    gone = {"status": "invalid", "steady_ratio": None, "steady_verdict": None}
    found = changed(tmp_path, "beyond", where, **gone, losses_apart=0.1)
    losses = {
        key: one["verdict"] for key, one in found.items() if key.startswith("losses/train_mlp")
    }
    assert losses["losses/train_mlp/torch_xla"] == verdicts.DIFFERS
    assert "losses/train_mlp/jax" not in losses


def test_collectives_that_could_not_be_read_are_not_called_others(tmp_path):
    unread = dict.fromkeys(sharding.KINDS)
    found = changed(tmp_path, "sharding", {"frontend": "torch_xla"}, **unread)
    told = [key for key in found if key.startswith(("collectives/", "slice_collectives/"))]
    # Other workloads are those of an accepted run.
    assert not [key for key in told if key.split("/")[1] in ("ffn", "llama3_8b")]


def test_what_the_original_says_of_a_pair_needs_both_to_be_published(tmp_path, monkeypatch):
    folder = paper_fixture.write(tmp_path)
    published = pandas.read_csv(Folder(folder)["published"])
    for framework, kept in (("jax", 0), ("torch_xla", 1)):
        less = tmp_path / f"without_{framework}.csv"
        published[published.framework != framework].to_csv(less, index=False)
        monkeypatch.setattr("stackwars.results.folder.PUBLISHED", less)
        found = findings_of(folder)
        gemm = [found["gemm_first"][key] for key in ("verdict", "ratio", "published_ratio")]
        assert gemm == [verdicts.NO_DATA, None, None]
        assert (found["bert_first"]["published_first_ms"] is not None) == kept
        assert found["headline"]["verdict"] == verdicts.NO_DATA
        assert not [name for name in found if name.startswith("agreement/")]
    assert found["bert_first"]["verdict"] == verdicts.NOT_LONGEST


def test_subject_without_a_cell_of_its_baseline_is_beside_nothing_published(tmp_path):
    paper_fixture.write(tmp_path)
    frame = pandas.read_csv(tmp_path / "frame.csv")
    lone = (frame.workload == "ffn") & (frame.framework == "jax")
    frame[~lone].to_csv(tmp_path / "frame.csv", index=False)
    found = findings_of(tmp_path)
    assert "agreement/ffn/torch_xla" not in found
    assert "agreement/mha/torch_xla" in found
    assert found["steady/ffn/torch_xla"]["baseline_status"] == "not run"
    assert found["memory/ffn/torch_xla"]["rss_ratio"] is None


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
    assert found["stabilising/gemm/torch_xla"]["steady_class"] is None
    assert found["parity"]["worst"] == pytest.approx(8e-7)


def test_one_round_decides_nothing(tmp_path):
    found = findings_of(paper_fixture.write(tmp_path, "single"))
    decided = {verdicts.SLOWER, verdicts.FASTER, verdicts.NO_DIFFERENCE}
    assert not [f for f in found.values() if f["verdict"] in decided]
    assert found["headline"]["verdict"] == verdicts.NOT_DECIDED


def test_nothing_run_gives_findings_that_say_so(tmp_path):
    found = findings_of(paper_fixture.write(tmp_path, "nothing"))
    assert found["cells"]["verdict"] == verdicts.NONE_OK
    names = ("headline", "parity", "peak", "time", "bert_first", "ir/precision")
    for name in (*names, "gate", "stops", "caches"):
        assert found[name]["verdict"] == verdicts.NO_DATA, name


def test_the_precision_is_that_of_every_program(full, tmp_path):
    assert full["ir/precision"]["precisions"] == ["HIGHEST"]
    paper_fixture.write(tmp_path)
    frame = pandas.read_csv(tmp_path / "frame.csv")
    frame.loc[(frame.workload == "ffn") & (frame.framework == "torch_xla"), "precision"] = "DEFAULT"
    frame.to_csv(tmp_path / "frame.csv", index=False)
    assert findings_of(tmp_path)["ir/precision"]["precisions"] == ["DEFAULT", "HIGHEST"]
