"""Findings from synthetic replay, compile-ahead and program metrics: the data decides, and a flip flips."""

from __future__ import annotations

import json
import math

import pandas
import pytest
from test_findings import changed, findings_of

import paper_fixture
from compiler_fixture import EDIT, NEW, OLD, SIDES, ratio_columns
from stackwars.findings.split import sources_elsewhere
from stackwars.results import compiler_verdicts as words
from stackwars.results import verdicts
from stackwars.results.read_compilers import read_split


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return findings_of(paper_fixture.write(tmp_path_factory.mktemp("full")))


@pytest.fixture(scope="module")
def flipped(tmp_path_factory):
    return findings_of(paper_fixture.write(tmp_path_factory.mktemp("flipped"), "flipped"))


def test_the_ir_effect_flips_with_the_replays(full, flipped):
    assert full[f"effect/bert_base/torch_xla/{OLD}"]["verdict"] == verdicts.SLOWER
    assert flipped[f"effect/bert_base/torch_xla/{OLD}"]["verdict"] == verdicts.FASTER
    assert full[f"effect/gemm/torch_xla/{OLD}"]["verdict"] == verdicts.UNRESOLVED
    assert full[f"effect/conv/torch_xla/{OLD}"]["verdict"] == verdicts.NO_DIFFERENCE
    assert full["generations/gpt2_small/torch_xla"]["verdict"] == words.SIGN_CHANGES
    assert full["generations/bert_base/torch_xla"]["verdict"] == words.SAME_DIRECTION
    assert full["generations/gemm/torch_xla"]["verdict"] == verdicts.UNRESOLVED
    assert full["generations/conv/torch_xla"]["verdict"] == words.NO_EFFECT


def test_an_effect_that_one_generation_lacks(tmp_path):
    row = {"workload": "mha", "compiler": NEW}
    found = changed(tmp_path, "split", row, ir_verdict="no difference found")
    assert found["generations/mha/torch_xla"]["verdict"] == words.ONE_GENERATION


def test_the_source_is_the_larger_factor(full, tmp_path):
    assert full["source/bert_base/torch_xla"]["verdict"] == words.DUE_TO_IR
    assert full["source/bert_base/torch_xla"]["share"] == pytest.approx(1, abs=0.02)
    assert full["source/layernorm/torch_xla"]["verdict"] == words.DUE_TO_RUNTIME
    assert full["source/gemm/torch_xla"]["verdict"] == words.NOT_SEPARATED
    row = {"workload": "bert_base", "compiler": OLD}
    found = changed(tmp_path, "split", row, source_verdict="the runtime")
    assert found["source/bert_base/torch_xla"]["verdict"] == words.DUE_TO_RUNTIME


def test_the_control_holds_or_not(full):
    assert full["control/bert_base/jax"]["verdict"] == verdicts.HOLDS
    assert full["control/mha/jax"]["verdict"] == words.OFF
    assert full["control/llama3_8b/jax"]["verdict"] == verdicts.NO_DATA
    assert full["compilers"]["pinned"] == OLD
    assert full["compilers"]["names"] == [OLD, NEW]


def test_an_edit_closes_what_its_replay_says(full, tmp_path):
    name = f"edit/bert_base/torch_xla+{EDIT}/{OLD}"
    assert full[name]["verdict"] == words.CLOSES_MOST
    share = math.log(1.091 / 1.91) / math.log(1 / 1.91)
    assert full[name]["share"] == pytest.approx(share)
    assert full["edits/torch_xla"]["closed"] == 2
    assert "BERT-Base" not in full["edits/torch_xla"]["left"]
    assert "FFN" in full["edits/torch_xla"]["left"]
    assert [kind["name"] for kind in full["edits/torch_xla"]["kinds"]] == ["explicit layernorm"]
    row = {"workload": "bert_base", "compiler": OLD, "framework": f"torch_xla+{EDIT}"}
    idle = ratio_columns("edited", 0.99, 0.03)
    found = changed(tmp_path, "replay", row, **idle)
    assert found[name]["verdict"] == verdicts.NO_DIFFERENCE
    assert "BERT-Base (jaxlib 0.7.1)" in found["edits/torch_xla"]["left"]


