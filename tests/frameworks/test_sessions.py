"""Each framework's verbs do what a cell takes them to do, in its own environment."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from frameworks.probe import IN_MEMORY, SEED, SIZES, ffn
from frameworks.probed import pins, probe, run_code
from stackwars.core.program_text import readback
from stackwars.measure.checks import relative_l2
from stackwars.study.config import load

pytestmark = pytest.mark.env
SMALL = load().presets["smoke"].sizes
TENSORFLOW = ("tensorflow_xla", "tensorflow_graph")
INDUCTOR = ("torch_inductor", "torch_inductor_frozen")
OPENVINO = ("jax_openvino", "torch_openvino")
OF_TORCH_XLA = ("torch_xla", "torch_xla_pending", "torch_xla_dynamo", "torch_xla_in_out")
WITH_PROGRAM = ("jax", *OF_TORCH_XLA, "torchax", "tensorflow_xla")
WITHOUT_PROGRAM = (*INDUCTOR, *OPENVINO, "torch_eager", "tensorflow_graph")
FRAMEWORKS = (*WITH_PROGRAM, *WITHOUT_PROGRAM)
TELL_NOTHING = ("torch_eager", "tensorflow_graph")
TELLS_TRACING = ("jax", "torchax", "torch_xla_dynamo", *INDUCTOR, *OPENVINO, *TENSORFLOW)


@pytest.fixture(params=FRAMEWORKS)
def framework(request) -> str:
    """Each framework."""
    return request.param


@pytest.fixture
def found(framework) -> dict:
    """What the probe of that framework found on small sizes."""
    return probe(framework)


def pinned(framework: str, package: str) -> str:
    text = pins(framework).read_text()
    return re.search(rf"^{package}==(\S+)", text, re.MULTILINE)[1]


def test_calls_are_computed_on_the_cpu_in_float32_and_compiled_without_a_cache(found, framework):
    pending = framework == "torch_xla_pending"
    assert found["compiles"] == ([None] * 4 if framework in TELL_NOTHING else [1, int(pending), 0, 0])
    assert not found["compiles_after_stablehlo"], "asking for the program changes no later call"
    assert found["cache_hits"] == 0
    assert (found["dtype"], found["same"]) == ("float32", True)
    assert found["put"] == [[0, 1, 2], [3, 4, 5]], "values come back as they were put"
    assert found["device_kind"].lower() == "cpu"


def test_output_is_that_of_the_reference_for_each_set_of_inputs(found):
    expected, _ = ffn.expected(SIZES["small"], SEED)
    for output, right in zip(found["values"], expected, strict=True):
        assert relative_l2(np.array(output), right) < 1e-5


@pytest.mark.parametrize("name", IN_MEMORY)
def test_weights_and_inputs_are_64_byte_aligned_and_in_small_pages(name):
    """So they lie in the same kind of memory in every framework."""
    found = probe(name)["memory"]
    assert len(found) >= 4, "two weights and an input of each set"
    assert {offset for offset, _ in found} == {0}
    if "[always]" not in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text():
        assert {size for _, size in found} == {0}


CACHED = """
import sys
from stackwars.measure import workloads
from stackwars.measure.frameworks.jax import DIALECT, Session
ffn = workloads.load("ffn")
session = Session("cpu", "highest")
import jax
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
sizes = dict(batch=4, sequence=8, features=32, hidden=64)
session.build(workloads.build(ffn, DIALECT), sizes, 1, [ffn.inputs(sizes, 1)])
session.settle()
session.fence(session.call(0))
print(session.counters().cache_hits)
"""


def test_executable_from_a_cache_on_disk_is_told(tmp_path):
    done = [run_code("jax", CACHED, tmp_path) for _ in range(2)]
    assert [one.returncode for one in done] == [0, 0], done[0].stderr[-2000:]
    first, second = (int(one.stdout.split()[-1]) for one in done)
    assert first == 0 < second and list(tmp_path.iterdir())


@pytest.mark.parametrize("name", WITH_PROGRAM)
def test_asked_precision_stands_in_the_program(name):
    found = probe(name)
    assert readback(found["stablehlo"]) == {"precision": "HIGHEST", "dtype": "f32"}
    assert len(re.findall(r"stablehlo\.dot_general", found["stablehlo"])) == 2


@pytest.mark.parametrize(("name", "flags"), [("torch_xla", ["--xla_cpu_enable_fast_math=false"]), ("jax", [])])
def test_flags_that_a_framework_sets_when_it_is_imported_are_recorded(name, flags):
    assert probe(name)["xla_flags"] == flags


@pytest.mark.parametrize("name", ["torch_eager", "torch_inductor"])
def test_highest_precision_is_that_of_convolutions_on_a_gpu_too(name):
    assert probe(name)["allows_tf32"] is False


def test_forms_of_jax_go_from_the_jaxpr_to_the_optimised_hlo():
    forms = probe("jax")["forms"]
    assert forms["jaxpr"].count("dot_general[") == 2
    assert forms["optimised_hlo"].startswith("HloModule") and 'op_name="' in forms["optimised_hlo"]
    assert "source_file" not in forms["optimised_hlo"]


def test_forms_of_inductor_go_from_the_graph_to_kernels_named_by_its_nodes():
    forms = probe("torch_inductor")["forms"]
    assert "torch.ops.aten.erf" in forms["fx_graph"]
    assert re.search(r"^cpp_fused_\w*erf\w*_\d+ = async_compile", forms["generated_code"], re.MULTILINE)
    assert forms["generated_code"].count("extern_kernels.addmm(") == 2
    assert "# File: ffn.py" in forms["fx_graph"]


def test_program_of_tensorflow_names_no_file_and_counts_no_function():
    text = probe("tensorflow_xla")["stablehlo"]
    assert "loc(" not in text and ".py" not in text
    assert text.startswith("module @main_module attributes {")


@pytest.mark.parametrize("name", WITHOUT_PROGRAM)
def test_framework_without_a_program_says_why(name):
    assert probe(name)["stablehlo"].startswith("// no program: ")


def test_dynamo_gives_torch_xla_one_graph_and_its_lazy_program():
    found = probe("torch_xla_dynamo")
    assert found["generated"] == {"graphs": 1, "graph_breaks": 0}
    lines = [probe(name)["stablehlo"].splitlines()[1:] for name in WITH_PROGRAM[1:4:2]]
    assert lines[0] == lines[1]


@pytest.mark.parametrize("name", [*INDUCTOR, "torch_eager"])
def test_pytorch_loads_no_other_framework_and_makes_kernels_of_one_graph(name):
    found = probe(name)
    assert found["loaded"] == []
    assert found["torch_threads"] == len(os.sched_getaffinity(0))
    if name in INDUCTOR:
        assert (found["generated"]["graphs"], found["generated"]["graph_breaks"]) == (1, 0)
        assert found["generated"]["kernels"] >= 1  # the GELU; the products are library calls


def test_inductor_without_a_compiler_is_not_supported():
    code = "from stackwars.measure.frameworks import torch_inductor as f; f.Session('cpu', 'highest')"
    done = run_code("torch_inductor", code, CXX="a-compiler-nobody-has")
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("NotImplementedError")]
    assert "a-compiler-nobody-has" in said and "apt-get install" in said


def test_program_of_the_pending_framework_is_that_of_the_forward_pass():
    settled, pending = (probe(name)["stablehlo"] for name in WITH_PROGRAM[1:3])
    count = [len(re.findall(r"= \S*stablehlo\.", text)) for text in (settled, pending)]
    assert count[0] == count[1] > 5


@pytest.mark.parametrize("name", [name for name in FRAMEWORKS if name not in TELL_NOTHING])
def test_compiling_takes_time_and_some_tell_their_tracing(name):
    found = probe(name)
    if name in TENSORFLOW:
        assert found["compile_s"] is None
    else:
        assert found["compile_s"] > 1e-4
    assert (found["trace_s"] is not None) == (name in TELLS_TRACING)
    if name in TELLS_TRACING:
        assert found["trace_s"] > 1e-4


def test_versions_are_those_of_the_pins(found, framework):
    # torchax is part of torch_xla's wheel, and the compiler is the machine's.
    packages = found["versions"].keys() - {"torchax", "g++"}
    assert packages
    for package in packages:
        version = found["versions"][package].partition("+")[0]
        assert version == pinned(framework, package.replace("_", "[-_]"))


RUNS = """
import json, sys, tempfile
from pathlib import Path
from stackwars.measure import workloads
from stackwars.measure.frameworks.torch_inductor import Session

