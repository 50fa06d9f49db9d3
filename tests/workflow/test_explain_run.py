"""One program explained by the command of `make explain`: the table, the page, and what an edit measures again."""

import re
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

import study
from running import python, wait_for
from stackwars.core.launch import clean_environ
from stackwars.core.outcome import Status
from stackwars.explain import answer
from stackwars.explain.__main__ import CANNOT, STOPPED
from stackwars.explain.answer import Answer

pytestmark = pytest.mark.slow
PROGRAM = '''"""Twice, and a sum."""
def inputs(rows=16):
    return {"x": (rows, 8)}
def jax(x):
    return 2 * x, x.sum(0)
def numpy(x):
    return 2 * x, x.sum(0)
'''
CHOSEN = ("twice.py", "--compilers", "jaxlib-0.10.2", "--frontends", "jax,numpy")


@pytest.fixture(scope="module", autouse=True)
def programs(checkout):
    (checkout.folder / "twice.py").write_text(PROGRAM)


@pytest.mark.env
def test_an_interrupted_command_goes_on_prints_the_table_at_80_columns_and_writes_the_answer(checkout):
    command, log = ["-m", "stackwars.study.workflow.explain", *CHOSEN], checkout.folder / "log"
    with log.open("w") as file:
        running = subprocess.Popen(
            [sys.executable, *command], cwd=checkout.folder, env=clean_environ({}), stdout=file, stderr=file,
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a background job ignores it
        )  # fmt: skip
    wait_for((checkout.folder / "explain" / "twice" / "kept.jsonl").exists, 120)
    time.sleep(0.5)  # Python ignores an interrupt in the moment of a fork
    running.send_signal(signal.SIGINT)
    code, said = running.wait(60), log.read_text()
    assert code == CANNOT and STOPPED in said and "lowering by jax" in said and "Traceback" not in said

    lines = python(*command, cwd=checkout.folder).stdout.splitlines()
    assert not any("lowering by jax" in line for line in lines)
    assert max(map(len, lines)) <= 80
    assert "twice: Twice, and a sum" in lines
    for line in (r"^jax .*\d ms \d", r"numpy +- +[\d.]+ ms", r"explain/twice/explain\.html"):
        assert any(re.search(line, one) for one in lines), line
    folder = checkout.folder / "explain" / "twice"
    found = answer.read(Answer, folder / "explain.json")
    assert found.command == "make explain PROGRAM=twice.py COMPILERS=jaxlib-0.10.2 FRONTENDS=jax,numpy"
    cells = {(cell.program, cell.status) for cell in found.table.cells}
    assert cells == {("jax", Status.OK), ("numpy", Status.OK)} and found.table.judge == "NumPy in float64"
    assert (folder / "explain.html").exists() and (folder / "programs/jax/program.mlir.gz").exists()


@pytest.mark.env
def test_the_command_explains_it_again_after_an_edit(checkout):
    study.write(checkout.folder / "twice.py", "\n# edited\n")
    lines = python("-m", "stackwars.study.workflow.explain", *CHOSEN, cwd=checkout.folder).stdout
    assert "lowering by jax" in lines and "twice: Twice, and a sum" in lines
