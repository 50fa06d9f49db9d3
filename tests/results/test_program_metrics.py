"""The tables of the programs, written in the jax environment."""

import csv
import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from stackwars.setup.environments import clean_environ

pytestmark = pytest.mark.env
FIXTURES = Path(__file__).parents[1] / "ir" / "fixtures"
HLO = {
    "operations_by_kind": {"parameter": 3, "constant": 2, "fusion": 4, "erf": 2, "transpose": 1},
    "layout_bytes": 64,
    "depth": 5,
}


def compiled(path: Path, framework: str, **changed) -> Path:
    text = (FIXTURES / f"ffn_{framework}.mlir").read_text()
    content = {
        "workload": "ffn",
        "framework": framework,
        "variant": "base",
        "target": "tpu-v6e",
        "compiler": "jaxlib-0.10.2",
        "program_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "status": "ok",
        "verdict": "fits",
        "message": "",
        "hlo": HLO,
    }
    path.write_text(json.dumps(content | changed))
    return path


def run(python: Path, folder: Path, *ahead: Path) -> subprocess.CompletedProcess:
    missing = folder / "missing.mlir"
    missing.write_text("// no program: oom, refused at build\n")
    return subprocess.run(
        [
            *(str(python), "-m", "stackwars.results.program_metrics", "--program"),
            f"ffn/jax={FIXTURES / 'ffn_jax.mlir'}",
            f"ffn/torch_xla={FIXTURES / 'ffn_torch_xla.mlir'}",
            f"llama3_8b/jax={missing}",
            *("--target", "tpu-v6e", "--ahead", *map(str, ahead)),
            *("--metrics-output", str(folder / "out" / "ir_metrics.csv")),
            *("--structure-output", str(folder / "out" / "structure.csv")),
        ],
        env=clean_environ({}),
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def tables(jax_python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ir_metrics")
    files = (
        compiled(folder / "a.json", "jax"),
        compiled(folder / "b.json", "torch_xla", hlo=None, verdict="oom", message="33 GiB of 31"),
    )
    done = run(jax_python, folder, *files)
    assert done.returncode == 0, done.stderr
    result = {}
    for name in ("ir_metrics", "structure"):
        with (folder / "out" / f"{name}.csv").open() as file:
            result[name] = list(csv.DictReader(file))
    return result


def test_every_program_has_a_row_of_every_level(tables):
    levels = ["raw", "normalised", "optimised:tpu-v6e"]
    programs = [("ffn", "jax"), ("ffn", "torch_xla"), ("llama3_8b", "jax")]
    found = [(r["workload"], r["framework"], r["level"]) for r in tables["ir_metrics"]]
    assert found == [(*program, level) for program in programs for level in levels]
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


def test_compiles_of_two_compilers_or_of_another_program_are_refused(jax_python, tmp_path):
    one = compiled(tmp_path / "a.json", "jax")
    two = compiled(tmp_path / "b.json", "jax", compiler="jaxlib-0.7.1")
    assert "a second one" in run(jax_python, tmp_path, one, two).stderr
    other = compiled(tmp_path / "c.json", "jax", program_sha256="f" * 64)
    assert "compile it again" in run(jax_python, tmp_path, other).stderr
    large = compiled(tmp_path / "d.json", "jax", variant="b8")
    assert "came variant b8" in run(jax_python, tmp_path, large).stderr
