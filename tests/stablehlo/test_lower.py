"""Programs made without weights: the text that a cell compiles, and the arguments in its order."""

import gzip
import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from lowerings import Lowerings, file_job
from running import run
from stackwars.core.documents import event
from stackwars.core.launch import REPOSITORY, clean_environ
from stackwars.core.outcome import Failed
from stackwars.core.program_text import load_sources, readback
from stackwars.measure.checks import relative_l2
from stackwars.measure.stablehlo import arguments, sharded
from stackwars.measure.stablehlo.arguments import DONATED
from stackwars.measure.supervisor import supervise
from stackwars.measure.workloads.train_mlp import WORKLOAD as train_mlp
from stackwars.study import config, sharding
from stackwars.study.programs import Program
from stackwars.study.workflow.jobs import lower_job, sharded_job

FULL = config.load()
SMOKE = config.load(preset="smoke")
CELL = """
import json, sys
from importlib import import_module
from pathlib import Path
from stackwars.measure import workloads
framework, dialect, folder = sys.argv[1:4]
for name, sizes in json.loads(sys.argv[4]).items():
    session = import_module(f"stackwars.measure.frameworks.{framework}").Session("cpu", "highest")
    inputs = workloads.load(name).inputs(sizes, 2025)
    session.build(workloads.build(name, dialect), sizes, 2025, [inputs])
    session.settle()
    session.fence(session.call(0))
    Path(folder, f"{name}.mlir").write_text(session.stablehlo())
"""
IN_CELLS = {
    **{"jax": ("train_mlp", "decode"), "torch_xla": ("bert_base", "train_mlp", "decode")},
    **{"torchax": ("gpt2_small",), "tensorflow_xla": ("mha",)},
}
"""Workloads whose programs are compared with those that cells of these frameworks run."""

STEP = """
import sys
from pathlib import Path
import numpy as np
from stackwars.measure.stablehlo import arguments
from stackwars.core.compilers.xla import Compiler
from stackwars.core.program_text import not_donated
from stackwars.measure.workloads.train_mlp import WORKLOAD as train_mlp
import gzip
sizes, compiler = eval(sys.argv[1]), Compiler("cpu", {})
for folder in map(Path, sys.argv[2:]):
    text = gzip.decompress((folder / "program.mlir.gz").read_bytes()).decode()
    document, entries = arguments.load(folder / "arguments.json")
    program = compiler.compile(not_donated(text))
    given = train_mlp.inputs(sizes, document["seed"])
    for place, (entry, (_, dtype)) in enumerate(zip(entries, program.types, strict=True)):
        program.buffers[0][place] = compiler.put(entry.value(document["seed"], given).astype(dtype))
    results = program.call(0)
    program.fence(results)
    np.savez(folder / "results.npz", **arguments.named(document, program.fetch(results)))
"""


def main_of(text):
    """The arguments of the main function."""
    return text[text.index("@main(") :].split("->")[0]


@pytest.fixture(scope="module")
def lowerings():
    with Lowerings() as result:
        yield result


@pytest.fixture
def lowered(lowerings):
    """A function of a job and a folder: (text, document, entries)."""

    def of(job, folder):
        lowerings(job, folder)
        return read(folder)

    return of


def read(folder):
    """(text, document, entries) of a lowered program."""
    text = gzip.decompress((folder / "program.mlir.gz").read_bytes()).decode()
    return text, *arguments.load(folder / "arguments.json")


@pytest.mark.env
def test_lines_of_a_program_name_their_source_in_the_workload(lowered, tmp_path):
    job = lower_job(SMOKE, Program("jax", "mha"))
    text, document, _ = lowered(job, tmp_path)
    found = load_sources(document["sources"])
    lines = text.splitlines()
    products = [place for place, line in enumerate(lines) if " stablehlo.dot_general " in line]
    source = (REPOSITORY / "src/stackwars/measure/workloads/attention.py").read_text().splitlines()
    assert products
    for place in products:
        file, number = found[place].split(":")
        assert file == "workloads/attention.py"
        assert "@" in source[int(number) - 1] or "einsum" in source[int(number) - 1], found[place]


