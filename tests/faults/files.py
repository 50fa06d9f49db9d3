"""Faults of files: truncated, of garbage, from elsewhere, behind a link, on a full or a read-only disk."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from faults.children import CELL, CHILD, FIRST, OTHER
from faults.fault import Fault, NotTried
from faults.scratch import PAPER, TABLES, WHOLE, Ran, Scratch

NAMES = {"cell": "cell.json", "output": "output.npy", "program": "stablehlo.mlir.gz"}
HEADER = 128
"""Bytes of the header of an output; garbage behind it can still be read as numbers."""


def cut(path: Path) -> None:
    """As a write that broke off in the middle."""
    os.truncate(path, path.stat().st_size // 2)


def garble(path: Path) -> None:
    """Other bytes, as many."""
    data = path.read_bytes()
    kept = data[:HEADER] if path.suffix == ".npy" else b""
    path.write_bytes(kept + random.Random(0).randbytes(len(data) - len(kept)))


def damaged(kind: str, name: str, how: str, spoil: Callable[[Path], None]) -> Fault:
    """A file of a finished cell is spoilt between two runs."""
    targets = (TABLES, *(f"results/smoke/{CELL}/{file}" for file in NAMES.values()))

    def prepare(scratch: Scratch) -> None:
        scratch.forget()
        spoil(scratch.results / CELL / name)

    return Fault(
        f"{kind}-{how.split()[-1]}",
        f"{name} {how}",
        prepare=prepare,
        run=lambda scratch: scratch.run(*targets),
        says=rf"damaged: .*/{name} ",
        again=targets,
    )


def full(
    stage: str,
    title: str,
    prepare: Callable[[Scratch], None],
    target: str = TABLES,
    **wanted: str,
) -> Fault:
    """The disk is full from some moment of a run on, and has room again before the next."""

    def run(scratch: Scratch) -> Ran:
        filler = scratch.folder / "filler"
        if wanted:
            return scratch.run(target, sabotage={"do": "fill", "file": str(filler), **wanted})
        real = shutil.which("latexmk")
        path = scratch.tools(latexmk=f'cat /dev/zero >{filler} 2>/dev/null\nexec {real} "$@"')
        return scratch.run(target, PATH=path)

    return Fault(
        f"full-{stage}",
        f"Disk full {title}",
        prepare=prepare,
        run=run,
        says=r"What to do: The disk is full",
        recover=lambda scratch: (scratch.folder / "filler").unlink(),
        again=(target,),
        disk_mb=64,
    )


def copied_in(scratch: Scratch) -> None:
    """A cell that another machine measured takes the place of this one's; its clocks agree with each other."""
    scratch.forget()
    path = scratch.results / OTHER / "cell.json"
    cell = json.loads(path.read_text())
    other = {"cpu_model": "Another Processor", "cores": 64, "memory_bytes": 2**39}
    cell["machine"] |= other
    for process in cell["processes"]:
        process["machine"] |= other
    path.write_text(json.dumps(cell, indent=1))


def misplaced(scratch: Scratch) -> None:
    """The result of another cell, whole."""
    scratch.forget(OTHER)
    shutil.copytree(scratch.results / CELL, scratch.results / OTHER)


def link_out(scratch: Scratch) -> None:
    """A cell's folder lies elsewhere, behind a link."""
    scratch.forget()
    cell, outside = scratch.results / CELL, scratch.folder / "outside"
    cell.rename(outside)
    cell.symlink_to(outside)


def link_back(scratch: Scratch) -> None:
    (scratch.results / CELL).unlink()
    (scratch.folder / "outside").rename(scratch.results / CELL)


def lock_results(scratch: Scratch) -> None:
    """Nothing can be written in the results any more; for root, only a mount does that."""
    scratch.forget(CELL)
    results = scratch.folder / "results"
    if os.geteuid() != 0:
        subprocess.run(["chmod", "-R", "a-w", str(results)], check=True)
        return
    for command in (
        ["mount", "--bind", str(results), str(results)],
        ["mount", "-o", "remount,bind,ro", str(results)],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise NotTried(f"{' '.join(command[:3])} said: {done.stderr.strip()}")


def unlock_results(scratch: Scratch) -> None:
    results = scratch.folder / "results"
    if os.geteuid() != 0:
        subprocess.run(["chmod", "-R", "u+w", str(results)], check=True)
    else:
        subprocess.run(["umount", str(results)], check=True)


def date_ahead(scratch: Scratch) -> None:
    """Every result is from an hour ahead: what a clock leaves that was set back since."""
    scratch.forget(CELL)
    for path in (scratch.folder / "results" / "smoke").rglob("*"):
        found = path.stat()
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 3600 * 10**9))


def half_accepted(scratch: Scratch) -> None:
    """A table of an accepted run of the reference breaks off."""
    scratch.forget()
    path = _accepted_table(scratch)
    shutil.copy2(path, path.with_suffix(".kept"))
    cut(path)


def restore_accepted(scratch: Scratch) -> None:
    path = _accepted_table(scratch)
    path.with_suffix(".kept").rename(path)


def _accepted_table(scratch: Scratch) -> Path:
    return max(scratch.folder.glob("results/reference/runs/*/comparisons.csv"))


FAULTS = [
    *(
        damaged(kind, name, how, spoil)
        for kind, name in NAMES.items()
        for how, spoil in (("truncated", cut), ("of garbage", garble))
    ),
    full(
        "process",
        "in a timed process",
        lambda scratch: scratch.forget(CELL),
        module=CHILD,
        argument=f"jax/gemm/{FIRST}",
        event="run",
    ),
    full(
        "cell",
        "when a cell is put together",
        lambda scratch: scratch.forget(CELL),
        module="stackwars.measure.cell",
        argument="jax/gemm",
    ),
    full("tables", "when the tables are made", Scratch.forget, module="stackwars.results.tables"),
    full("tex", "in TeX", Scratch.forget_paper, PAPER),
    Fault(
        "foreign-machine",
        "Result from another machine copied in",
        prepare=copied_in,
        run=lambda scratch: scratch.run(TABLES),
        says=r"invalid: expected a result of the machine of this run",
        recover=lambda scratch: scratch.forget(OTHER),
        spends=(f"{OTHER}/",),
    ),
    Fault(
        "foreign-cell",
        "Result of another cell copied in",
        prepare=misplaced,
        run=lambda scratch: scratch.run(TABLES),
        says=r"invalid: expected the result of this cell, got that of",
        recover=lambda scratch: scratch.forget(OTHER),
        spends=(f"{OTHER}/",),
    ),
    Fault(
        "read-only",
        "Read-only results",
        prepare=lock_results,
        run=lambda scratch: scratch.run(TABLES),
        says=r"results: expected a folder that can be written",
        recover=unlock_results,
    ),
    Fault(
        "link",
        "Symbolic link out of the results",
        prepare=link_out,
        run=lambda scratch: scratch.run(TABLES),
        says=r"expected a file or folder of the results, got a symbolic link",
        recover=link_back,
    ),
    Fault(
        "accepted-truncated",
        "Table of an accepted run truncated",
        prepare=half_accepted,
        run=lambda scratch: scratch.run(PAPER),
        says=r"comparisons\.csv: expected the accepted file with the digest",
        recover=restore_accepted,
        again=WHOLE,
    ),
    Fault(
        "clock-files",
        "Clock set back between two runs",
        prepare=date_ahead,
        run=lambda scratch: scratch.run(TABLES),
        says=r"\d+ results were dated ahead of the clock",
    ),
]
