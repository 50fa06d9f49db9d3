"""Faults of files: damaged, from elsewhere, on a full or read-only disk; and of environments and TeX."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faults.injection import Fault
from faults.process_faults import CELL, CHILD, FIRST, OTHER, delete_cell, delete_other
from faults.scratch import PAPER, TABLES, Ran, Scratch, mount_or_skip
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


def copy_from_machine(scratch: Scratch) -> None:
    """Replace a cell by one that another machine measured, whose clocks agree with each other."""
    scratch.delete()
    path = scratch.results / OTHER / "cell.json"
    cell = json.loads(path.read_text())
    for record in (cell, *cell["processes"]):
        record["machine"] |= {"cpu_model": "Another Processor", "cores": 64, "memory_bytes": 2**39}
    path.write_text(json.dumps(cell, indent=1))


def copy_other_cell(scratch: Scratch) -> None:
    scratch.delete(OTHER)
    shutil.copytree(scratch.results / CELL, scratch.results / OTHER)


def link_out(scratch: Scratch) -> None:
    """Replace a cell's folder by a symbolic link to a folder outside of the results."""
    scratch.delete()
    cell, outside = scratch.results / CELL, scratch.folder / "outside"
    cell.rename(outside)
    cell.symlink_to(outside)


def link_back(scratch: Scratch) -> None:
    (scratch.results / CELL).unlink()
    (scratch.folder / "outside").rename(scratch.results / CELL)


def make_unwritable(scratch: Scratch) -> None:
    """Make the results read-only; as root only a mount does that."""
    scratch.delete(CELL)
    results = str(scratch.folder / "results")
    if os.geteuid():
        subprocess.run(["chmod", "-R", "a-w", results], check=True)
    else:
        mount_or_skip("--bind", results, results)
        mount_or_skip("-o", "remount,bind,ro", results)


def make_writable(scratch: Scratch) -> None:
    command = ["chmod", "-R", "u+w"] if os.geteuid() else ["umount"]
    subprocess.run([*command, str(scratch.folder / "results")], check=True)


def date_ahead(scratch: Scratch) -> None:
    """Date every result an hour ahead, as if the clock had been set back since."""
    scratch.delete(CELL)
    for path in scratch.results.rglob("*"):
        found = path.stat()
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 3600 * 10**9))


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


def half_build(scratch: Scratch) -> None:
    """Leave what a killed installer leaves: a Python, some of a package, no mark that it is ready."""
    home = own_environment(scratch)
    real = home.resolve()
    home.unlink()
    shutil.copytree(real / "bin", home / "bin", symlinks=True)
    (home / "lib" / "numpy").mkdir(parents=True)


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


def change_hash(scratch: Scratch) -> None:
    own_environment(scratch)
    pins = scratch.folder / "envs" / "numpy.txt"
    shutil.copy2(pins, pins.with_suffix(".saved"))
    pins.write_text(re.sub(r"sha256:[0-9a-f]{8}", "sha256:00000000", pins.read_text()))


def restore_hash(scratch: Scratch) -> None:
    pins = scratch.folder / "envs" / "numpy.txt"
    pins.with_suffix(".saved").rename(pins)


def build(scratch: Scratch) -> Ran:
    """Run what has to build an environment."""
    ran = scratch.run(TABLES)
    if "package index did not answer" in ran.output:
        pytest.skip("the package index did not answer")
    return ran


def with_failing_tex(scratch: Scratch) -> Ran:
    return scratch.run(PAPER, PATH=scratch.path_with(pdflatex="echo '! LaTeX Error: broken.'\nexit 1"))


FAULTS = [
    damaged("cell-truncated", "cell.json", truncate),
    damaged("output-truncated", "output.npy", truncate),
    damaged("output-garbage", "output.npy", garble),
    damaged("program-truncated", "stablehlo.mlir.gz", truncate),
    full("process", delete_cell, module=CHILD, argument=f"jax/gemm/{FIRST}", event="run"),
    full("tables", Scratch.delete, module="stackwars.results.tables"),
    full("tex", Scratch.delete_paper, PAPER),
    between_runs(
        "foreign-machine",
        r"invalid: expected a result of the machine of this run",
        copy_from_machine,
        recover=delete_other,
        spends=(OTHER,),
    ),
    between_runs(
        "foreign-cell",
        r"invalid: expected the result of this cell, got that of",
        copy_other_cell,
        recover=delete_other,
        spends=(OTHER,),
    ),
    between_runs(
        "read-only",
        r"results: expected a folder that can be written",
        make_unwritable,
        recover=make_writable,
    ),
    between_runs(
        "link",
        r"expected a file or folder of the results, got a symbolic link",
        link_out,
        recover=link_back,
    ),
    between_runs("clock-files", r"\d+ results were dated ahead of the clock", date_ahead),
    Fault("environment-half", r"\[environment\] building numpy", build, prepare=half_build),
    between_runs(
        "environment-package",
        r"no package numpy in numpy-\w+, which was built with it: delete that folder",
        remove_package,
        recover=delete_environment,
        spends=(OTHER,),
    ),
    Fault(
        "environment-hash",
        r"the environment of numpy.txt was not built",
        build,
        prepare=change_hash,
        recover=restore_hash,
    ),
    Fault(
        "tex-failing",
        r"What to do: TeX refused the paper",
        with_failing_tex,
        prepare=Scratch.delete_paper,
        again=(PAPER,),
    ),
]
