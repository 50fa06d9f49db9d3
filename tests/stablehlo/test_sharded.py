"""One call on several devices, in the real frameworks: the output, and what the programs send."""

from dataclasses import asdict
from pathlib import Path

import pytest

from lowerings import Lowerings
from stackwars.core import documents
from stackwars.core.client import Process
from stackwars.core.documents import event, read_events
from stackwars.core.hlo import COLLECTIVES
from stackwars.core.launch import REPOSITORY
from stackwars.measure import workloads
from stackwars.measure.stablehlo import sharded
from stackwars.measure.stablehlo.ahead_supervisor import compile_in_child
from stackwars.measure.supervisor import supervise
from stackwars.setup.environments import ensure
from stackwars.study import config, programs, sharding
from stackwars.study.sharding import Point
from stackwars.study.workflow.jobs import compile_job, lower_job, sharded_job

SMOKE = config.load(preset="smoke")
WRONG = """
from functools import partial
import jax
from stackwars.measure import workloads
from stackwars.measure.stablehlo import sharded
# Every device takes a step along the gradient of its own part of the batch.
jax.lax.pmean = lambda loss, axis_name: loss
jax.shard_map = partial(jax.shard_map, check_vma=False)
sharded.run_child(sharded.measure)
"""


def python_of(frontend, request):
    framework = Point(frontend, "ffn", "data", 2).framework
    return request.getfixturevalue(f"{framework}_python")


def process(python, folder, *point, module=sharded.__name__):
    return supervise(sharded_job(SMOKE, Point(*point)), python, folder, module)


@pytest.mark.env
@pytest.mark.parametrize(
    ("frontend", "workload", "way"),
    # test_marked_program_is_what_torch_xla_marks divides by tensor.
    [
        ("jax", "train_mlp", "data"),
        ("jax_shard_map", "train_transformer", "tensor"),
        ("torch_xla", "train_mlp", "data"),
    ],
)
def test_a_training_step_that_is_divided_is_the_same_step(frontend, workload, way, request, tmp_path):
    python = python_of(frontend, request)
    result = process(python, tmp_path, frontend, workload, way, 2)
    assert (result["status"], result["status_detail"]) == ("ok", "")
    found = event(result, "compared")
    assert found["rel_l2"] < 1e-5
    # The loss, every weight and its moments.
    assert found["results"] == 1 + 3 * len(workloads.load(workload).parameters(result["sizes"]))
    # Every device needs the gradients of all, or its share of each product's sum.
    assert found["partitioned"]["all_reduce"] >= 1
    assert (found["emitted"]["all_reduce"] > 0) == (frontend == "jax_shard_map")


@pytest.mark.env
@pytest.mark.parametrize("frontend", ["jax", "jax_shard_map"])
def test_two_products_that_are_divided_need_one_sum(frontend, request, tmp_path):
    result = process(python_of(frontend, request), tmp_path, frontend, "ffn", "tensor", 2)
    assert (result["status"], result["status_detail"]) == ("ok", "")
    found, sizes = event(result, "compared"), result["sizes"]
    assert found["rel_l2"] < 1e-5
    counts = {kind: found["partitioned"][kind] for kind in COLLECTIVES}
    assert counts == {**dict.fromkeys(COLLECTIVES, 0), "all_reduce": 1}
    elements = sizes["batch"] * sizes["sequence"] * sizes["features"]
    assert found["partitioned"]["bytes"] == 4 * elements


@pytest.mark.env
def test_what_shard_map_has_no_form_of_says_so(jax_python, tmp_path):
    result = process(jax_python, tmp_path, "jax_shard_map", "llama3_8b", "tensor", 2)
    assert result["status"] == "unsupported"
    assert "what its devices send" in result["status_detail"]


@pytest.mark.env
def test_a_step_along_the_gradient_of_a_part_is_found(jax_python, tmp_path):
    folder, script = tmp_path / "process", tmp_path / "wrong.py"
    job = sharded_job(SMOKE, Point("jax_shard_map", "train_mlp", "data", 2))
    documents.write(folder / "spec.json", asdict(job))
    script.write_text(WRONG)
    with Process(jax_python, [str(script), str(folder)]) as started:
        started.ask("run")
    compared = event({"events": read_events(folder)}, "compared")
    assert compared["rel_l2"] > 1e-3


@pytest.mark.env
@pytest.mark.parametrize("framework", ["jax", "torch_tpu"])
def test_a_slice_has_its_collectives_and_the_bytes_of_one_chip(framework, tmp_path):
    whole = SMOKE.changed(measure=["tables", "sharding"])
    chosen = [
        one
        for one in sharding.slices(whole)
        if (one.program.framework, one.program.workload) == (framework, "ffn") and one.target != "tpu-v6e-8"
    ]
    found = {}
    with Lowerings() as lowerings:
        for compilation in chosen:
            chips = compilation.target
            files = lowerings(lower_job(whole, compilation.program), tmp_path / f"program-{chips}")
            python = ensure(REPOSITORY / programs.compiler_pins(whole, compilation.compiler, chips))
            job, program = compile_job(whole, compilation), Path(files["program"])
            found[chips] = compile_in_child(job, python, program, tmp_path / chips)
    assert [one["verdict"] for one in found.values()] == ["fits", "fits"]
    one, four = (found[name]["hlo"]["collectives"] for name in ("tpu-v6e", "tpu-v6e-4"))
    assert not any(one.values())
    assert four["all_reduce"] + four["reduce_scatter"] >= 1
    assert four["bytes"] > 0
    assert found["tpu-v6e-4"]["argument_bytes"] < found["tpu-v6e"]["argument_bytes"]
