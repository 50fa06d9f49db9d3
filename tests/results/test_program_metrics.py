"""The tables of the programs, written in the jax environment."""

import csv
import gzip
import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from measured import config
from stackwars.setup.environments import clean_environ
from stackwars.study.programs import Compilation, Program
from stackwars.workflow import job_files

pytestmark = pytest.mark.env
FIXTURES = Path(__file__).parents[1] / "ir" / "fixtures"
HLO = {
    "operations_by_kind": {"parameter": 3, "constant": 2, "fusion": 4, "erf": 2, "transpose": 1},
    "layout_bytes": 64,
    "depth": 5,
}


TARGET, COMPILER = "tpu-v6e", "jaxlib-0.10.2"
PROGRAMS = {
    ("ffn", "jax"): (FIXTURES / "ffn_jax.mlir").read_text(),
    ("ffn", "torch_xla"): (FIXTURES / "ffn_torch_xla.mlir").read_text(),
    ("llama3_8b", "jax"): "// no program: oom, refused at build\n",
}


def results(folder: Path, **changed) -> Path:
    """PROGRAMS, and compilations of FFN's: JAX's went well; changed: what else is in torch_xla's."""
    for (workload, framework), text in PROGRAMS.items():
        path = folder / Program(framework, workload).path / "program.mlir.gz"
        path.parent.mkdir(parents=True)
        path.write_bytes(gzip.compress(text.encode()))
    for framework, more in (("jax", {}), ("torch_xla", changed)):
        content = {
            "program_sha256": hashlib.sha256(PROGRAMS["ffn", framework].encode()).hexdigest(),
            **{"status": "ok", "verdict": "fits", "message": "", "hlo": HLO},
            **more,
        }
        compilation = Compilation(TARGET, COMPILER, Program(framework, "ffn"))
        path = folder / compilation.path / "ahead.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(content))
    return folder


def run(python: Path, folder: Path) -> subprocess.CompletedProcess:
    asked = config(workloads=["ffn", "llama3_8b"], preset="full")
    made = job_files.file("config", asked, folder)
    command = ["-m", "stackwars.results.program_metrics", "--config", made, "--results", folder]
    return subprocess.run([python, *command], env=clean_environ({}), capture_output=True, text=True)


@pytest.fixture(scope="module")
def tables(jax_python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ir_metrics")
    done = run(jax_python, results(folder, hlo=None, verdict="oom", message="33 GiB of 31"))
    assert done.returncode == 0, done.stderr
    result = {}
    for name in ("ir_metrics", "structure"):
        with (folder / f"{name}.csv").open() as file:
            result[name] = list(csv.DictReader(file))
    return result


def test_every_program_has_a_row_of_every_level(tables):
    levels = ["raw", "normalised", "optimised:tpu-v6e"]
    found = [(r["workload"], r["framework"], r["level"]) for r in tables["ir_metrics"]]
    assert found == [(*program, level) for program in PROGRAMS for level in levels]
    assert all(bool(r["reason"]) == (r["status"] != "ok") for r in tables["ir_metrics"])


def test_the_optimised_level_leaves_out_constants_and_parameters(tables):
    row = tables["ir_metrics"][2]
    assert (row["operations"], row["layout_bytes"], row["depth"]) == ("7", "64", "5")
    assert (row["reshapes"], row["transposes"], row["broadcasts"]) == ("0", "1", "0")
    assert json.loads(row["operations_by_kind"]) == {"fusion": 4, "erf": 2, "transpose": 1}


def test_what_there_is_none_of_says_why(tables):
    oom, raw, none = (tables["ir_metrics"][i] for i in (5, 6, 8))
    assert (oom["status"], oom["reason"]) == ("not compiled", "oom: 33 GiB of 31")
    assert (raw["status"], raw["reason"]) == ("no program", "oom, refused at build")
    assert none["status"] == "not compiled"


def test_claims_of_every_program(tables):
    rows = tables["structure"]
    assert len(rows) == 3 * 4
    assert (rows[0]["claim"], rows[0]["verdict"]) == ("flattening", "preserved")
    assert (rows[4]["claim"], rows[4]["verdict"]) == ("flattening", "flattened")
    assert {row["verdict"] for row in rows[8:]} == {"no program"}


def test_a_compilation_of_another_program_is_refused(jax_python, tmp_path):
    done = run(jax_python, results(tmp_path, program_sha256="f" * 64))
    assert done.returncode == 1
    assert "compile it again" in done.stderr and "Traceback" not in done.stderr
