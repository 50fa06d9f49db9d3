"""The listings and the graphs of programs, made in the jax environment."""

import gzip
import json
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from measured import config
from stackwars.ir.layout import LEFT_OUT
from stackwars.results.folder import REFERENCE
from stackwars.setup.environments import REPOSITORY, clean_environ, ensure
from stackwars.study.cells import Cell
from stackwars.study.config import load
from stackwars.study.programs import Program
from stackwars.workflow import job_files

FIXTURES = Path(__file__).parents[1] / "ir" / "fixtures"

pytestmark = pytest.mark.env


COLUMNS = 76


def run(
    folder: Path, cells: dict[Cell, str], programs: dict[Program, str], forms: tuple | list = ()
) -> dict[str, str]:
    """The listings by workload and the graphs as JSON, from what cells and programs have as text."""
    for made, name in ((cells, "stablehlo.mlir.gz"), (programs, "program.mlir.gz")):
        for one, text in made.items():
            (folder / one.path).mkdir(parents=True)
            (folder / one.path / name).write_bytes(gzip.compress(text.encode()))
    printed = {"listings": ["ffn", "mha", "layernorm"], "graphs": ["ffn", "layernorm"]}
    printed |= {"forms": list(forms), "forms_of": ["jax", "torch_inductor"]}
    changes = {"frameworks": load()["frameworks"]} if forms else {}
    asked = config(workloads=printed["listings"], preset="full", paper=printed, **changes)
    made = job_files.file("config", asked, folder)
    command = ["-m", "stackwars.paper.listings", "--config", made, "--results", folder]
    python = ensure(REPOSITORY / "envs" / "jax.txt")
    done = subprocess.run([python, *command], env=clean_environ({}), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (folder / "said").write_text(done.stderr)
    texts = {path.stem: path.read_text() for path in (folder / "listings").glob("*.tex")}
    return {**texts, "graphs": (folder / "graphs.json").read_text()}


def text(workload: str, framework: str) -> str:
    return (FIXTURES / f"{workload}_{framework}.mlir").read_text()


def test_listings_and_graphs_of_a_run(tmp_path):
    cells = {
        Cell(framework, workload, "cpu"): text(workload, framework)
        for workload in ("ffn", "mha", "layernorm")
        for framework in ("jax", "torch_xla")
    }
    cells[Cell("torch_xla", "mha", "cpu")] = "// no program: oom, refused at build\n"
    programs = {Program(f, "layernorm"): text("layernorm", f) for f in ("torch_xla", "jax")}
    written = run(tmp_path, cells, programs)
    graphs = json.loads(written.pop("graphs"))["workloads"]
    assert list(graphs) == ["layernorm"] and list(graphs["layernorm"]) == ["jax", "torch_xla"]
    assert {graph["status"] for graph in graphs["layernorm"].values()} == {"ok"}
    assert set(written) == {"style", "ffn", "mha", "layernorm"}
    for name in ("ffn", "mha", "layernorm"):
        blocks = re.findall(r"(?s)\\begin{lstlisting}.*?\n(.*?)\\end", written[name])
        assert len(blocks) == 2
        assert max(len(line) for block in blocks for line in block.splitlines()) <= COLUMNS
    assert "GELU: the whole program" in written["ffn"]
    assert "chlo.erfc" in written["ffn"] and "@mhlo.erf" in written["ffn"]
    assert "// no program: oom, refused at build" in written["mha"]


def test_a_program_that_is_cut_short_is_not_called_whole(tmp_path):
    of = "tensor<4xf32>"
    names = ["%arg0", *(f"%{n}" for n in range(200))]
    lines = [f"  {b} = stablehlo.abs {a} : {of}" for a, b in pairwise(names)]
    head = f"func.func public @main(%arg0: {of}) -> {of} {{"
    long = "\n".join([head, *lines, f"  return {names[-1]} : {of}", "}"])
    cells = {Cell(framework, "ffn", "cpu"): long for framework in ("jax", "torch_xla")}
    made = run(tmp_path, cells, {})["ffn"]
    assert "GELU: the beginning of the program." in made and LEFT_OUT in made


def test_forms_of_two_compilers_stand_side_by_side(tmp_path):
    for framework in ("jax", "torch_inductor"):
        folder = tmp_path / "cpu" / framework / "layernorm" / "forms"
        shutil.copytree(REFERENCE / folder.relative_to(tmp_path), folder)
    program = tmp_path / "cpu" / "jax" / "layernorm" / "stablehlo.mlir.gz"
    program.write_bytes(gzip.compress(text("layernorm", "jax").encode()))
    written = run(tmp_path, {}, {}, forms=["layernorm", "ffn"])
    assert set(written) == {"style", "graphs", "forms-layernorm"}, "of FFN there are none"
    figure = written["forms-layernorm"]
    blocks = re.findall(r"(?s)\\begin{lstlisting}.*?\n(.*?)\\end", figure)
    starts = ["{ lambda", "class <lambda>", "", "cpp_fused_var_mean", "ENTRY"]
    assert all(b.startswith(start) for b, start in zip(blocks, starts, strict=True))
    assert "stablehlo.reduce" in blocks[2]
    assert max(len(line) for block in blocks for line in block.splitlines()) <= COLUMNS
    assert sum(block.count("\n") for block in blocks[::2]) <= 87, "a page's lines"


def test_an_unexpected_structure_is_said_and_does_not_fail(tmp_path):
    gemm = {Cell(f, "mha", "cpu"): text("gemm", "jax") for f in ("jax", "torch_xla")}
    written = run(tmp_path, gemm, {})
    assert set(written) == {"style", "mha", "graphs"}, "what there is no program of is left out"
    assert "// nothing to show: expected a dot_general" in written["mha"]
    assert "no combined projection" in (tmp_path / "said").read_text()