def generated(name, sizes):
    used = Session("cpu", "highest")
    used._dynamo.counters.clear()
    used.build(workloads.build(name, "torch"), sizes, 0, [workloads.load(name).inputs(sizes, 0)])
    used.fence(used.call(0))
    return used.generated()

Session("cpu", "highest")
of_machine = lambda: sorted(map(str, Path(sys.prefix, "precompiled_headers").rglob("*.gch")))
before = of_machine()
first = generated("layernorm", {"batch": 2, "sequence": 8, "features": 48})
own = list(Path(tempfile.gettempdir()).rglob("*.gch"))
print("headers", len(before), before == of_machine(), len(own), first["kernels"])
print("breaks", first["graph_breaks"])
chosen = json.loads(sys.argv[1])
print("breaks", generated("newton_readback", chosen["newton_readback"])["graph_breaks"])
from stackwars.measure.frameworks import torch_inductor_frozen
try:
    torch_inductor_frozen.Session("cpu", "highest").build(
        workloads.build("train_mlp", "torch"), chosen["train_mlp"], 0, []
    )
except NotImplementedError as error:
    print("refused", error)
"""


def test_inductor_s_first_run_precompiles_no_header_counts_breaks_in_a_loop_and_freezes_no_training(tmp_path):
    chosen = {name: SMALL[name] for name in ("newton_readback", "train_mlp")}
    done = run_code("torch_inductor", RUNS, json.dumps(chosen), TMPDIR=str(tmp_path))
    told = [line.split() for line in done.stdout.splitlines() if line.startswith(("headers", "breaks"))]
    assert len(told) == 3, done.stderr[-2000:]
    (_, count, same, own, kernels), *breaks = told
    assert int(count) >= 1 and (same, own) == ("True", "0") and int(kernels) >= 1, told
    assert breaks == [["breaks", "0"], ["breaks", "1"]]
    assert "refused freezing makes constants of the weights" in done.stdout


REFUSED = """
import json, sys
from stackwars.measure import workloads
from stackwars.measure.frameworks.jax_openvino import Session
sizes = json.loads(sys.argv[1])
try:
    Session("cpu", "highest").build(workloads.build("train_mlp", "jax"), sizes, 0, [])
except NotImplementedError as error:
    print("refused", error)
"""


def test_openvino_refuses_what_updates_itself():
    done = run_code("jax_openvino", REFUSED, json.dumps(SMALL["train_mlp"]))
    assert "refused OpenVINO infers: " in done.stdout, done.stderr[-2000:]
