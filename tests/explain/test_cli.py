"""`stackwars explain` in an environment with jaxlib: exit statuses, outputs, and bad input refused in one line."""

import gzip
import json
import os
import tomllib
from dataclasses import replace
from html import unescape
from importlib import import_module
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
import typing_extensions

from explain.planted_pairs import inside_pairs
from explain_fixture import ANSWER
from running import python
from stackwars.core import limits
from stackwars.core.launch import REPOSITORY
from stackwars.explain import __main__ as command
from stackwars.explain import files
from stackwars.explain.files import BadInput
from stackwars.measure.workloads import program_inputs
from stackwars.study.workflow import explain

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


QUICK = """from functools import partial
from stackwars.explain import __main__ as command, cause
cause.Finder.processes = 3
command.Settings = partial(command.Settings, seconds=0.03)
command.main()
"""
"""The command with a tenth of the time for each program, and three fresh processes."""


def run(
    folder: Path, *arguments: str, start: tuple[str, str] = ("-m", "stackwars.explain")
) -> CompletedProcess[str]:
    """Run the command in a folder, by the Python of a compiler's environment, with what it lacks of the harness's."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "src"), installed(folder)])}
    options = {"cwd": folder, "env": environ, "timeout": 500, "check": False}
    return python(*start, "explain", *arguments, pins="envs/xla-0.10.2.txt", **options)


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
    # The interpreter, which judges, takes seconds for all rows.
    texts = {
        name: text.replace("1024x64", "128x64") for name, text in (("slow", pair.slow), ("fast", pair.fast))
    }
    done = run(tmp_path, *write(tmp_path, **texts), start=("-c", QUICK))
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


@pytest.mark.parametrize("parser", [command.parser, explain.parser])
def test_both_commands_say_their_exit_statuses_and_refuse_options_with_3(parser, capsys):
    for arguments, status in ((["--help"], 0), (["--nothing"], command.CANNOT)):
        with pytest.raises(SystemExit) as ended_with:
            parser().parse_args([*(["explain"] if parser is command.parser else []), *arguments])
        assert ended_with.value.code == status
    assert command.STATUSES in capsys.readouterr().out


@pytest.mark.parametrize(
    ("status", "error"), [(0, None), (1, None), (2, None), (3, BadInput("x")), (3, KeyError("x"))]
)
def test_make_explain_ends_with_the_status_of_its_answer(monkeypatch, status, error):
    def answered(_):
        if error:
            raise error
        return replace(ANSWER, exit_status=status)

    monkeypatch.setattr(explain, "explain", answered)
    monkeypatch.setattr(explain.start, "take_lock", lambda: "lock")
    monkeypatch.setattr("sys.argv", ["explain", "mha"])
    with pytest.raises(SystemExit) as ended_with:
        explain.main()
    assert ended_with.value.code == status


def test_the_command_that_repeats_it_is_quoted():
    options = explain.parser().parse_args(["--", "it's {a}.mlir"])
    assert explain.request(options, print).command == """make explain A='it'"'"'s {a}.mlir'"""


def test_a_program_file_needs_its_frontends(tmp_path, capsys, monkeypatch):
    (tmp_path / "softmax.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command.metadata, "entry_points", lambda group: [])
    with pytest.raises(SystemExit) as ended:
        command.main(["explain", "softmax.py"])
    assert ended.value.code == command.CANNOT and "make explain PROGRAM=" in capsys.readouterr().err


def npz(folder: Path, *arrays: np.ndarray, **named: np.ndarray) -> Path:
    np.savez(folder / "x.npz", *arrays, **named)
    return folder / "x.npz"


X, Y = np.zeros((4, 3), np.float32), np.zeros(3, np.int32)


def test_inputs_are_the_arguments_by_name_or_in_order(tmp_path):
    files.check_inputs(npz(tmp_path, arg1=Y, arg0=X), TYPES)
    files.check_inputs(npz(tmp_path, X, Y), TYPES)
    files.check_inputs(npz(tmp_path, np.array([-1]), np.array([1.0])), ["tensor<1xi8>", "tensor<1xbf16>"])


@pytest.mark.parametrize(
    ("arrays", "types", "expected"),
    [
        ({"x": X}, TYPES, "expected the arrays arg0, arg1, got x"),
        ({"arg0": X}, TYPES, "expected the arrays arg0, arg1, got arg0"),
        ({"arg0": X.T, "arg1": Y}, TYPES, "arg0: expected tensor<4x3xf32>, got"),
        ({"arg0": X, "arg1": np.zeros(3)}, TYPES, "arg1: expected tensor<3xi32>, got float64"),
        (
            {"arg0": np.array([3_000_000_000])},
            ["tensor<1xi32>"],
            "expected integers from -2147483648 to 2147483647",
        ),
        ({"arg0": np.array([1j])}, ["tensor<1xf32>"], "expected tensor<1xf32>, got complex128"),
        ({"arg0": np.array([9], np.int8)}, ["tensor<1xi4>"], "expected integers from -8 to 7"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(tmp_path, arrays, types, expected):
    with pytest.raises(BadInput, match="fix: ") as refused:
        files.check_inputs(npz(tmp_path, **arrays), types)
    assert expected in str(refused.value)


def damaged(path: Path) -> dict[str, bytes]:
    """Return the bytes of files that are no .npz, by what is wrong."""
    np.savez(path, arg0=np.zeros(300))
    whole = path.read_bytes()
    np.savez(path, arg0=np.array([{}], object))
    return {
        "empty": b"",
        "cut": whole[:200],
        "binary": bytes(range(256)),
        "text": b"x",
        "pickled": path.read_bytes(),
    }


@pytest.mark.parametrize("what", ["empty", "cut", "binary", "text", "pickled", "huge"])
def test_damaged_and_huge_inputs_are_one_line_in_both_commands(tmp_path, monkeypatch, what):
    path = tmp_path / "x.npz"
    if what == "huge":
        np.savez(path, arg0=np.zeros(300))
        monkeypatch.setattr(limits, "available_memory_bytes", lambda: 4000)
    else:
        path.write_bytes(damaged(path)[what])
    for check in (lambda: files.check_inputs(path, ["tensor<300xf64>"]), lambda: program_inputs.from_npz(path)):
        with pytest.raises(
            ValueError, match=r"x.npz: expected an .npz file of arrays, got .+; fix: "
        ) as refused:
            check()
        assert "\n" not in str(refused.value)


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
