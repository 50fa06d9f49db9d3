"""One program explained by the real workflow: the table, the page, and nothing to do the second time."""

import json
import re

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.env]
PROGRAM = '''"""Twice, and a sum."""
def inputs(rows=16):
    return {"x": (rows, 8)}
def jax(x):
    return 2 * x, x.sum(0)
def numpy(x):
    return 2 * x, x.sum(0)
'''
CHOSEN = ("--config", "program=twice.py", "explain={compilers: [jaxlib-0.10.2], frontends: [jax, numpy]}")


@pytest.fixture(scope="module")
def explained(checkout):
    (checkout.folder / "twice.py").write_text(PROGRAM)
    # As a user runs it: Snakemake is quiet, and the workflow prints.
    return checkout, checkout.quietly("explain", *CHOSEN)


def test_the_table_is_printed_at_80_columns(explained):
    _, done = explained
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()[1:]
    assert max(map(len, lines)) <= 80
    assert "    twice: Twice, and a sum" in lines
    row = next(line for line in lines if line.startswith("    jax "))
    assert re.search(r"\d ms \d", row)
    assert any(re.search(r"numpy +- +[\d.]+ ms", line) for line in lines)
    assert "    explain/twice/explain.html" in lines


def test_the_folder_has_the_answer(explained):
    made, _ = explained
    folder = made.folder / "explain" / "twice"
    document = json.loads((folder / "explain.json").read_text())
    assert document["command"] == "make explain PROGRAM=twice.py COMPILERS=jaxlib-0.10.2 FRONTENDS=jax,numpy"
    statuses = {(cell["program"], cell["status"]) for cell in document["table"]["cells"]}
    assert statuses == {("jax", "right"), ("numpy", "right")}
    assert document["table"]["judge"] == "NumPy in float64"
    assert (folder / "explain.html").exists() and (folder / "programs/jax/program.mlir.gz").exists()


def test_the_second_time_there_is_nothing_to_do(explained):
    made, _ = explained
    done = made.snakemake("explain", *CHOSEN)
    assert done.returncode == 0 and "Nothing to be done" in done.stdout, done.stdout
