"""Which pairs the audits measure."""

from collections import Counter

from measured import config
from stackwars.audits import pairs
from stackwars.audits.pairs import BRIEF, MIXED, MORE, SAME
from stackwars.study.config import load


def test_the_committed_configuration_has_forty_trials_of_four_frameworks_on_four_workloads():
    found = pairs.all_pairs(load(), [])
    same = [pair for pair in found if pair.kind == SAME]
    assert sum(pair.trials for pair in same) >= 40
    assert {pair.subject for pair in same} == {"jax", "torch_xla", "torch_eager", "torch_inductor"}
    assert {pair.workload for pair in same} == {"gemm", "mha", "layernorm", "bert_base"}
    assert all(pair.subject == pair.baseline for pair in same)


def test_more_work_is_whole_layers():
    more = [pair for pair in pairs.all_pairs(load(), []) if pair.kind == MORE]
    assert {pair.percent for pair in more if pair.subject == "jax"} == {5, 3}
    assert {pair.layers for pair in more} == {(42, 40), (34, 33)}
    assert all(abs(100 * (pairs.known_ratio(pair.percent) - 1) - pair.percent) < 0.04 for pair in more)


def test_mixed_pairs_have_two_trials_and_one_has_more_layers():
    mixed = [pair for pair in pairs.all_pairs(load(), []) if pair.kind == MIXED]
    assert {(pair.subject, pair.baseline, pair.trials) for pair in mixed} == {("torch_xla", "jax", 2)}
    layers = {pair.percent: pair.layers for pair in mixed if pair.workload == pairs.DEPTH_SCALING}
    assert layers == {0: (40, 40), 5: (42, 40)}


def test_names_are_unique_and_what_the_configuration_lacks_has_no_pair():
    found = pairs.all_pairs(load(), [])
    assert Counter((pair.kind, pair.name) for pair in found).most_common(1)[0][1] == 1
    asked = {
        "frameworks": [],
        "replays": [],
        "workloads": ["gemm", "bert_base"],
        "trials": {"jax": 1, "numpy": 2},
    }
    names = [(pair.kind, pair.name) for pair in pairs.all_pairs(config(audits=asked), [])]
    assert names == [("same", "jax-gemm"), ("more", "jax-layers-5"), ("more", "jax-layers-3")]


def test_a_framework_of_the_run_without_trials_has_brief_pairs_of_the_workloads_that_it_ran():
    ran = [("jax", "gemm"), ("numpy", "gemm"), ("numpy", "conv"), ("torchax", "mha")]
    brief = [pair for pair in pairs.all_pairs(load(), ran) if pair.kind == BRIEF]
    assert [(one.subject, one.baseline, one.workload, one.trials) for one in brief] == [
        ("numpy", "numpy", "gemm", 1), ("torchax", "torchax", "mha", 1)
    ]  # fmt: skip
