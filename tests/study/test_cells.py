"""Which cells and other processes a configuration asks for, and which files decide them."""

from stackwars.core.launch import REPOSITORY
from stackwars.study import cells, growth, programs, sharding
from stackwars.study.cells import Cell, asked
from stackwars.study.config import load
from stackwars.study.growth import Point
from stackwars.study.workflow.jobs import sharded_job

CONFIG = load()


def config(**changes):
    return CONFIG.changed(**changes)


def test_blocks_are_of_one_call_where_the_preset_names_no_number():
    numbers = CONFIG.presets["full"].block_calls
    assert cells.block_calls(config(), "layernorm") == numbers["layernorm"] > 1
    assert cells.block_calls(config(), "bert_base") == 1


def test_cells_stand_by_device_then_workload_then_framework():
    names, frameworks = ["bert_base", "ffn"], list(CONFIG.frameworks)
    grid = asked(config(workloads=names, devices=["tpu", "cpu"]))
    places = [
        (["tpu", "cpu"].index(c.device), names.index(c.workload), frameworks.index(c.framework)) for c in grid
    ]
    assert places == sorted(places)
    assert grid[:2] == [Cell("jax", "bert_base", "tpu"), Cell("torch_xla", "bert_base", "tpu")]


def test_the_smallest_number_of_rounds_counts():
    fewer = {"bert_base": 4, "gpt_neo_1p3b": 9, "cpu-1t": 3, "torch_xla_pending": 1}
    presets = {"full": CONFIG.presets["full"].changed(rounds=fewer)}
    full = config(preset="full", presets=presets, settings=CONFIG.settings.changed(rounds=5))
    assert [cells.rounds(full, name) for name in ("gemm", "bert_base", "gpt_neo_1p3b")] == [5, 4, 5]
    asked_for = [
        Cell("jax", "gemm", "cpu-1t"),
        Cell("jax", "bert_base", "cpu"),
        Cell("torch_xla_pending", "gemm", "cpu"),
    ]
    assert [cells.rounds(full, cell.framework, cell.workload, cell.device) for cell in asked_for] == [3, 4, 1]


def test_framework_alone_on_a_device_has_no_partner():
    jax = CONFIG.frameworks["jax"].changed(environments={"cpu": "jax"})
    without = config(frameworks=CONFIG.frameworks | {"jax": jax})
    cell = Cell("torch_xla", "gemm", "tpu")
    assert cells.partner(without, cell, asked(without)) is None
    assert cells.partner(CONFIG, cell, asked(CONFIG)) is not None


def test_sources_are_the_workload_and_the_framework_with_what_they_share():
    files = cells.sources(CONFIG, Cell("torch_xla_pending", "bert_base", "cpu"))
    folder = "src/stackwars/measure"
    for name in ("frameworks/torch_xla_pending", "frameworks/torch_xla", "workloads/hf_torch",
                 "workloads/in_torch", "workloads/values"):  # fmt: skip
        assert f"{folder}/{name}.py" in files
    for name in ("frameworks/jax", "workloads/hf_jax", "child", "supervisor", "rounds", "process_value"):
        file = f"{folder}/{name}.py"
        assert (REPOSITORY / file).is_file() and file not in files
    assert files == sorted(set(files))


SIZES = CONFIG.presets["full"].sizes
GROWN = Point("jax", "decode", "layers", "4")
SHAPES = Point("jax_symbolic", "attention_window", "sequence", growth.ALL)


def test_a_growing_size_has_the_sizes_of_the_preset_but_for_one():
    assert growth.sizes(CONFIG, GROWN) == {**SIZES["decode"], "layers": 4}
    assert growth.values(CONFIG, GROWN) == []
    assert growth.sizes(CONFIG, SHAPES)["sequence"] == max(growth.values(CONFIG, SHAPES))


def test_a_division_leaves_the_sizes_but_for_a_batch_of_its_own():
    assert programs.sizes(CONFIG, "llama3_8b", "tensor4") == SIZES["llama3_8b"]
    job = sharded_job(CONFIG, sharding.Point("jax", "train_transformer", "data", 4))
    batch = CONFIG.sharding.batch["train_transformer"]
    assert job.sizes == {**SIZES["train_transformer"], "batch": batch}
    assert (job.framework, job.dialect) == ("jax", "jax")
