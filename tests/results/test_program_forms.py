"""What programs are made of, as the jax environment finds it."""

import gzip
import hashlib
import json
import sys
from pathlib import Path

import pytest

from measured import config
from running import job_file, run
from stackwars.study.programs import Program
from stackwars.study.results import schema

pytestmark = pytest.mark.env
FIXTURES = Path(__file__).parents[1] / "ir" / "fixtures"
PROGRAMS = {
    ("ffn", "jax"): (FIXTURES / "ffn_jax.mlir").read_text(),
    ("ffn", "torch_xla"): (FIXTURES / "ffn_torch_xla.mlir").read_text(),
    ("gemm", "jax"): "module { this is no StableHLO",
    ("llama3_8b", "jax"): "// no program: oom, refused at build\n",
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """program_forms.json of PROGRAMS, by workload, framework and level."""
    folder = tmp_path_factory.mktemp("forms")
    for names, text in PROGRAMS.items():
        path = folder / Program(*reversed(names)).path / "program.mlir.gz"
        path.parent.mkdir(parents=True)
        path.write_bytes(gzip.compress(text.encode()))
    asked = config(workloads=["gemm", "ffn", "llama3_8b", "conv"], preset="full")
    made = job_file("config", asked.step_document(), folder)
    run(sys.executable, "-m", "stackwars.study.results.programs", "--config", made, "--results", folder)
    found = json.loads((folder / "program_forms.json").read_text())
    return {(row["workload"], row["framework"], row["level"]): row for row in found}


def test_every_program_has_a_row_of_both_levels_whose_columns_are_those_of_the_table(rows):
    assert rows.keys() == {(*names, level) for names in PROGRAMS for level in ("raw", "normalised")}
    assert {key for row in rows.values() for key in row} - schema.PROGRAMS.keys() == {"sha256"}
    digest = hashlib.sha256(PROGRAMS["ffn", "jax"].encode()).hexdigest()
    assert rows["ffn", "jax", "raw"]["sha256"] == digest


def test_the_normalised_level_has_the_forms(rows):
    jax, torch = (rows["ffn", name, "normalised"] for name in ("jax", "torch_xla"))
    assert (jax["flattening"], torch["flattening"]) == ("preserved", "flattened")
    assert "flattening" not in rows["ffn", "jax", "raw"]


def test_what_there_is_none_of_says_why(rows):
    missing, unreadable = (rows[name, "jax", "normalised"] for name in ("llama3_8b", "gemm"))
    assert (missing["status"], missing["status_detail"]) == ("no program", "oom, refused at build")
    assert unreadable["status"] == "unreadable" and unreadable["status_detail"]
    assert {row[form] for row in (missing, unreadable) for form in schema.FORMS} == {"no program"}
