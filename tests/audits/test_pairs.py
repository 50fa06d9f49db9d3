"""Which pairs the audits measure."""

from collections import Counter

from measured import config
from stackwars.study.audits import pairs
from stackwars.study.audits.pairs import MIXED, SAME
from stackwars.study.config import load


def test_the_committed_configuration_has_forty_trials_of_four_frameworks_on_four_workloads():
    found = pairs.all_pairs(load())
    same = [pair for pair in found if pair.kind == SAME]
    assert sum(pair.trials for pair in same) >= 40
    assert {pair.subject for pair in same} == {"jax", "torch_xla", "torch_eager", "torch_inductor"}
    assert {pair.workload for pair in same} == {"gemm", "mha", "layernorm", "bert_base"}
    assert all(pair.subject == pair.baseline for pair in same)


def test_mixed_pairs_have_two_trials_of_each_workload():
    mixed = [pair for pair in pairs.all_pairs(load()) if pair.kind == MIXED]
    assert {(pair.subject, pair.baseline, pair.trials) for pair in mixed} == {("torch_xla", "jax", 2)}
    assert {pair.workload for pair in mixed} == {"gemm", "mha", "layernorm", "bert_base"}


def test_names_are_unique_and_what_the_configuration_lacks_has_no_pair():
    found = pairs.all_pairs(load())
    assert Counter((pair.kind, pair.name) for pair in found).most_common(1)[0][1] == 1
    asked = {
        "frameworks": [],
        "replays": [],
        "workloads": ["gemm", "bert_base"],
        "trials": {"jax": 1, "numpy": 2},
    }
    names = [(pair.kind, pair.name) for pair in pairs.all_pairs(config(audits=asked))]
    assert names == [("same", "jax-gemm")]
