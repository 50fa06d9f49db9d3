"""What a user can get wrong, as it is typed, and faults of the machine: what is printed, and the exit status.

A row is refused in one line, and nothing is built or measured before. Keys of the configuration have such rows in
test_config.py, claims in test_claim_config.py, mistakes in program files in test_functions.py and
test_program_files.py, StableHLO files in test_files.py, arrays in test_cli.py, accepted runs in test_accepted_runs.py.
"""

import os
import shlex
import shutil
import sys
from functools import partial
from pathlib import Path

import pytest
from snakemake.cli import parse_config
from snakemake.exceptions import WorkflowError
from snakemake.utils import update_config

from made_tables import accepted
from running import run
from stackwars.core.launch import REPOSITORY, RUNNER
from stackwars.explain import __main__ as stackwars
from stackwars.publish import accept
from stackwars.publish.report import compare
from stackwars.setup import environments
from stackwars.study.claims import definitions
from stackwars.study.config import CONFIG, ConfigError, load, overridden, read, validate
from stackwars.study.workflow import explain, plan, radar, releases, start

PROGRAM = '"""Twice."""\ndef inputs(rows=8):\n    return {"x": (rows, 4)}\ndef jax(x):\n    return 2 * x\n'
LONG = "n" * 90
CANNOT = stackwars.CANNOT
COMMANDS = {
    "explain": explain.main,
    "stackwars": stackwars.main,
    "releases": releases.main,
    "radar": radar.main,
    "compare": compare.main,
    "accept": accept.main,
    "plan": plan.main,
    "set-up": environments.main,
}
NO_FILE = "expected a file, got none; fix: the path"
BESIDE = "expected a StableHLO file beside"
BOUND = "argument --bound: expected a number of at least 0, got"
EXPLAIN = ("explain", "stackwars explain")
EVERY = (*EXPLAIN, "releases")
FILES = [
    (EVERY, "no.py", f"no.py: {NO_FILE}"),
    (EVERY, "no.mlir", f"no.mlir: {NO_FILE}"),
    (EVERY, "folder.mlir", "folder.mlir: expected a file, got a folder; fix: the path"),
    (EXPLAIN, "a.mlir no.mlir", f"no.mlir: {NO_FILE}"),
    (EXPLAIN, "a.mlir --inputs no.npz", f"no.npz: {NO_FILE}"),
    (EXPLAIN, "a.mlir --bound=-1", f"{BOUND} -1"),
    (("explain", "releases"), "a.txt", "a.txt: expected a file of .py, .mlir, .mlir.gz, .mlirbc or the name of a work"),
    (("explain", "releases"), "gem", "workload: expected one of gemm, ffn,"),
    (("explain", "releases"), f"{LONG}.mlir", "expected a name of at most 80 bytes, got this; fix: rename"),
    (("stackwars",), "", "the following arguments are required: explain"),
    (("stackwars",), "explode a.mlir", "invalid choice: 'explode'"),
    (EXPLAIN, "", "expected a program, --run <script> or --hlo-dump <folder>, got none; fix: give one"),
    (("explain",), "dangling.mlir", f"dangling.mlir: {NO_FILE}"),
    (("explain",), "folder.py", "folder.py: expected a file, got a folder; fix: the path"),
    (("explain",), "a.mlir a.mlir a.mlir", "unrecognized arguments: a.mlir"),
    (("explain",), "twice.py a.mlir", f"twice.py: {BESIDE} a.mlir, got a program file"),
    (("explain",), "twice.py --inputs x.npz", f"twice.py: {BESIDE} x.npz, got a program file"),
    (("explain",), "gemm --inputs x.npz", f"gemm: {BESIDE} x.npz, got a program file or a workload"),
    (("explain",), "gemm --compilers gcc", "got gcc; fix: COMPILERS=<names>"),
    (("explain",), "gemm --frontends flax", "got flax; fix: FRONTENDS=<names>"),
    (("explain",), "gemm --bound nan", f"{BOUND} nan; fix: 0.1"),
    (("explain",), "gemm --bound '10 %'", f"{BOUND} 10 %; fix: 0.1"),
    (("explain",), "gemm --preset huge", 'config: preset: expected one of full, smoke, got "huge"'),
    (("explain",), "gemm --name ../x", "'../x': expected the name of a folder, got this; fix: rename"),
    (("explain",), "'two\nlines.py'", r"'two\nlines': expected a name of printable characters"),
    (("explain",), "empty.py", "empty.py:1: expected a function inputs(), got none; fix: def inputs"),
    (("explain",), "half.py", "half.py:2: expected a file that can be imported"),
    (("explain",), "exits.py", "exits.py:1: expected a file that loads and draws its inputs, got SystemExit"),
    (("releases",), "a.mlir --releases 0.3.0", "got 0.3.0; fix: .venv/bin/python envs/lock_releases.py"),
    (("releases",), "a.mlir --releases 0.10.2,newest", "got newest; fix: .venv/bin/python envs/lock"),
]  # fmt: skip
"""Commands that explain or compare programs, what follows them, and what is printed."""
TYPED = [(command, words, CANNOT, printed) for commands, words, printed in FILES for command in commands] + [
    ("releases", "a.mlir --order newest", 2, "argument --order: invalid choice: 'newest'"),
    ("radar", "gemm-jax gemm", CANNOT, "PROGRAMS: expected some of gemm-jax, "),
    ("compare", "nowhere run", 1, "nowhere: expected the tables of a run, got no cells.csv"),
    ("accept", "nowhere", 1, "expected the tables of a run in nowhere, got none named cells.csv; fix: make paper"),
    ("plan", "--preset huge --studies", 1, 'config: preset: expected one of full, smoke, got "huge"'),
    ("plan", "--preset full --studies nosuch", 1, 'expected one of tables'),
    ("set-up --studies", "nosuch", 1, "set-up: expected studies of"),
]  # fmt: skip


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A folder with files, in which nothing may be built."""
    texts = {
        "twice.py": PROGRAM,
        "empty.py": "",
        "half.py": "import numpy\ndef inputs(:\n",
        "a.mlir": "module {}\n",
    }
    texts |= {"exits.py": "raise SystemExit(0)\n", "x.npz": "", "a.txt": ""}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "dangling.mlir").symlink_to("gone")
    for name in ("folder.py", "folder.mlir"):
        (tmp_path / name).mkdir()
    accepted(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(RUNNER, raising=False)
    monkeypatch.setattr(environments, "ensure", lambda pins: pytest.fail(f"{pins} would be built"))
    monkeypatch.setattr(accept, "REFERENCE", tmp_path / "reference")
    return tmp_path


def typed(command: str, words: str, monkeypatch, capsys) -> tuple[int, str]:
    """Return the exit status of a command, and what it prints to standard error."""
    name, *rest = command.split()
    monkeypatch.setattr(sys, "argv", [name, *rest, *shlex.split(words)])
    with pytest.raises(SystemExit) as ended:
        COMMANDS[name]()
    code = ended.value.code
    said = capsys.readouterr().err
    code, said = (1, said + code) if isinstance(code, str) else (code, said)
    return code, said if "Traceback" in said else " ".join(said.split())


@pytest.mark.parametrize(("command", "words", "status", "printed"), TYPED)
def test_a_wrong_command_is_refused_before_anything_is_built(
    folder, monkeypatch, capsys, command, words, status, printed
):
    code, said = typed(command, words, monkeypatch, capsys)
    assert printed in said and code == status, said
    assert (
        "Traceback" not in said and not list(folder.glob("explain/*")) and not (folder / "reference").exists()
    )


TABLES = [
    ("cells.csv", b"", "got No columns to parse from file"),
    ("cells.csv", b"\xff\xfe\0\0", "got 'utf-8' codec can't decode byte"),
    ("cells.csv", b"mode,workload\n", "got one without the columns framework, device"),
    ("comparisons.csv", b'quantity\n"open\n', "comparisons.csv: expected a whole document, got "),
    ("values.csv", b"<html>404</html>\n", "got one without the columns workload"),
    (
        "context.json",
        b'{"preset": "fu',
        "context.json: expected a whole document, got one that ends or breaks off",
    ),
    ("rounds.csv", None, "rounds.csv"),
]


@pytest.mark.parametrize("command", ["compare", "accept"])
@pytest.mark.parametrize(("name", "content", "printed"), TABLES)
def test_a_damaged_table_is_named(folder, monkeypatch, capsys, command, name, content, printed):
    path = Path(shutil.copytree("run", "damaged"), name)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    code, said = typed(command, "damaged run" if command == "compare" else "damaged", monkeypatch, capsys)
    assert code == 1 and printed in said and "damaged" in said and said.count("; fix: ") == 1


MAKE = [
    (
        "explain",
        "expected make explain PROGRAM=<file.py>, A=<file.mlir>, RUN=<script.py> or DUMP=<folder>, got none",
    ),
    ("explain PROGRAM=x.py RUN=y.py", "without PROGRAM, A and B, got both; fix: give one"),
    ("explain A=a.mlir DUMP=folder", "without PROGRAM, A and B, got both; fix: give one"),
    ("explain PROGRAM=x.py A=a.mlir", "or A=<file.mlir> B=<file.mlir>, got both; fix: give one"),
    ("explain PROGRAM=x.py A=a.mlir B=b.mlir", "got both; fix: give one"),
    ("study", "expected make study STUDIES=<names of studies>, got none"),
    ("releases", "expected make releases PROGRAM="),
    ("compare", "expected make compare RUN=<folder with the tables of a run>, got none"),
    ("papr", "No rule to make target 'papr'"),
]


@pytest.mark.parametrize(("words", "printed"), MAKE)
def test_make_refuses_words_that_say_too_little_or_too_much(words, printed):
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = run("make", "-n", *words.split(), cwd=REPOSITORY, env=environ, check=False)
    assert done.returncode == 2 and printed in done.stderr and len(done.stderr.splitlines()) == 1


OVERRIDES = [
    ("settings={rounds: -1}", "settings.rounds: expected a number of at least 1, got -1"),
    ("settings={rounds: 2.5}", "settings.rounds: expected an integer, got 2.5"),
    ("settings={rounds: true}", "settings.rounds: expected an integer, got true"),
    ("settings={memory_cap_gib: -1}", "settings.memory_cap_gib: expected auto or a number over 0, got -1"),
    ("settings={round: 3}", "settings.round: expected no such key"),
    ("explain={settings: {bound: -0.1}}", "explain.settings.bound: expected a number of at least 0, got -0.1"),
    ("explain={compilers: gcc}", 'explain.compilers: expected a list, got "gcc"'),
    ("preset=huge", 'preset: expected one of full, smoke, got "huge"'),
    ("source=moon", "source: expected one of measured, reference"),
    ("measure=[nothing]", "measure.0: expected one of tables"),
    ("workloads=[gem]", "workloads.0: expected one of"),
    ("workloads=[gemm, gemm]", "workloads: expected no entry twice"),
    ("devices=[gpu]", "devices.0: expected one of cpu, cpu-1t, cuda, tpu"),
    ("colour=red", "colour: expected no such key"),
]


def configured(words: str):
    """Return the configuration that Snakemake's --config gives with these words."""
    given, config = parse_config([words]), read(CONFIG)
    update_config(config, given)
    return validate(overridden(config, given))