@pytest.fixture(scope="module")
def in_cells(request, tmp_path_factory):
    """A function of a framework: the folder of the programs that its cells run, by one process."""

    @cache
    def of(name):
        folder, jobs = (
            tmp_path_factory.mktemp(name),
            [lower_job(SMOKE, Program(name, w)) for w in IN_CELLS[name]],
        )
        sizes = json.dumps({job.workload: job.sizes for job in jobs})
        # Compiled as fast as possible: what counts is the program.
        environ = clean_environ({"XLA_FLAGS": "--xla_backend_optimization_level=0"})
        python = request.getfixturevalue(f"{name}_python")
        run(python, "-c", CELL, name, jobs[0].dialect, folder, sizes, env=environ)
        return folder

    return of


@pytest.mark.env
@pytest.mark.parametrize(("name", "workload"), [(name, one) for name, some in IN_CELLS.items() for one in some])
def test_program_is_the_one_that_the_cell_ran(lowered, in_cells, name, workload, tmp_path):
    job = lower_job(SMOKE, Program(name, workload))
    text, document, entries = lowered(job, tmp_path / "program")
    assert text == (in_cells(name) / f"{workload}.mlir").read_text()
    assert document["program_sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert main_of(text).count("%arg") == len(entries)
    if workload == "gpt2_small":  # its tied weight is one argument
        assert main_of(text).count(f"tensor<{job.sizes['vocabulary']}x{job.sizes['hidden']}xf32>") == 1
    if workload not in ("train_mlp", "decode"):
        return
    names = [result["name"] for result in document["results"] if result["name"]]
    leaves = 4 * 3 if workload == "train_mlp" else 2 * job.sizes["layers"]
    assert len(names) == len(set(names)) == leaves + 1
    assert "output" in names
    if name == "jax":  # what torch_xla donates it says beside the program
        donated = len(re.findall(r"tf.aliasing_output|jax.buffer_donor", main_of(text)))
        assert donated == leaves + (workload == "train_mlp")  # the optimiser's count of steps
    # An optimiser's moments are 0 at first; a cache is full.
    assert ("zeros" in {entry.kind for entry in entries}) == (workload == "train_mlp")


@pytest.mark.env
def test_sizes_that_cannot_be_lowered_are_a_failure_with_the_last_line(lowerings, tmp_path):
    lowerings(lower_job(SMOKE, Program("jax", "mha")), tmp_path / "program")
    with pytest.raises(Failed, match="exit status 1 in lower; last line: KeyError"):
        lowerings.processes["jax"]({"batch": 3}, tmp_path / "without-sizes")


@pytest.mark.env
@pytest.mark.parametrize(
    ("job", "why"),
    [
        (
            file_job("torch_tpu", REPOSITORY / "tests/explain/public/solve3.py"),
            ".*arguments of the traced graph",
        ),
        (lower_job(SMOKE, Program("torchax", "decode")), "of what updates itself, torchax"),
    ],
    ids=["torch_tpu", "torchax"],
)
def test_program_that_cannot_be_lowered_leaves_the_reason(lowered, job, why, tmp_path):
    text, _, entries = lowered(job, tmp_path)
    assert re.match(f"// no program: {why}", text) and not entries


STEPPING = ("tensorflow_xla", "torchax", "torch_tpu")


@pytest.mark.env
def test_lowered_step_is_a_step(lowered, jax_python, tmp_path):
    jobs = {name: lower_job(SMOKE, Program(name, "train_mlp")) for name in STEPPING}
    for name, job in jobs.items():
        lowered(job, tmp_path / name)
    sizes, seed = jobs[STEPPING[0]].sizes, jobs[STEPPING[0]].seed
    run(jax_python, "-c", STEP, sizes, *(tmp_path / name for name in jobs))
    weights = train_mlp.weights(sizes, seed)
    (loss,), state = train_mlp.expected(sizes, seed)
    for name in jobs:
        found = dict(np.load(tmp_path / name / "results.npz"))
        assert found.keys() == {"output", *state}
        assert found["output"] == pytest.approx(loss, rel=1e-6)
        for leaf, value in state.items():
            # What a step changes, and not the weight that it changes little of.
            start = weights.get(leaf, 0)
            assert relative_l2(found[leaf] - start, value - start) < 1e-3, (name, leaf)


@pytest.mark.env
@pytest.mark.parametrize("workload", ["ffn", "train_transformer"])
def test_marked_program_is_what_torch_xla_marks(lowered, torch_xla_python, workload, tmp_path):
    job = lower_job(SMOKE, Program("torch_xla", workload, "tensor2"))
    text, document, _ = lowered(job, tmp_path / "lowered")
    point = sharding.Point("torch_xla", workload, "tensor", 2)
    divided = replace(sharded_job(SMOKE, point), sizes=job.sizes)
    folder = tmp_path / "sharded"
    found = event(supervise(divided, torch_xla_python, folder, sharded.__name__), "compared")
    assert found["rel_l2"] < 1e-5 and found["partitioned"]["all_reduce"] >= 1
    emitted = gzip.decompress((folder / "program.mlir.gz").read_bytes()).decode()
    # What is donated torch_xla says beside the program; what a step has updated it marks once more.
    assert main_of(text.replace(DONATED, "")) == main_of(emitted)
    kinds = [Counter(re.findall(r"= \"?([a-z]+\.\w+)", one)) for one in (text, emitted)]
    marks = emitted.count("custom_call @Sharding")
    kinds[1]["stablehlo.custom_call"] -= marks
    assert +kinds[0] == +kinds[1]
    assert bool(marks) == (workload == "train_transformer")
    leaves = document["results"][1:]
    assert text.count(DONATED) == len(leaves)
    assert bool(leaves) == (workload == "train_transformer")


@pytest.mark.env
@pytest.mark.parametrize("name", ["torch_xla", "torch_tpu"])
def test_llama_8b_needs_no_32_gb(lowered, name, tmp_path):
    job = lower_job(FULL, Program(name, "llama3_8b"))
    text, document, entries = lowered(job, tmp_path)
    assert document["peak_rss_bytes"] < 2 * 2**30
    weights = [entry for entry in entries if entry.kind == "weight"]
    assert len(weights) == 291
    assert "128256x4096" in text


@pytest.mark.env
def test_bert_in_tensorflow_needs_no_memory_for_its_weights(lowered, tmp_path):
    job = lower_job(FULL, Program("tensorflow_xla", "bert_base"))
    text, document, entries = lowered(job, tmp_path)
    assert document["peak_rss_bytes"] < 2**30
    assert [entry.kind for entry in entries] == ["input"] + 197 * ["weight"]
    assert "30522x768" in text


@pytest.mark.env
def test_torch_tpu_transposes_weights(lowered, tmp_path):
    job = lower_job(SMOKE, Program("torch_tpu", "gpt2_small"))
    text, _, entries = lowered(job, tmp_path)
    assert text.startswith("module @torch_tpu {")
    assert main_of(text).count("%arg") == len(entries)
    assert readback(text) == {"precision": "HIGHEST", "dtype": "f32"}
    # GPT-2's Conv1D keeps its weights as its product wants them; its head is a linear layer.
    names = [f"%arg{number}" for number, entry in enumerate(entries) if entry.kind == "weight"]
    transposed = sum(f"stablehlo.transpose {name}," in text for name in names)
    assert transposed == 1
    assert len({entry.name for entry in entries if entry.kind == "weight"}) == len(names)


# Operations that torch_xla computes on the host have no program, whether or not they read a placeholder.

ON_HOST = {
    # An array of integers has its values while it is lowered: the result would be a constant.
    "counts": (
        'return {"x": np.arange(50, dtype="int32") % 7}',
        "return torch.bincount(x, minlength=7)",
        "torch_xla computes aten::bincount on the host",
    ),
    # Floats are placeholders, and reading one aborts.
    "logadd": (
        'return {"x": ("float16", (8,))}',
        "return torch.logaddexp2(x, 2 * x)",
        "torch_xla computes aten::logaddexp2",
    ),
    "read_back": (
        'return {"x": (8,)}',
        "return x * (2 if x.sum().item() > 0 else 3)",
        "torch_xla reads values back",
    ),
    "sum": ('return {"x": (8,)}', "return x.sum()", ""),
}
FILE = "import numpy as np\n\n\ndef inputs():\n    {}\n\n\ndef torch(x):\n    import torch\n    {}\n"


@pytest.mark.env
@pytest.mark.parametrize("name", ON_HOST)
def test_program_that_runs_in_part_on_the_host_is_none(lowered, name, tmp_path):
    inputs, function, why = ON_HOST[name]
    path = tmp_path / f"{name}.py"
    path.write_text(FILE.format(inputs, function))
    text, document, entries = lowered(file_job("torch_xla", path, sizes={}), tmp_path / name)
    if why:
        assert text.startswith(f"// no program: {why}") and not entries
    else:
        assert "func.func @main" in text and [entry.kind for entry in entries] == ["input"]
        # Tracing records the lazy graph; both are parts of the whole.
        stages = document["stages"]
        assert stages.keys() == {"tracing", "lowering"} and min(stages.values()) > 0
        assert sum(stages.values()) <= document["lower_s"] + 0.001
