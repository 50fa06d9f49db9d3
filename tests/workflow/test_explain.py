"""The request of `make explain`: sizes, programs, the command that repeats it, and what is refused."""

from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

from stackwars.core.judge import Expected
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.core.program import Program
from stackwars.explain import driver
from stackwars.setup.environments import BuildError, Unavailable
from stackwars.study.config import load
from stackwars.study.workflow import explain, program_files

PROGRAM = '"""Twice."""\ndef inputs(rows=8):\n    return {"x": (rows, 4)}\ndef jax(x):\n    return 2 * x\n'


def options(*arguments: str) -> Namespace:
    return explain.parser().parse_args(arguments)


def request(*arguments: str) -> explain.Request:
    return explain.request(options(*arguments), print)


@pytest.fixture
def explained(monkeypatch, tmp_path):
    """Return a function that explains without any process and returns what the driver was called with."""
    lowered = []

    class Lowering:
        def __init__(self, pins: Path, job: dict, *_) -> None:
            self._job = job

        def __enter__(self):
            return self

        def __exit__(self, *_) -> None: ...

        def __call__(self, sizes: dict, folder: Path) -> Path:
            lowered.append((self._job.framework, sizes))
            (folder / "program.mlir.gz").write_text("program")
            return folder / "program.mlir.gz"

    monkeypatch.setattr(program_files.environments, "ensure", lambda pins: Path("/envs", pins.stem))
    monkeypatch.setattr(program_files, "Lowering", Lowering)
    monkeypatch.setattr(program_files, "load_program", lambda label, *_: Program(label, "text"))
    values = Expected("NumPy", limits={"output0": 1e-6}, values={"output0": np.ones(3)})
    monkeypatch.setattr(program_files, "expected_of", lambda job, evaluator: values)
    monkeypatch.setattr(driver, "explain", lambda programs, compilers, **rest: (programs, compilers, rest))

    def call(*arguments: str):
        tried, compilers, rest = explain.explain(request(*arguments, "--output", str(tmp_path / "out")))
        return [program.label for program in tried], [spec.name for spec in compilers], rest, lowered

    return call


def test_a_workload_has_the_preset_s_sizes_and_a_file_its_own(explained, tmp_path):
    tried, compilers, rest, _ = explained("mha")
    assert rest["sizes"] == {"batch": 2, "sequence": 64, "features": 768, "heads": 12}
    assert (tried, list(rest["natives"])) == (["jax", "torch_xla"], ["torch_eager", "torch_inductor", "numpy"])
    assert compilers == load().explain.compilers and set(rest["expected"]) == {*tried, *rest["natives"]}
    assert explained("gemm", "--preset", "smoke")[2]["sizes"] == {"m": 16, "k": 32, "n": 64}
    (tmp_path / "twice.py").write_text(PROGRAM)
    tried, _, rest, _ = explained(str(tmp_path / "twice.py"))
    assert (rest["sizes"], rest["title"], tried) == ({"rows": 8}, "Twice", ["jax"])
    absent = ["torch_xla", "torch_eager", "torch_inductor", "numpy"]
    assert rest["not_tried"]["frontends without a function"] == absent


def test_a_file_with_calls_needs_no_environment_of_a_compiler(monkeypatch, tmp_path):
    built = []

    def ensure(pins: Path) -> Path:
        built.append(pins.stem)
        return pins

    monkeypatch.setattr(program_files.environments, "ensure", ensure)
    monkeypatch.setattr(explain.recompilation, "explain", lambda *_, **known: known["title"])
    (tmp_path / "twice.py").write_text(PROGRAM + "def calls():\n    return [{}]\n")
    assert explain.explain(request(str(tmp_path / "twice.py"))) == "Twice" and built == ["jax"]


def test_programs_are_lowered_again_only_after_an_edit(explained, tmp_path):
    path = tmp_path / "twice.py"
    for text, count in ((PROGRAM, 1), (PROGRAM, 1), (PROGRAM + "# edited\n", 2)):
        path.write_text(text)
        *_, rest, lowered = explained(str(path))
        assert len(lowered) == count
    assert rest["lower"]["jax"]({"rows": 3}).label == "jax" and lowered[-1] == ("jax", {"rows": 3})


@pytest.mark.parametrize(
    ("error", "status", "detail"),
    [
        (BuildError("no disk"), Status.ERROR, "no disk"),
        (Unavailable("x==1 has no wheels with a matching Python"), Status.UNSUPPORTED, "x==1 has no wheels"),
    ],
)
def test_an_environment_that_cannot_be_built_is_an_outcome(explained, monkeypatch, error, status, detail):
    def ensure(pins: Path) -> Path:
        if pins.stem in ("iree", "torch_xla", "torch_eager"):
            raise error
        return Path("/envs", pins.stem)

    monkeypatch.setattr(program_files.environments, "ensure", ensure)
    tried, _, rest, _ = explained("gemm")
    assert set(rest["unavailable"]) >= {"iree-3.13", "torch_xla"} and "jax" not in rest["unavailable"]
    found = rest["unavailable"]["torch_xla"]
    assert found.status is status and found.detail.startswith(detail) and "torch_xla" in tried


@pytest.mark.parametrize("status", [Status.OOM, Status.TIMEOUT, Status.CRASH, Status.ERROR])
def test_a_lowering_that_ends_without_a_program_has_the_outcome_of_its_process(explained, monkeypatch, status):
    def fail(self, sizes: dict, folder: Path) -> Path:
        raise Failed(Outcome(status, "no room"))

    monkeypatch.setattr(program_files.Lowering, "__call__", fail)
    *_, rest, _ = explained("gemm")
    found = rest["unavailable"]["jax"]
    assert (found.status, found.detail) == (status, "no room")


@pytest.mark.parametrize(
    ("arguments", "name", "command"),
    [
        ("gemm", "gemm", "PROGRAM=gemm"),
        ("gemm --compilers iree-3.13", "gemm", "PROGRAM=gemm COMPILERS=iree-3.13"),
        ("gemm --bound 0.2", "gemm", "PROGRAM=gemm BOUND=0.2"),
        ("gemm --ask memory", "gemm-memory", "PROGRAM=gemm ASK=memory"),
        ("a.mlir --inputs x.npz", "a", "A=a.mlir INPUTS=x.npz"),
        ("a.mlir b.mlir", "a-b", "A=a.mlir B=b.mlir"),
    ],
)
def test_the_command_repeats_what_was_chosen_and_each_objective_has_a_folder(arguments, name, command):
    found = request(*arguments.split())
    assert found.command == f"make explain {command}"
    assert (found.name, found.output.name) == (name, name)
    assert found.settings.ask == ("memory" if "memory" in arguments else "time")
