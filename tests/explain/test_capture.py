"""What a script compiles: its modules with their calls and arguments, the hottest explained, and what is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from explain.test_cli import ADD, run
from stackwars.core.client import CompilerSpec
from stackwars.core.launch import REPOSITORY
from stackwars.core.program import Graph, Op, Program
from stackwars.core.types import DTYPES
from stackwars.explain import capture, capture_hook, files
from stackwars.explain.__main__ import CANNOT, parser
from stackwars.explain.files import BadInput, drawn_like
from stackwars.explain.page import SLOWER
from stackwars.explain.task import Settings
from stackwars.setup.environments import ensure
from stackwars.study.config import load
from stackwars.study.workflow.explain import script_python

SCRIPTS = Path(__file__).parent / "capture"


@pytest.fixture(scope="module", params=["jax", "xla-0.10.2"])
def trained(request, tmp_path_factory) -> list[capture.Module]:
    """Return the modules of the training in JAX 0.7.1 and 0.10.2."""
    python = ensure(REPOSITORY / "envs" / f"{request.param}.txt")
    folder = tmp_path_factory.mktemp("captured")
    return capture.run([str(python), str(SCRIPTS / "jax_train.py")], folder)


@pytest.mark.env
def test_every_call_of_a_module_of_jax_is_counted(trained):
    """Each signature, static value, and kind of call has a module: in C++, in Python, ahead of time, in a gradient."""
    assert all(module.is_exact for module in trained)
    called = [(module.name, module.calls) for module in trained]
    assert [calls for name, calls in called if name == "jit_step"] == [20]
    # 64 rows before and after the gradients, and 32 rows; a gradient that is not compiled calls two further modules.
    losses = sorted(calls for name, calls in called if name == "jit_loss")
    assert losses[-2:] == [4, 4] and sorted(losses[:-2]) == [2, 2]
    assert [calls for name, calls in called if name == "jit_predict"] == [5]
    assert sorted(calls for name, calls in called if name == "jit_norm") == [2, 3]


@pytest.mark.env
def test_arguments_are_recorded_by_their_moments_and_small_ones_by_their_values(trained):
    [step] = [module for module in trained if module.name == "jit_step"]
    first, second, x, y, rate = step.arguments
    assert x["mean"] == pytest.approx(3, abs=0.1) and x["std"] == pytest.approx(2, abs=0.1)
    assert first["std"] == pytest.approx(0.1, abs=0.01) and rate["values"] == pytest.approx([0.001])
    assert len({one["digest"] for one in (first, second, x, y, rate)}) == 5
    [ahead] = [module for module in trained if module.name == "jit_predict"]
    assert x["digest"] in {one["digest"] for one in ahead.arguments}


@pytest.mark.env
def test_modules_of_torch_xla_are_read_from_the_dump_and_a_graph_of_inductor_is_counted(
    tmp_path, capfd, torch_xla_python
):
    captured = tmp_path / "captured"
    captured.mkdir()
    script = SCRIPTS / "torch_train.py"
    modules = capture.run([str(torch_xla_python), str(script)], captured)
    expected = f"{script}: 1 graph compiled by TorchInductor, seen and not captured; fix: "
    assert expected in capfd.readouterr().err
    spec = CompilerSpec("jaxlib-0.10.2", python=str(ensure(REPOSITORY / "envs/xla-0.10.2.txt")))
    said = []
    path, hottest = capture.hottest(modules, spec, Settings(seconds=0.05), tmp_path / "out", said.append)
    assert "stablehlo.dot_general" in path.read_text()
    # Lazy steps, and calls by torch.compile. The first step may differ from all others.
    assert {one.calls for one in modules} & {8, 9, 10} and {one.calls for one in modules} & {4, 5, 6}
    assert 8 <= hottest.calls <= 10 and f"{hottest.name}  {hottest.calls} " in said[0]


def test_a_script_with_graphs_of_inductor_alone_is_refused(tmp_path):
    document = {"modules": [], "is_exact": True, "inductor_graphs": 1}
    file = f"pathlib.Path(os.environ[{capture_hook.FOLDER!r}], '1.json')"
    (tmp_path / "train.py").write_text(f"import os, pathlib\n{file}.write_text({json.dumps(document)!r})\n")
    with pytest.raises(
        BadInput, match=r"expected at least one module of XLA, got 1 graph compiled by TorchInductor"
    ):
        capture.run([sys.executable, str(tmp_path / "train.py")], tmp_path)


@pytest.mark.env
def test_the_hottest_modules_of_two_scripts_are_compared_on_the_values_of_the_first(tmp_path):
    script = SCRIPTS / "jax_train.py"
    done = run(tmp_path, "--values", "--json", "--against", f"{script} 5", "--run", str(script), "30")
    assert done.returncode in (0, SLOWER), done.stderr
    shown = " ".join(done.stderr.split())
    assert "trained" in shown and "jit_step 30 " in shown and "jit_step 5 " in shown
    document = json.loads(done.stdout)
    assert document["table"]["programs"] == ["jit_step-a", "jit_step-b"]
    assert {cell["status"] for cell in document["table"]["cells"]} == {"ok"} and not document["parting"]
    command = f"stackwars explain --values --json --against '{script} 5' --run {script} 30"
    assert document["command"] == command
    with np.load(tmp_path / "explain/jax_train/captured/a/values.npz") as values:
        assert values["arg2"].shape == (64, 256) and values["arg2"].mean() == pytest.approx(3, abs=0.1)


@pytest.mark.env
def test_a_dump_of_jax_is_read_and_has_no_calls(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import jax\njax.jit(lambda x: x @ x)(jax.numpy.ones((300, 300)))\n")
    environ = {**os.environ, "JAX_DUMP_IR_TO": str(tmp_path / "dump")}
    spec, said = CompilerSpec("jaxlib", python=str(ensure(REPOSITORY / "envs/xla-0.10.2.txt"))), []
    subprocess.run([spec.python, script], env=environ, check=True)
    options = parser().parse_args(["explain", "--hlo-dump", str(tmp_path / "dump")])
    settings = Settings(seconds=0.05)
    [path], _ = capture.programs(options, None, spec, settings, tmp_path / "out", said.append)
    assert "dot_general" in Path(path).read_text()
    assert "?: the number of calls is not known" in " ".join(said[-1].split())


@pytest.mark.env
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("print(1)\n", "train.py: expected at least one compiled module, found none; fix: "),
        ("import sys\nsys.exit('no data')\n", "train.py: expected it to end with status 0, got 1; fix: "),
    ],
)
def test_a_script_without_a_module_is_refused_in_one_line(tmp_path, text, expected):
    (tmp_path / "train.py").write_text(text)
    done = run(tmp_path, "--run", "train.py")
    assert done.returncode == CANNOT
    assert done.stderr.splitlines()[-1].startswith(expected), done.stderr
    assert ("no data" in done.stderr) == ("no data" in text)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["a.mlir", "--run", "x.py"], "got a.mlir and --run; fix: give one"),
        ([], "got none; fix: give one"),
        (["a.mlir", "--values"], "expected --run <script> with --values, got none"),
        (["--inputs", "x.npz", "--run", "x.py"], "expected no --inputs with --run"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments, expected):
    options = parser().parse_args(["explain", *arguments])
    with pytest.raises(BadInput, match="expected") as refused:
        capture.is_asked(options, options.a)
    assert expected in str(refused.value)


def test_a_folder_without_programs_says_what_to_set(tmp_path):
    (tmp_path / "module_0001.jit_f.txt").write_text("HloModule jit_f\n")
    with pytest.raises(
        BadInput, match=r"expected a folder with StableHLO .*, got none; fix: .*JAX_DUMP_IR_TO="
    ):
        capture.read_dump(tmp_path)


@pytest.mark.parametrize(
    ("peak", "expected"), [(200, "50 % of the peak"), (2_000, "5 % of the peak"), (10, "")]
)
def test_products_are_compared_with_the_rate_of_the_machine(monkeypatch, peak, expected):
    """A rate beyond the peak is a wrong count, of the work or of the time, and is not shown."""
    monkeypatch.setattr(capture, "peak_gflops", lambda worker: peak)
    graph = Graph(types={0: "tensor<4x4xf32>"})
    graph.ops.append(Op(0, "stablehlo.dot_general", (), (0,), (), work=50_000_000))
    one = capture.Module("f", Path("f.mlir"), program=Program("f"), graph=graph, ms=1.0)
    assert capture.speed(one, None).partition("100 GFLOP/s (")[2].startswith(expected)
    assert bool(capture.speed(one, None)) == bool(expected)
    graph.ops.append(Op(1, "stablehlo.while", (), (), ()))
    assert capture.speed(one, None) == ""


def test_a_log_with_other_compilations_tells_no_calls(tmp_path):
    for number in (1, 2):
        (tmp_path / f"module_000{number}.Sync.{number}{capture.DUMPED}").touch()
    (tmp_path / f"module_0003.jit_f{capture.DUMPED}").touch()
    log = tmp_path / "log.txt"
    line = "{} Analysis:   Graph Hash: {}\n"
    compiled = [line.format("Compilation", one) + line.format("Post Compilation", one) for one in "ab"]
    log.write_text("".join(compiled) + 3 * line.format("Execution", "b"))
    assert [(one.name, one.calls) for one in capture.dumped(tmp_path, log)] == [("Sync.2", 3)]
    log.write_text(compiled[0])
    assert [one.calls for one in capture.dumped(tmp_path, log)] == [None, None]


@pytest.mark.parametrize(
    "array",
    [
        np.random.default_rng(0).normal(3, 2, (50, 40)).astype(np.float32),
        np.random.default_rng(0).integers(5, 900, (50, 40)),
        np.random.default_rng(0).integers(-70, 3, 100).astype(np.int8),
        np.random.default_rng(0).random((50, 40)) < 0.2,
    ],
)
def test_drawn_values_are_like_those_that_were_recorded(array):
    facts = capture_hook.facts(array)
    drawn = [drawn_like(facts, array.shape, array.dtype, files.SEED, which) for which in (0, 1)]
    assert (drawn[0] != drawn[1]).any()
    for one in drawn:
        assert one.dtype == array.dtype and one.min() >= array.min() and one.max() <= array.max()
        assert one.mean() == pytest.approx(array.mean(), abs=0.2 * float(array.std()))


def test_a_record_beside_a_file_decides_its_arguments(tmp_path, monkeypatch):
    facts = capture_hook.facts(np.full((64, 64), 7, np.float32))
    path = tmp_path / "add.mlir"
    path.write_text(ADD)
    document = {"arguments": [facts, capture_hook.facts(np.arange(64, dtype=np.int32))]}
    files.record_of(path).write_text(json.dumps(document))
    spec = CompilerSpec("jaxlib", python=str(ensure(REPOSITORY / "envs/xla-0.10.2.txt")))
    [program] = files.load([path], spec)
    assert (program.arguments[0](0) == 7).all() and program.arguments[1](1).max() > 8


def test_values_of_narrow_floats_and_infinities_are_recorded():
    array = np.full(100, -np.inf, np.float32)
    array[:50] = 2
    assert capture_hook.facts(array)["mean"] == 2
    assert set(capture_hook.facts(np.full(100, np.nan, np.float32))) == {"digest"}
    assert capture_hook.facts(np.zeros(0, np.float32))["values"] == []
    # A .npz file has no name for narrow types.
    assert [capture_hook.plain(np.ones(3, DTYPES[kind])).dtype for kind in ("bf16", "i4")] == [
        "float32",
        "int8",
    ]


@pytest.mark.env
def test_the_environment_of_a_script_is_that_of_the_framework_that_it_imports(tmp_path):
    script = tmp_path / "x.py"
    script.write_text("import os.path, numpy\nimport jaxtyping\n")
    with pytest.raises(BadInput, match=r"expected a script that imports one of .*RUN_PYTHON=<the interpreter"):
        script_python(load(), script)
    script.write_text("import os\nif True:\n    from jax import numpy\n")
    assert script_python(load(), script) == str(ensure(REPOSITORY / "envs/jax.txt"))


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("x.py", "--python: expected an interpreter, got /none"),
        ("none.py", "none.py: expected a file, got none; fix: "),
    ],
)
def test_a_python_or_a_script_that_does_not_exist_is_refused(tmp_path, script, expected):
    (tmp_path / "x.py").touch()
    options = parser().parse_args(["explain", "--python", "/none", "--run", str(tmp_path / script)])
    with pytest.raises(BadInput, match=expected):
        capture.programs(options, None, None, Settings(), tmp_path, print)
