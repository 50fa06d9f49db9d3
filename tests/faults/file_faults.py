"""Faults of files: damaged, or on a full disk; and of environments and TeX."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faults.injection import Fault
from faults.process_faults import CELL, CHILD, FIRST, OTHER, delete_cell
from faults.scratch import PAPER, TABLES, Ran, Scratch
from stackwars.setup import environments

HEADER = 128
"""Bytes of the header of an output; garbage behind it can still be read as numbers."""
ENVIRONMENT = "environments"


def truncate(path: Path) -> None:
    """Leave half of the file, as a write that broke off."""
    os.truncate(path, path.stat().st_size // 2)


def garble(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:HEADER] + random.Random(0).randbytes(len(data) - HEADER))


def damaged(fault: str, name: str, damage: Callable[[Path], None]) -> Fault:
    """Return a fault that damages a file of a finished cell between two runs."""
    targets = (TABLES, f"results/smoke/{CELL}/{name}")

    def prepare(scratch: Scratch) -> None:
        scratch.delete()
        damage(scratch.results / CELL / name)

    return between_runs(fault, rf"damaged: .*/{name} ", prepare, again=targets)


def between_runs(name: str, says: str, prepare: Callable[[Scratch], None], **more: Any) -> Fault:
    """Return a fault that happens between two runs."""
    again = more.get("again", (TABLES,))
    return Fault(name, says, lambda scratch: scratch.run(*again), prepare=prepare, **more)


def full(stage: str, prepare: Callable[[Scratch], None], target: str = TABLES, **wanted: str) -> Fault:
    """Return a fault that fills the disk at some moment of a run; it has room again before the next."""

    def run(scratch: Scratch) -> Ran:
        filler = scratch.folder / "filler"
        if wanted:
            return scratch.run(target, sabotage={"do": "fill", "file": str(filler), **wanted})
        real = shutil.which("latexmk")
        path = scratch.path_with(latexmk=f'cat /dev/zero >{filler} 2>/dev/null\nexec {real} "$@"')
        return scratch.run(target, PATH=path)

    return Fault(
        f"full-{stage}",
        r"What to do: The disk is full",
        run,
        prepare=prepare,
        recover=lambda scratch: (scratch.folder / "filler").unlink(),
        again=(target,),
        disk_mb=64,
    )


def own_environment(scratch: Scratch) -> Path:
    """Give the checkout a folder of environments, which links to the real ones; return the path of NumPy's."""
    scratch.delete(OTHER)
    folder = scratch.folder / ENVIRONMENT
    folder.mkdir()
    for path in environments.root().resolve().iterdir():
        if (path / "ready").exists():
            (folder / path.name).symlink_to(path)
    scratch.variables["STACKWARS_ENVS"] = str(folder)
    return folder / environments.folder(scratch.folder / "envs" / "numpy.txt").name


def remove_package(scratch: Scratch) -> None:
    """Delete a package of an environment that says it is ready."""
    home = own_environment(scratch)
    real = home.resolve()
    home.unlink()
    shutil.copytree(real, home, symlinks=True)
    shutil.rmtree(next(home.glob("lib/python*/site-packages/numpy")))


def delete_environment(scratch: Scratch) -> None:
    scratch.delete(OTHER)
    for home in (scratch.folder / ENVIRONMENT).glob("numpy-*"):
        shutil.rmtree(home) if home.is_dir() else home.unlink()


def with_failing_tex(scratch: Scratch) -> Ran:
    return scratch.run(PAPER, PATH=scratch.path_with(pdflatex="echo '! LaTeX Error: broken.'\nexit 1"))


FAULTS = [
    damaged("cell-truncated", "cell.json", truncate),
    damaged("output-garbage", "output.npy", garble),
    full("process", delete_cell, module=CHILD, argument=f"jax/gemm/{FIRST}", event="run"),
    full("tables", Scratch.delete, module="stackwars.results.tables"),
    full("tex", Scratch.delete_paper, PAPER),
    between_runs(
        "environment-package",
        r"no package numpy in numpy-\w+, which was built with it: delete that folder",
        remove_package,
        recover=delete_environment,
        spends=(OTHER,),
    ),
    Fault(
        "tex-failing",
        r"What to do: TeX refused the paper",
        with_failing_tex,
        prepare=Scratch.delete_paper,
        again=(PAPER,),
    ),
]
