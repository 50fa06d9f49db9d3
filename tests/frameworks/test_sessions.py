"""Each framework's verbs do what a cell takes them to do, in its own environment."""

import re
import subprocess

import numpy as np
import pytest

from frameworks.probe import SEED, SIZES
from frameworks.probed import probe
from stackwars.ir.missing import missing
from stackwars.ir.readback import readback
from stackwars.measure.inputs import input_sets
from stackwars.measure.parity import relative_l2
from stackwars.setup.environments import REPOSITORY, clean_environ, ensure
from stackwars.workloads import ffn, values

pytestmark = pytest.mark.env
FRAMEWORKS = ("jax", "torch_xla", "torch_xla_pending", "tensorflow_xla", "tensorflow_graph")
NO_PROGRAM = ("tensorflow_graph",)
COMPILING = tuple(name for name in FRAMEWORKS if name not in NO_PROGRAM)
TELL_COMPILING = ("jax", "torch_xla", "torch_xla_pending")
TELL_TRACING = ("jax", "tensorflow_xla", "tensorflow_graph")
PACKAGES = {
    "jax": ("jax", ("jax", "jaxlib")),
    "torch": ("torch_xla", ("torch", "torch_xla")),
    "tensorflow": ("tensorflow", ("tensorflow", "tf_keras")),
}


@pytest.fixture(params=FRAMEWORKS)
def framework(request) -> str:
    """Each framework."""
    return request.param


@pytest.fixture
def found(framework) -> dict:
    """What the probe of that framework found on small sizes."""
    return probe(framework, "small")


def pinned(environment: str, package: str) -> str:
    text = (REPOSITORY / "envs" / f"{environment}.txt").read_text()
    return re.search(rf"^{package}==(\S+)", text, re.MULTILINE)[1]


@pytest.mark.parametrize("name", ["jax", "torch_xla", "tensorflow_xla"])
def test_settled_framework_compiles_in_the_first_call_only(name):
    assert probe(name, "small")["compiles"] == [1, 0, 0, 0]


def test_pending_framework_compiles_in_the_first_and_second_call():
    assert probe("torch_xla_pending", "small")["compiles"] == [1, 1, 0, 0]


def test_framework_without_a_program_tells_no_compilation():
    assert probe("tensorflow_graph", "small")["compiles"] == [None] * 4


def test_asking_for_the_program_changes_no_later_call(found):
    assert not found["compiles_after_stablehlo"]


def test_output_is_that_of_the_reference_for_each_set_of_inputs(found):
    sizes = SIZES["small"]
    weights = {name: values.leaf(name, s, SEED) for name, s in ffn.parameters(sizes).items()}
    for output, inputs in zip(found["values"], input_sets(ffn, sizes, SEED), strict=True):
        assert relative_l2(np.array(output), ffn.reference(weights, inputs)) < 1e-5


def test_nothing_comes_from_a_cache_on_disk(found):
    assert found["cache_hits"] == 0


CACHED = """
import sys
from importlib import import_module
import numpy as np
name, folder = sys.argv[1:]
framework = import_module(f"stackwars.frameworks.{name}")
session = framework.Session("cpu", "highest")
if name == "jax":
    import jax
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
else:
    import torch_xla.runtime
    torch_xla.runtime.initialize_cache(folder, readonly=False)
from stackwars.workloads import ffn
dialect = import_module(f"stackwars.workloads.ffn.in_{framework.DIALECT}")
sizes = dict(batch=4, sequence=8, features=32, hidden=64)
session.build(dialect.build, sizes, 1, [ffn.inputs(sizes, 1)])
session.settle()
session.fence(session.call(0))
print(session.counters().cache_hits, session.counters().compiles)
"""


def with_a_cache(name: str, folder) -> tuple[int, int]:
    """(cache hits, compilations) of the first call of a process that uses a cache on disk."""
    python = ensure(REPOSITORY / "envs" / f"{name}.txt")
    done = subprocess.run(
        [python, "-c", CACHED, name, folder],
        env=clean_environ({}), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    hits, compiles = done.stdout.split()[-2:]
    return int(hits), int(compiles)


def test_executable_from_a_cache_on_disk_is_told(tmp_path):
    hits = [with_a_cache("jax", tmp_path)[0] for _ in range(2)]
    assert hits[0] == 0 < hits[1]


def test_torch_xla_reads_no_executable_for_the_cpu_from_its_cache(tmp_path):
    # It finds the file and cannot read it: PersistentCacheDeserializeFailure, then it compiles.
    assert [with_a_cache("torch_xla", tmp_path) for _ in range(2)] == [(0, 1), (0, 1)]
    assert list(tmp_path.iterdir())


def test_output_is_float32_and_the_same_each_time(found):
    assert (found["dtype"], found["same"]) == ("float32", True)


def test_values_come_back_as_they_were_put(found):
    assert found["put"] == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("name", COMPILING)
def test_asked_precision_stands_in_the_program(name):
    text = probe(name, "small")["stablehlo"]
    assert readback(text) == {"precision": "HIGHEST", "dtype": "f32"}
    assert len(re.findall(r"stablehlo\.dot_general", text)) == 2


@pytest.mark.parametrize("name", NO_PROGRAM)
def test_framework_without_a_program_says_why(name):
    assert "graph" in missing(probe(name, "small")["stablehlo"])


def test_program_of_tensorflow_names_no_file_and_counts_no_function():
    text = probe("tensorflow_xla", "small")["stablehlo"]
    assert "loc(" not in text and ".py" not in text
    assert text.startswith("module @main_module attributes {")


def test_program_of_the_pending_framework_is_that_of_the_forward_pass():
    settled, pending = (probe(name, "small")["stablehlo"] for name in FRAMEWORKS[1:3])
    count = [len(re.findall(r"= \S*stablehlo\.", text)) for text in (settled, pending)]
    assert count[0] == count[1] > 5


def test_compiling_and_tracing_take_time_where_they_are_told(found, framework):
    if framework in TELL_COMPILING:
        assert found["compile_s"] > 1e-4
    else:
        assert found["compile_s"] is None
    if framework in TELL_TRACING:
        assert found["trace_s"] > 1e-4
    else:
        assert found["trace_s"] is None


def test_device_is_the_cpu(found):
    assert found["device_kind"].lower() == "cpu"


def test_versions_are_those_of_the_pins(found, framework):
    environment, packages = PACKAGES[framework.partition("_")[0]]
    for package in packages:
        version = found["versions"][package].partition("+")[0]
        assert version == pinned(environment, package.replace("_", "[-_]"))
