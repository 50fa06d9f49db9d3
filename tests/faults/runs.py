"""Faults of whole runs: killed, or two at once."""

from __future__ import annotations

import shutil

from faults.children import CELL, CHILD
from faults.fault import Fault
from faults.scratch import PAPER, TABLES, Ran, Running, Scratch

COMPILED = "ahead/tpu-v6e/jaxlib-0.10.2/jax/gemm/base"
COMPILER = "stackwars.compilers.ahead /"
"""How the command of a compilation goes on; its supervisor's name begins alike."""


def left(scratch: Scratch) -> list[str]:
    """Nothing of the killed run is at work any more."""
    found = scratch.processes(" -m stackwars.") + scratch.processes("latexmk")
    return [f"{len(found)} processes of the killed run are still at work"] if found else []


def in_cell(scratch: Scratch) -> Ran:
    """The second process of a cell is at work, the first has finished."""
    running = scratch.start(TABLES)
    running.wait_for_words(r"jax gemm cpu process 2: running")
    return _kill_in(running, scratch, CHILD)


def in_compilation(scratch: Scratch) -> Ran:
    return _kill_in(scratch.start(f"results/smoke/{COMPILED}/ahead.json"), scratch, COMPILER)


def in_tex(scratch: Scratch) -> Ran:
    """TeX has written a part of the paper, and goes on for so long that it meets the next run."""
    cut = "truncate --size=20000 main.pdf"
    path = scratch.tools(pdflatex=f'{shutil.which("pdflatex")} "$@"\n{cut}\ntouch cut\nsleep 600')
    running = scratch.start(PAPER, PATH=path)
    running.wait_for((scratch.results / "latex" / "cut").exists)
    return running.kill()


def twice(scratch: Scratch) -> Ran:
    """A second run is started while the first one measures."""
    first = scratch.start(TABLES)
    first.wait_for_words(r"jax gemm cpu process 1: running")
    second, ended = scratch.run(TABLES), first.finish()
    if ended.code:
        return Ran(ended.code, f"the first run was disturbed: {ended.said[-1000:]}")
    if not second.code:
        return Ran(second.code, f"the second run was not refused: {second.said[-1000:]}")
    return Ran(ended.code, second.said)


def _kill_in(running: Running, scratch: Scratch, words: str) -> Ran:
    """Kill Snakemake, and nothing else, once such a process is at work."""
    running.wait_for(lambda: scratch.processes(words))
    return running.kill()


FAULTS = [
    Fault(
        "killed-cell",
        "Snakemake killed in a cell",
        prepare=lambda scratch: scratch.forget(CELL),
        run=in_cell,
        says=r"jax gemm cpu process 2: ok",
        extra=left,
    ),
    Fault(
        "killed-compilation",
        "Snakemake killed in a compilation",
        prepare=lambda scratch: scratch.forget(COMPILED),
        run=in_compilation,
        says=r"jax gemm base for tpu-v6e by jaxlib-0.10.2: fits",
        again=(TABLES, f"results/smoke/{COMPILED}/ahead.json"),
        extra=left,
    ),
    Fault(
        "killed-tex",
        "Snakemake killed in TeX",
        prepare=Scratch.forget_paper,
        run=in_tex,
        says=r"ended \d+ processes that a killed run had left behind",
        again=(PAPER,),
        extra=left,
    ),
    Fault(
        "two-runs",
        "Two runs at once",
        prepare=lambda scratch: scratch.forget(CELL),
        run=twice,
        says=r"another run is already using this folder",
    ),
]