@pytest.mark.parametrize(("words", "printed"), OVERRIDES)
def test_a_wrong_value_of_the_command_line_is_refused_with_its_key(words, printed):
    with pytest.raises(ConfigError) as refused:
        configured(words)
    assert f"config: {printed}" in str(refused.value) and "; fix: " in str(refused.value)


def test_values_of_the_command_line_have_the_types_of_yaml():
    assert configured("settings={rounds: 3, memory_cap_gib: 2.5}").settings.rounds == 3
    assert configured("workloads=[gemm, mha]").workloads == ["gemm", "mha"]
    assert configured("presets={full: {sizes: {gemm: {m: 7}}}}").chosen.sizes["gemm"]["m"] == 7
    assert overridden({"a": {"b": 1, "c": 2}}, {"a": {"b": "x: y: z"}}) == {"a": {"b": "x: y: z", "c": 2}}


YAML = [
    (b"a: 1\na: 2\n", 2, "the key a again; fix: that line"),
    (b"a:\n\tb: 1\n", 2, "found character that cannot start any token"),
    (b"a: [1, 2\nb: 3\n", 2, "did not find expected ',' or ']'"),
    (b"a: *b\n", 1, "found undefined alias"),
    (b"? [a]\n: 1\n", 1, "found unhashable key"),
    (b"a: !!python/object/apply:os.system [ls]\n", 1, "could not determine a constructor for the tag"),
    (b"a: \xff\xfe\n", None, "'utf-8' codec can't decode"),
    (b"a: \0\n", None, ""),
    (None, None, "[Errno 2] No such file or directory"),
]


