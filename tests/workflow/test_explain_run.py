"""One program explained as by `make explain`: the table, the page, and nothing to measure the second time."""

import re

import pytest

from running import python
from stackwars.core.outcome import Status
from stackwars.explain import answer
from stackwars.explain.answer import Answer

pytestmark = [pytest.mark.slow, pytest.mark.env]
PROGRAM = '''"""Twice, and a sum."""
def inputs(rows=16):
    return {"x": (rows, 8)}
def jax(x):
    return 2 * x, x.sum(0)
def numpy(x):
    return 2 * x, x.sum(0)
'''
CHOSEN = ("twice.py", "--compilers", "jaxlib-0.10.2", "--frontends", "jax,numpy")


def explain(checkout) -> str:
    """Run the command as `make explain` does; return what it prints."""
    return python("-m", "stackwars.study.workflow.explain", *CHOSEN, cwd=checkout.folder).stdout


@pytest.fixture(scope="module")
def explained(checkout):
    (checkout.folder / "twice.py").write_text(PROGRAM)
    return checkout, explain(checkout)


def test_the_table_is_printed_at_80_columns(explained):
    lines = explained[1].splitlines()
    assert max(map(len, lines)) <= 80
    assert "twice: Twice, and a sum" in lines
    assert any(re.search(r"^jax .*\d ms \d", line) for line in lines)
    assert any(re.search(r"numpy +- +[\d.]+ ms", line) for line in lines)
    assert any("explain/twice/explain.html" in line for line in lines)


def test_the_folder_has_the_answer(explained):
    folder = explained[0].folder / "explain" / "twice"
    found = answer.read(Answer, folder / "explain.json")
    assert found.command == "make explain PROGRAM=twice.py COMPILERS=jaxlib-0.10.2 FRONTENDS=jax,numpy"
    assert {(cell.program, cell.status) for cell in found.table.cells} == {
        ("jax", Status.OK),
        ("numpy", Status.OK),
    }
    assert found.table.judge == "NumPy in float64"
    assert (folder / "explain.html").exists() and (folder / "programs/jax/program.mlir.gz").exists()


def test_the_second_time_nothing_is_measured(explained):
    made, _ = explained
    before = answer.read(Answer, made.folder / "explain/twice/explain.json")
    assert "lowering by" not in explain(made)
    assert answer.read(Answer, made.folder / "explain/twice/explain.json") == before


def test_the_rule_explains_it_too(explained):
    made, _ = explained
    done = made.snakemake(
        "explain/twice/explain.json",
        "--forceall",
        "--config",
        "explain={compilers: [jaxlib-0.10.2], frontends: [jax, numpy]}",
    )
    assert done.returncode == 0 and "twice: Twice, and a sum" in done.stdout, done.stdout