def test_replays_that_failed_are_counted_with_their_status(full, tmp_path):
    assert (full["replay"]["ok"], full["replay"]["total"]) == (22, 24)
    assert full["replay"]["failed"] == ["LLaMA-3.1 8B (oom)"]
    failed = findings_of(paper_fixture.write(tmp_path, "one_failed"))
    assert failed["replay"]["verdict"] == verdicts.NONE_OK
    assert failed["replay_parity"]["verdict"] == verdicts.NO_DATA


def test_a_published_oom_is_explained_or_not(full, flipped):
    assert full["oom_published/gpt_neo_1p3b/torch_xla"]["verdict"] == words.NOT_EXPLAINED
    assert full["oom_published/gpt_neo_1p3b/torch_xla"]["spare_bytes"] > 20 * 2**30
    assert flipped["oom_published/gpt_neo_1p3b/torch_xla"]["verdict"] == words.EXPLAINED
    llama = full["oom_published/llama3_8b/jax"]
    assert llama["verdict"] == words.EXPLAINED_IF_LARGER
    assert (llama["fits"], llama["over"]) == (["2\u00d764"], ["8\u00d7512"])
    assert "oom_published/gpt_neo_1p3b/jax" not in full  # it ran there


def test_a_program_too_large_explains(tmp_path):
    row = {"workload": "vit_b16", "framework": "torch_xla", "compiler": NEW}
    found = changed(tmp_path, "compile_ahead", row, verdict="oom", hbm_bytes=40.0 * 2**30)
    assert found["oom_published/vit_b16/torch_xla"]["verdict"] == words.EXPLAINED
    assert found["fit_generations"]["verdict"] == verdicts.SOME
    assert "ViT-B/16 at 64\u00d764 under torch_xla" in found["fit_generations"]["differ"]


def test_the_peak_of_load_and_run_tests_the_runtime(full, tmp_path):
    load = full["load/gpt_neo_1p3b/torch_xla"]
    assert load["verdict"] == words.BELOW
    assert load["copies"] == pytest.approx(2.5)
    assert full["load/llama3_8b/jax"]["verdict"] == verdicts.NO_DATA
    row = {"workload": "gpt_neo_1p3b", "framework": "torch_xla", "device": "cpu"}
    found = changed(tmp_path, "frame", row, peak_rss_bytes=40.0 * 2**30)
    assert found["load/gpt_neo_1p3b/torch_xla"]["verdict"] == words.ABOVE


def test_what_ran_there_and_cannot_fit_is_named(full, tmp_path):
    assert full["fit_contradicts"]["verdict"] == verdicts.NONE
    row = {"workload": "gemm", "framework": "jax", "compiler": NEW, "target": "tpu-v6e"}
    found = changed(tmp_path, "compile_ahead", row, verdict="oom")
    assert found["fit_contradicts"]["programs"] == ["GEMM at 2\u00d764 under JAX"]


def test_generations_of_the_compiler_differ_in_who_refuses(full):
    assert full["fit_generations"]["verdict"] == verdicts.NONE
    assert full[f"decided/{OLD}"]["accepted"] == 2
    assert full[f"decided/{OLD}"]["stopped"] == 0
    assert full[f"decided/{NEW}"]["by_compiler"] == 2
    assert len(full["fit_generations"]["unrefused"]) == 2


def test_a_compilation_that_was_stopped_is_not_called_accepted(tmp_path):
    found = changed(tmp_path, "compile_ahead", {"compiler": OLD}, compile_s=None)
    assert found[f"decided/{OLD}"]["accepted"] == 0
    assert found[f"decided/{OLD}"]["stopped"] == 2
    assert found["fit_generations"]["unrefused"] == []
    found = changed(tmp_path, "compile_ahead", {"compiler": NEW}, compile_s=None)
    assert found["ahead"]["stopped"] > 0


def test_the_frontier_flips(full, flipped):
    assert full["largest_batch/bert_base/torch_xla"]["verdict"] == words.MORE
    assert flipped["largest_batch/bert_base/torch_xla"]["verdict"] == words.LESS
    assert full["largest_batch/llama3_8b/torch_xla"]["verdict"] == words.SAME
    assert full["largest_batch/vit_b16/torch_xla"]["verdict"] == words.NOT_SEPARATED


