"""`stackwars explain` in an environment with jaxlib: exit statuses, outputs, and bad input refused in one line."""

import gzip
import json
import os
import tomllib
from html import unescape
from importlib import import_module
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
import typing_extensions

from explain.planted_pairs import inside_pairs
from running import python
from stackwars.core.launch import REPOSITORY
from stackwars.explain import __main__ as command
from stackwars.explain import files
from stackwars.explain.files import BadInput

ADD = """module {
  func.func public @main(%arg0: tensor<64x64xf32>, %arg1: tensor<64xi32>) -> tensor<64x64xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
}
"""
TYPES = ["tensor<4x3xf32>", "tensor<3xi32>"]


def write(folder: Path, **texts: str) -> list[str]:
    """Write program files; return their names."""
    for name, text in texts.items():
        (folder / f"{name}.mlir").write_text(text)
    return [f"{name}.mlir" for name in texts]


def run(folder: Path, *arguments: str) -> CompletedProcess[str]:
    """Run the command in a folder, by the Python of a compiler's environment, with what it lacks of the harness's."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "src"), installed(folder)])}
    options = {"cwd": folder, "env": environ, "timeout": 500, "check": False}
    return python("-m", "stackwars.explain", "explain", *arguments, pins="envs/xla-0.10.2.txt", **options)


def installed(folder: Path) -> str:
    """Return a folder with the packages alone that the compiler's environment lacks and an installed command has."""
    result = folder / "packages"
    result.mkdir(exist_ok=True)
    packages = ("jinja2", "markupsafe", "pydantic", "pydantic_core", "annotated_types", "typing_inspection")
    for path in [
        *(Path(import_module(name).__file__).parent for name in packages),
        Path(typing_extensions.__file__),
    ]:
        link = result / path.name
        if not link.exists():
            link.symlink_to(path)
    return str(result)


@pytest.mark.env
def test_a_right_program_alone_packed_and_with_given_inputs(tmp_path):
    (tmp_path / "add.mlir.gz").write_bytes(gzip.compress(ADD.encode()))
    np.savez(tmp_path / "x.npz", arg0=np.full((64, 64), 3, np.float32), arg1=np.zeros(64, np.int32))
    done = run(tmp_path, "add.mlir.gz", "--inputs", "x.npz")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "jaxlib-0.10.2" in done.stdout and "1.00x" in done.stdout
    assert "Judged by jaxlib 0.10.2, the StableHLO interpreter in float64." in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    folder = tmp_path / "explain" / "add"
    made = {path.name for path in folder.iterdir()}
    assert {"explain.html", "explain.md", "explain.json", "table.json", "programs"} <= made
    assert (np.load(folder / "expected" / "add" / "expected.npz")["output0"] == 6).all()
    document = json.loads((folder / "explain.json").read_text())
    assert document["command"] == "stackwars explain add.mlir.gz --inputs x.npz"


@pytest.mark.env
def test_a_program_against_itself_has_no_gap_and_json_is_all_of_standard_output(tmp_path):
    files = write(tmp_path, first=ADD, second=ADD)
    done = run(tmp_path, *files, "--json", "--bound", "1000", "--output", "answer", "--name", "same")
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["name"] == "same" and document["table"]["programs"] == ["first", "second"]
    assert document == json.loads((tmp_path / "answer" / "explain.json").read_text())
    assert "program" in done.stderr and "first" in done.stderr


@pytest.mark.env
def test_a_slower_program_ends_with_2_and_what_differs_is_on_console_and_page(tmp_path):
    """The gap is 12 times: a busy machine shows it too."""
    pair = next(pair for pair in inside_pairs() if pair.name == "inside: comparator of a sort")
    done = run(tmp_path, *write(tmp_path, slow=pair.slow, fast=pair.fast))
    assert done.returncode == 2, done.stdout + done.stderr
    shown = " ".join(done.stdout.split())
    assert "times as long as fast in jaxlib-0.10.2: " in shown and pair.inside in shown
    page = (tmp_path / "explain" / "slow-fast" / "explain.html").read_text()
    assert pair.inside[1:] in unescape(page)


@pytest.mark.env
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"a": "module {\n  func.func @main() {\n    nonsense\n  }\n}\n"}, "a.mlir:3: expected a StableHLO"),
        ({"a": ADD, "b": ADD.replace("64x64", "32x32")}, "b.mlir: expected the arguments of a.mlir, (tensor<64"),
    ],
)  # fmt: skip
def test_files_that_are_no_programs_of_one_computation_are_refused(tmp_path, texts, expected):
    done = run(tmp_path, *write(tmp_path, **texts))
    assert done.returncode == command.CANNOT and done.stderr.startswith(expected), done.stderr
    assert len(done.stderr.splitlines()) == 1 and "; fix: " in done.stderr
    assert not (tmp_path / "explain").exists()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("none.mlir", "expected a file, got none; fix: the path"), ("softmax.py", "make explain PROGRAM="),
     ("--nothing", "unrecognized arguments: --nothing")],
)  # fmt: skip
def test_a_wrong_command_is_not_a_slow_program(tmp_path, capsys, monkeypatch, name, expected):
    (tmp_path / "softmax.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command.metadata, "entry_points", lambda group: [])
    with pytest.raises(SystemExit) as ended:
        command.main(["explain", name])
    assert ended.value.code == command.CANNOT and expected in capsys.readouterr().err


def npz(folder: Path, *arrays: np.ndarray, **named: np.ndarray) -> Path:
    np.savez(folder / "x.npz", *arrays, **named)
    return folder / "x.npz"


X, Y = np.zeros((4, 3), np.float32), np.zeros(3, np.int32)


def test_inputs_are_the_arguments_by_name_or_in_order(tmp_path):
    files.check_inputs(npz(tmp_path, arg1=Y, arg0=X), TYPES)
    files.check_inputs(npz(tmp_path, X, Y), TYPES)


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ({"x": X}, "expected the arrays arg0, arg1, got x"),
        ({"arg0": X}, "expected the arrays arg0, arg1, got arg0"),
        ({"arg0": X.T, "arg1": Y}, "arg0: expected tensor<4x3xf32>, got"),
        ({"arg0": X, "arg1": np.zeros(3)}, "arg1: expected tensor<3xi32>, got float64"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(tmp_path, arrays, expected):
    with pytest.raises(BadInput, match="fix: ") as refused:
        files.check_inputs(npz(tmp_path, **arrays), TYPES)
    assert expected in str(refused.value)


def test_files_of_one_name_are_told_apart():
    assert list(files.labelled([Path("x/p.mlir"), Path("y/p.mlir.gz")])) == ["p-a", "p-b"]


def test_the_package_declares_the_command_and_what_it_needs():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    module, _, function = project["project"]["scripts"]["stackwars"].partition(":")
    assert getattr(import_module(module), function) is command.main
    assert set(project["project"]["dependencies"]) == {"jinja2", "numpy", "pydantic", "scipy"}
    (loader,) = project["project"]["entry-points"][command.LOADERS].values()
    module, _, function = loader.partition(":")
    assert callable(getattr(import_module(module), function))
    (patterns,) = project["tool"]["setuptools"]["package-data"].values()
    assert list((REPOSITORY / "src" / "stackwars" / "explain").glob(patterns[0]))
