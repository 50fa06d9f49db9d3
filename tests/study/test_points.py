"""Processes that belong to no cell: of growing sizes, and of programs for several devices."""

from stackwars.study import growth, programs, sharding
from stackwars.study.config import load
from stackwars.study.growth import Point
from stackwars.study.programs import Compilation, Program

CONFIG = load()
SIZES = CONFIG["presets"]["full"]["sizes"]
GROWN = Point("jax", "decode", "layers", "4")
SHAPES = Point("jax_symbolic", "attention_window", "sequence", growth.ALL)
SLICE = Compilation("tpu-v6e-4", "jaxlib-0.10.2", Program("jax", "llama3_8b", "tensor4"))


def test_a_run_measures_the_growing_sizes_of_the_workloads_that_it_measures_of_the_study():
    every = growth.all_points(CONFIG)
    assert {GROWN, SHAPES} <= set(every)
    assert growth.asked({**CONFIG, "measure": ["beyond"]}) == every
    assert growth.asked({**CONFIG, "measure": ["stacks"]}) == []
    preset = {**CONFIG["presets"]["full"], "study_workloads": {"beyond": ["decode"]}}
    some = {**CONFIG, "measure": ["beyond"], "presets": {"full": preset}}
    assert {point.workload for point in growth.asked(some)} == {"decode"}
    assert growth.asked({key: value for key, value in CONFIG.items() if key != "growth"}) == []


def test_a_growing_size_has_the_sizes_of_the_preset_but_for_one():
    assert growth.sizes(CONFIG, GROWN) == {**SIZES["decode"], "layers": 4}
    assert growth.values(CONFIG, GROWN) == []
    assert growth.sizes(CONFIG, SHAPES)["sequence"] == max(growth.values(CONFIG, SHAPES))


def test_a_run_divides_the_programs_of_the_workloads_that_it_measures_of_the_study():
    asked = {**CONFIG, "measure": ["sharding"]}
    assert sharding.asked(asked) == sharding.all_points(CONFIG) != []
    assert SLICE in sharding.slices(asked)
    assert sharding.asked({**CONFIG, "measure": ["tables"]}) == []
    preset = {**CONFIG["presets"]["full"], "study_workloads": {"sharding": ["ffn"]}}
    some = {**asked, "presets": {"full": preset}}
    assert {point.workload for point in sharding.asked(some)} == {"ffn"}
    assert {one.program.workload for one in sharding.slices(some)} == {"ffn"}
    without = {key: value for key, value in asked.items() if key != "sharding"}
    assert sharding.asked(without) == sharding.slices(without) == sharding.all_points(without) == []


def test_a_division_leaves_the_sizes_but_for_a_batch_of_its_own():
    assert programs.sizes(CONFIG, "llama3_8b", "tensor4") == SIZES["llama3_8b"]
    job = sharding.sharded_job(CONFIG, sharding.Point("jax", "train_transformer", "data", 4))
    batch = CONFIG["sharding"]["batch"]["train_transformer"]
    assert job["sizes"] == {**SIZES["train_transformer"], "batch": batch}
    assert (job["framework"], job["dialect"]) == ("jax", "jax")