def test_bytes_and_cycles_are_ratios_of_the_same_size(full):
    assert full["hbm/resnet50/torch_xla/b64"]["ratio"] == pytest.approx(1.02)
    assert full["hbm/resnet50/torch_xla/b64"]["verdict"] == words.MORE
    assert full["cycles/llama3_8b/torch_xla/b8s512"]["verdict"] == verdicts.NO_DATA
    assert full[f"target/tpu-v5e/{NEW}"]["oom"] == 4


def test_the_default_precision_is_set_beside_the_highest_of_the_same_program(full, tmp_path):
    found = full["default_precision/bert_base/jax"]
    assert (found["ratio"], found["temporaries"]) == pytest.approx((0.9, 0.9))
    assert found["verdict"] == words.LESS
    row = {"edit": "default_precision", "workload": "bert_base", "framework": "jax"}
    assert changed(tmp_path, "compile_ahead", row, verdict="")["ahead"] == full["ahead"]
    found = changed(tmp_path, "compile_ahead", row, hbm_bytes=None)
    assert found["default_precision/bert_base/jax"]["verdict"] == verdicts.NO_DATA
    assert found["default_precision/bert_base/torch_xla"]["verdict"] == words.LESS


@pytest.mark.parametrize("column", [True, False])
def test_without_edited_programs_every_other_finding_is_the_same(full, tmp_path, column):
    paper_fixture.write(tmp_path)
    table = pandas.read_csv(tmp_path / "compile_ahead.csv")
    table = table[table.edit.isna()]
    table = table if column else table.drop(columns="edit")
    table.to_csv(tmp_path / "compile_ahead.csv", index=False)
    found = findings_of(tmp_path)
    assert found == {
        name: one for name, one in full.items() if not name.startswith("default_precision/")
    }


def test_programs_are_the_same_where_their_hashes_are(full, tmp_path):
    assert full["same/gemm/torch_xla/normalised"]["verdict"] == words.SAME
    assert full["same/gemm/torch_xla/raw"]["verdict"] == words.DIFFERENT
    assert full["programs/torch_xla/normalised"]["same"] == ["GEMM"]
    assert "GEMM" in full["programs/torch_xla/raw"]["fewer"]
    found = changed(tmp_path, "ir_metrics", {"level": "raw"}, canonical_hash="one")
    assert len(found["programs/torch_xla/raw"]["same"]) == 12


def test_a_claim_holds_only_where_both_programs_show_it(full, flipped):
    assert full["claim/layernorm/torch_xla"]["verdict"] == verdicts.HOLDS
    assert full["claim/flattening/torch_xla"]["verdict"] == verdicts.HOLDS_IN_PART
    assert full["claim/flattening/torch_xla"]["fails"] == ["GEMM"]
    assert (
        full["claim/qkv/torch_xla"]["verdict"] == verdicts.HOLDS
    )  # of PyTorch the original says nothing
    for claim in ("layernorm", "flattening", "contraction"):
        assert flipped[f"claim/{claim}/torch_xla"]["verdict"] == verdicts.DOES_NOT_HOLD, claim


COMPILED = ("effect", "generations", "source", "hbm", "cycles", "largest_batch", "same", "size")
COMPILED += ("programs", "claim", "edits")


def test_every_subject_has_its_own_findings(tmp_path, full):
    found = findings_of(paper_fixture.write(tmp_path, "two_subjects"))
    counts = ("replay", "replay_parity", "ahead", "fit_generations", "decided", "target")
    for name, finding in full.items():
        if name.split("/")[0] not in counts:
            assert found[name] == finding, name
        if name.split("/")[0] in COMPILED:
            other = found[name.replace("torch_xla", "torch_xla_pending")]
            assert other["framework"] == "torch_xla_pending", name
    side = SIDES["torch_xla_pending"]
    effect = full[f"effect/gemm/torch_xla/{OLD}"]["ratio"] * side.replay
    assert found[f"effect/gemm/torch_xla_pending/{OLD}"]["ratio"] == pytest.approx(effect)
    for kind, ratio in (("hbm", side.memory), ("cycles", side.memory * side.cycles)):
        one = found[f"{kind}/resnet50/torch_xla_pending/b64"]["ratio"]
        assert one == pytest.approx(ratio)
    largest_batch = found["largest_batch/bert_base/torch_xla_pending"]
    assert (largest_batch["batch"], largest_batch["baseline_batch"]) == (
        side.batch,
        SIDES["jax"].batch,
    )
    assert largest_batch["verdict"] == words.LESS
    assert found["size/ffn/torch_xla_pending/raw"]["operations"] == side.operations
    assert found["same/gemm/torch_xla_pending/normalised"]["verdict"] == words.DIFFERENT
    assert found["claim/flattening/torch_xla_pending"]["verdict"] == verdicts.DOES_NOT_HOLD
    # No program of its own was edited, so none of its effects is explained.
    assert found["edits/torch_xla_pending"]["verdict"] == verdicts.NONE
    assert found["edits/torch_xla_pending"]["closed"] == 0
    assert "BERT-Base" in found["edits/torch_xla_pending"]["left"]