@pytest.mark.parametrize(("text", "line", "got"), YAML)
def test_a_file_that_is_no_yaml_is_named_with_its_line(tmp_path, monkeypatch, text, line, got):
    path = tmp_path / "x.yaml"
    monkeypatch.setattr(definitions, "CLAIMS", path)
    if text is not None:
        path.write_bytes(text)
    place, thing = (f":{line}", "line") if line else ("", "file")
    for reader in (partial(load, path), definitions.load):
        with pytest.raises(ConfigError) as refused:
            reader()
        assert str(refused.value).startswith(f"{path}{place}: expected YAML with each key once, got {got}")
        assert str(refused.value).endswith(f"; fix: that {thing}") and "\n" not in str(refused.value)


def test_yaml_is_refused_before_snakemake_reads_it_and_a_file_that_is_missing_is_left_to_it(tmp_path):
    start.check_files(tmp_path / "gone.yaml", CONFIG)
    (tmp_path / "x.yaml").write_text("a: [\n")
    with pytest.raises(WorkflowError, match=r"x\.yaml:\d: expected YAML"):
        start.check_files(CONFIG, tmp_path / "x.yaml")


# Faults of the machine


def test_one_of_two_runs_at_once_is_refused(folder, monkeypatch, capsys):
    lock = start.take_lock()
    for command in ("explain", "releases"):
        assert typed(command, "twice.py", monkeypatch, capsys) == (CANNOT, start.TAKEN)
    lock.close()
    assert "another run" not in typed("explain", "no.py", monkeypatch, capsys)[1]


