"""Faults of processes: the timed one, those around it, and whole runs."""

import json
import shutil
from typing import Any

from faults.injection import Fault
from faults.scratch import PAPER, TABLES, Ran, Scratch

CELL = "cpu/jax/gemm"
OTHER = "cpu/numpy/gemm"
"""Interleaved with a process of the baseline."""
CHILD = "stackwars.measure.child"
FIRST, PARTNER = "rounds/0.part/subject", "rounds/0.part/partner"
COMPILED = "ahead/tpu-v6e/jaxlib-0.10.2/jax/gemm/base"
COMPILER = "stackwars.compilers.ahead /"
"""How the command of a compilation continues; its supervisor's name begins alike."""
HOSTILE = r"$\input{/etc/passwd}$ 50 % & \end{document}{_^~# `touch pwned` $(touch pwned)$;touch pwned|<b>"
"""Syntax of TeX, of the shell, of Matplotlib and of HTML."""
UNPRINTABLE = "\x1b[2J\x00\r\n\udcff"
"""What a terminal would obey, and what no file takes."""


def delete_cell(scratch: Scratch) -> None:
    scratch.delete(CELL)


def delete_other(scratch: Scratch) -> None:
    scratch.delete(OTHER)


def child(name: str, do: str, says: str, event: str = "", **more: Any) -> Fault:
    """Return a fault in the first process of a cell, which the user then deletes to measure it again."""
    wanted = {"module": CHILD, "argument": f"jax/gemm/{FIRST}", "do": do, "event": event, **more}
    again = (TABLES, PAPER) if "message" in more else (TABLES,)
    return Fault(
        name,
        says,
        lambda scratch: scratch.run(*again, sabotage=wanted),
        prepare=delete_cell,
        recover=delete_cell,
        again=again,
        spends=(CELL,),
        check=nothing_was_executed,
    )


def nothing_was_executed(scratch: Scratch) -> None:
    """Check that nothing did what a hostile text says."""
    assert not list(scratch.folder.rglob("pwned"))


def without_partner(scratch: Scratch) -> None:
    """Check that the process continued after its partner had been killed."""
    process = json.loads((scratch.results / OTHER / "cell.json").read_text())["processes"][0]
    assert (process["status"], process["partner"]["status"]) == ("ok", "crash")


def nothing_is_left(scratch: Scratch) -> None:
    """Check that no process of a killed run is still running."""
    assert not scratch.processes(" -m stackwars.") + scratch.processes("latexmk")


def kill_in_cell(scratch: Scratch) -> Ran:
    """Kill Snakemake in the second round of a cell; the first one has finished."""
    running = scratch.start(TABLES)
    running.wait_for((scratch.results / CELL / "rounds" / "0" / "round.json").exists)
    running.wait_for(lambda: scratch.processes(CHILD))
    return running.kill()


def kill_in_compilation(scratch: Scratch) -> Ran:
    running = scratch.start(f"results/smoke/{COMPILED}/ahead.json")
    running.wait_for(lambda: scratch.processes(COMPILER))
    return running.kill()


def kill_in_tex(scratch: Scratch) -> Ran:
    """Kill Snakemake when TeX has written a part of the paper; TeX itself goes on into the next run."""
    cut = "truncate --size=20000 main.pdf"
    path = scratch.path_with(pdflatex=f'{shutil.which("pdflatex")} "$@"\n{cut}\ntouch cut\nsleep 600')
    running = scratch.start(PAPER, PATH=path)
    running.wait_for((scratch.results / "latex" / "cut").exists)
    return running.kill()


def run_twice(scratch: Scratch) -> Ran:
    """Start a second run while the first one measures."""
    first = scratch.start(TABLES)
    first.wait_for_output(r"cell cpu jax gemm")
    second, ended = scratch.run(TABLES), first.finish()
    assert not ended.code, f"the first run was disturbed: {ended.output[-1000:]}"
    assert second.code, f"the second run was not refused: {second.output[-1000:]}"
    return second


FAULTS = [
    child("child-silent", "leave", r"error: ended with exit code 0 before its work was done"),
    child(
        "child-raised",
        "fail",
        r"jax gemm cpu: error: RuntimeError: .*touch pwned",
        "first",
        message=HOSTILE + UNPRINTABLE,
    ),
    # So small a workload asks for nothing when it is called: the request stands for a larger one.
    child("cap-compiling", "reach_cap", r": oom: refused at compile", "run"),
    child("cap-calling", "reach_cap", r": oom: refused at run", "second", ask=2**30),
    child("clock-back", "set_clock_back", r"invalid: second clock", "run"),
    Fault(
        "supervisor-killed",
        rf"Failed: results/smoke/{OTHER}/cell.json",
        lambda scratch: scratch.run(
            TABLES,
            sabotage={
                **{"module": CHILD, "argument": f"numpy/gemm/{FIRST}"},
                **{"do": "kill_parent", "event": "second"},
            },
        ),
        prepare=delete_other,
    ),
    Fault(
        "partner-killed",
        r"numpy gemm cpu process 1: ok: .*; no ratio of this round, for its partner jax: crash: ended by",
        lambda scratch: scratch.run(
            TABLES,
            sabotage={
                **{"module": CHILD, "argument": f"numpy/gemm/{PARTNER}"},
                **{"do": "die", "event": "steady"},
            },
        ),
        prepare=delete_other,
        check=without_partner,
    ),
    Fault(
        "killed-cell",
        r"jax gemm cpu process 2: ok",
        kill_in_cell,
        prepare=delete_cell,
        check=nothing_is_left,
    ),
    Fault(
        "killed-compilation",
        r"jax gemm base for tpu-v6e by jaxlib-0.10.2: fits",
        kill_in_compilation,
        prepare=lambda scratch: scratch.delete(COMPILED),
        again=(TABLES, f"results/smoke/{COMPILED}/ahead.json"),
        check=nothing_is_left,
    ),
    Fault(
        "killed-tex",
        r"ended \d+ processes that a killed run had left behind",
        kill_in_tex,
        prepare=Scratch.delete_paper,
        again=(PAPER,),
        check=nothing_is_left,
    ),
    Fault("two-runs", r"another run is already using this folder", run_twice, prepare=delete_cell),
]