def test_native_compiler_is_that_of_the_run(tmp_path):
    paper_fixture.write(tmp_path)
    context = json.loads((tmp_path / "context.json").read_text())
    for native, sources in ((NEW, True), ("another", False), (None, False)):
        (tmp_path / "context.json").write_text(json.dumps(context | {"native_compiler": native}))
        found = findings_of(tmp_path)
        assert (found["compilers"]["pinned"], found["compilers"]["has_pinned"]) == (native, sources)
        assert ("source/mha/torch_xla" in found) == ("control/mha/jax" in found) == sources


@pytest.mark.parametrize("variant", ["nothing", "single"])
def test_without_data_or_intervals_nothing_is_claimed(tmp_path, variant):
    found = findings_of(paper_fixture.write(tmp_path, variant))
    claimed = {verdicts.SLOWER, verdicts.FASTER, words.CLOSES_MOST, words.SIGN_CHANGES}
    claimed |= {words.DUE_TO_IR, words.DUE_TO_RUNTIME}
    assert not [f["id"] for f in found.values() if f["verdict"] in claimed]
    if variant == "nothing":
        assert found["ahead"]["verdict"] == found["replay"]["verdict"] == verdicts.NONE_OK
        assert found["claim/qkv/torch_xla"]["verdict"] == verdicts.NO_DATA
        assert found["oom_published/vit_b16/torch_xla"]["verdict"] == verdicts.NO_DATA


def test_the_profiles_say_which_class_carries_a_decided_gap(full, tmp_path):
    found = full["op_times"]
    assert found["verdict"] == verdicts.MEASURED
    assert found["compiler"] == OLD
    assert found["programs"] >= found["mostly_products"] > 0
    assert found["carried"][0]["name"] == "products and convolutions"
    assert found["gaps"] == sum(one["gaps"] for one in found["carried"]) > 0
    row = {"workload": "bert_base", "compiler": OLD}
    unmarked = changed(tmp_path, "gap_causes", row, adds_up=True)["op_times"]["marked"]
    marked = changed(tmp_path, "gap_causes", row, adds_up=False)["op_times"]["marked"]
    assert marked == unmarked + 1
    fewer = changed(tmp_path, "gap_causes", row, verdict="unresolved")["op_times"]
    assert fewer["gaps"] == found["gaps"] - 1
    folder = paper_fixture.write(tmp_path)
    gaps = pandas.read_csv(folder / "gap_causes.csv")
    gaps.loc[(gaps.workload == "bert_base") & (gaps.compiler == OLD), "where"] = "transposes"
    gaps.to_csv(folder / "gap_causes.csv", index=False)
    assert {"name": "transposes and copies", "gaps": 1} in findings_of(folder)["op_times"][
        "carried"
    ]
    none = changed(tmp_path, "op_times", {"compiler": OLD}, run="2026-01-01T0000")["op_times"]
    assert none["verdict"] == verdicts.NO_DATA  # of an accepted run, not of this one


def test_the_source_on_the_workloads_of_other_studies_stands_apart(full, tmp_path):
    folder = paper_fixture.write(tmp_path)
    split = read_split(folder / "split.csv")
    own = split[split.workload != "bert_base"]
    found = sources_elsewhere(split, own, {"native_compiler": OLD})
    here = full["source/bert_base/torch_xla"]
    assert here | {"id": "source_elsewhere/bert_base/torch_xla"} in found
    assert {one["workload"] for one in found} == {"bert_base"}
    assert not any(identity.startswith("source_elsewhere") for identity in full)
