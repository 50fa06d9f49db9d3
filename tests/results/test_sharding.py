"""Programs for several devices: what a run makes, the rows of its results, and what is found in them."""

import pandas as pd
import pytest

from stackwars.compilers.collectives import KINDS
from stackwars.findings.sharding import sharding_findings
from stackwars.results import sharding as tables
from stackwars.results import verdicts
from stackwars.study import programs, sharding
from stackwars.study.comparisons import Comparison
from stackwars.study.config import load
from stackwars.study.programs import Compilation, Program
from stackwars.study.sharding import Point

CONFIG = load()
POINT = Point("torch_xla", "ffn", "tensor", 4)
SLICE = Compilation("tpu-v6e-4", "jaxlib-0.10.2", Program("jax", "llama3_8b", "tensor4"))
PAIRS = [Comparison("torch_xla", "jax", ("cells", "programs"))]


def test_a_run_makes_those_of_its_workloads_of_the_study():
    whole = {**CONFIG, "whole": ["sharding"]}
    assert sharding.asked(whole) == sharding.whole(CONFIG)
    assert SLICE in sharding.slices(whole)
    core = set(CONFIG["studies"]["sharding"]["core"])
    assert {point.workload for point in sharding.asked(CONFIG)} == core
    assert {one.program.workload for one in sharding.slices(CONFIG)} == core
    without = {key: value for key, value in CONFIG.items() if key != "sharding"}
    assert sharding.asked(without) == sharding.slices(without) == sharding.whole(without) == []


def test_a_division_leaves_the_sizes_but_for_the_batch_of_its_own():
    sizes = CONFIG["presets"]["full"]["sizes"]
    assert programs.sizes(CONFIG, "llama3_8b", "tensor4") == sizes["llama3_8b"]
    job = sharding.sharded_job(CONFIG, Point("jax", "train_transformer", "data", 4))
    batch = CONFIG["sharding"]["batch"]["train_transformer"]
    assert job["sizes"] == {**sizes["train_transformer"], "batch": batch}
    assert (job["framework"], job["dialect"]) == ("jax", "jax")


def process(rel_l2=1e-7, **counts):
    divided = {**dict.fromkeys((*KINDS, "bytes"), 0), **counts}
    emitted = dict.fromkeys((*KINDS, "bytes"), 0)
    compared = {"event": "compared", "rel_l2": rel_l2, "emitted": emitted, "partitioned": divided}
    sizes = CONFIG["presets"]["full"]["sizes"]["ffn"]
    return {"status": "ok", "status_detail": "", "sizes": sizes, "events": [compared]}


def test_another_output_than_that_of_one_device_is_invalid():
    row = tables.cpu_row(CONFIG, POINT, process(all_reduce=1, bytes=4096))
    assert (row["status"], row["all_reduce"], row["bytes"], row["emitted"]) == ("ok", 1, 4096, 0)
    row = tables.cpu_row(CONFIG, POINT, process(rel_l2=1e-3))
    assert row["status"] == "invalid"
    assert "1.00e-03 against one device, over 1e-05" in row["status_detail"]


def found(*rows):
    table = pd.DataFrame(rows, columns=list(tables.COLUMNS)).assign(run="", here=True)
    return {one["id"]: one for one in sharding_findings(table, PAIRS)}


@pytest.mark.parametrize(("others", "verdict"), [(1, verdicts.AGREES), (3, verdicts.DIFFERS)])
def test_frontends_are_compared_by_the_collectives_of_each_kind(others, verdict):
    jax = Point("jax", "ffn", "tensor", 4)
    by_hand = Point("jax_shard_map", "ffn", "tensor", 4)
    rows = [
        tables.cpu_row(CONFIG, point, process(all_reduce=count, bytes=64 * count))
        for point, count in ((jax, 1), (by_hand, 7), (POINT, others))
    ]
    one = found(*rows)["collectives/ffn/tensor/4/torch_xla"]
    assert (one["verdict"], one["count"], one["baseline_count"]) == (verdict, others, 1)
    assert one["ratio"] == others


def test_outputs_and_slices_have_their_words():
    ahead = {
        **{
            "status": "ok",
            "message": "",
            "verdict": "oom",
            "hbm_bytes": 2**35,
            "usable_bytes": 2**34,
        },
        "hlo": {"collectives": {**dict.fromkeys(KINDS, 2), "bytes": 10}},
    }
    wrong = tables.cpu_row(CONFIG, POINT, process(rel_l2=1.0))
    seen = found(wrong, tables.slice_row(SLICE, ahead))
    assert seen["sharded/ffn/torch_xla/tensor/4"]["verdict"] == verdicts.DIFFERS
    one = seen["slice/llama3_8b/jax/4"]
    assert (one["verdict"], one["device_bytes"], one["all_gather"]) == ("oom", 2**35, 2)
    failed = {**ahead, "status": "error", "verdict": "", "hlo": None}
    assert found(tables.slice_row(SLICE, failed))["slice/llama3_8b/jax/4"]["verdict"] == ""