def test_results_that_are_no_folder_are_named(folder, monkeypatch, capsys):
    Path("results").write_text("")
    code, said = typed("explain", "twice.py", monkeypatch, capsys)
    assert code == CANNOT and said.startswith("expected files that can be read and written, got ")
    assert "'results'; fix: " in said


@pytest.mark.parametrize(
    ("error", "printed"),
    [
        (OSError(28, "No space left on device"), "got [Errno 28] No space left on device; fix: free some"),
        (OSError(30, "Read-only file system", "x.json"), "Read-only file system: 'x.json'; fix: "),
        (PermissionError(13, "Permission denied", "x.json"), "Permission denied: 'x.json'; fix: "),
        (KeyboardInterrupt(), stackwars.STOPPED),
        (RuntimeError("ours"), "Traceback"),
    ],
)
def test_an_explanation_that_cannot_go_on_says_why(folder, monkeypatch, capsys, error, printed):
    def fail(*_) -> None:
        raise error

    monkeypatch.setattr(explain, "explain", fail)
    code, said = typed("explain", "twice.py", monkeypatch, capsys)
    assert code == CANNOT and printed in said
    assert ("Traceback" in said) == isinstance(error, RuntimeError)


REFUSED = [
    ("results/full/cuda/jax/gemm/cell.json", "gemm/cell.json: expected a machine with the device cuda"),
    ("results/full/cpu/jaxx/gemm/cell.json", "target: framework: expected one of jax, "),
]


@pytest.mark.slow
def test_the_workflow_refuses_what_is_wrong_before_it_builds_or_measures(checkout, tmp_path, monkeypatch):
    monkeypatch.setenv("STACKWARS_ENVS", str(tmp_path / "envs"))
    for target, printed in REFUSED:
        done = checkout.quietly(target)
        assert done.returncode == 1 and printed in " ".join(done.stdout.split()), done.stdout
        assert "Traceback" not in done.stdout
    assert not (tmp_path / "envs").exists()
