"""Faults of what a run stands on: environments, TeX, and the texts that others wrote."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from faults.children import CELL, CHILD, FIRST, OTHER
from faults.fault import Fault, NotTried
from faults.scratch import PAPER, TABLES, WHOLE, Ran, Scratch
from stackwars.setup import environments, tex

HOSTILE = r"$\input{/etc/passwd}$ 50 % & \end{document}{_^~# `touch pwned` $(touch pwned)$;touch pwned|<b>"
"""Syntax of TeX, of the shell, of Matplotlib and of a page."""
UNPRINTABLE = "\x1b[2J\x00\r\n\udcff"
"""What a terminal would obey, and what no file takes."""


def private(scratch: Scratch) -> Path:
    """A folder of environments of this checkout's own: links to the real ones. Returns that of NumPy's."""
    folder = scratch.folder / "environments"
    folder.mkdir()
    for path in environments.root().resolve().iterdir():
        if (path / "ready").exists():
            (folder / path.name).symlink_to(path)
    scratch.variables["STACKWARS_ENVS"] = str(folder)
    return folder / environments.folder(scratch.folder / "envs" / "numpy.txt").name


def deleted(scratch: Scratch) -> None:
    scratch.forget(OTHER)
    private(scratch).unlink()


def half_built(scratch: Scratch) -> None:
    """The installer was killed: a Python, some of a package, no mark that it is ready."""
    scratch.forget(OTHER)
    home = private(scratch)
    real = home.resolve()
    home.unlink()
    shutil.copytree(real / "bin", home / "bin", symlinks=True)
    (home / "lib" / "numpy").mkdir(parents=True)


def gutted(scratch: Scratch) -> None:
    """It says that it is ready, and a package is gone."""
    scratch.forget(OTHER)
    home = private(scratch)
    real = home.resolve()
    home.unlink()
    shutil.copytree(real, home, symlinks=True)
    shutil.rmtree(next(home.glob("lib/python*/site-packages/numpy")))


def rebuild(scratch: Scratch) -> None:
    """Delete the gutted environment and the cell that it spoilt."""
    scratch.forget(OTHER)
    for home in (scratch.folder / "environments").glob("numpy-*"):
        shutil.rmtree(home) if home.is_dir() else home.unlink()


def wrong_pin(scratch: Scratch) -> None:
    """The hash of a package is another one."""
    scratch.forget(OTHER)
    private(scratch)
    pins = scratch.folder / "envs" / "numpy.txt"
    shutil.copy2(pins, pins.with_suffix(".kept"))
    pins.write_text(re.sub(r"sha256:[0-9a-f]{8}", "sha256:00000000", pins.read_text()))


def right_pin(scratch: Scratch) -> None:
    pins = scratch.folder / "envs" / "numpy.txt"
    pins.with_suffix(".kept").rename(pins)


def build(scratch: Scratch) -> Ran:
    """A run that has to build an environment."""
    ran = scratch.run(TABLES)
    if "package index did not answer" in ran.said:
        raise NotTried("the package index did not answer")
    return ran


def without_tex(scratch: Scratch) -> Ran:
    """A PATH that has everything but TeX."""
    folder = scratch.folder / "tools"
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for path in Path(place).glob("*"):
            link = folder / path.name
            if path.name not in tex.COMMANDS and not link.exists() and not link.is_symlink():
                link.symlink_to(path)
    return scratch.run(PAPER, PATH=str(folder))


def failing_tex(scratch: Scratch) -> Ran:
    return scratch.run(PAPER, PATH=scratch.tools(pdflatex="echo '! LaTeX Error: broken.'\nexit 1"))


def retitled(scratch: Scratch) -> Ran:
    wanted = {"module": "stackwars.", "do": "retitle", "workload": "gemm", "title": HOSTILE}
    return scratch.run(*WHOLE, sabotage=wanted)


def obeyed(scratch: Scratch) -> list[str]:
    """Whether anything did what such a text says."""
    return [f"{path} was made" for path in scratch.folder.rglob("pwned")]


def raised(scratch: Scratch) -> Ran:
    wanted = {"module": CHILD, "argument": f"jax/gemm/{FIRST}", "do": "fail", "event": "first"}
    return scratch.run(*WHOLE, sabotage=wanted | {"message": HOSTILE + UNPRINTABLE})


FAULTS = [
    Fault(
        "environment-deleted",
        "Environment deleted",
        prepare=deleted,
        run=build,
        says=r"\[environment\] building numpy",
    ),
    Fault(
        "environment-half",
        "Environment half-built",
        prepare=half_built,
        run=build,
        says=r"\[environment\] building numpy",
    ),
    Fault(
        "environment-gutted",
        "Package missing in a finished environment",
        prepare=gutted,
        run=lambda scratch: scratch.run(TABLES),
        says=r"no package numpy in numpy-\w+, which was built with it: delete that folder",
        recover=rebuild,
        spends=(f"{OTHER}/",),
    ),
    Fault(
        "environment-pin",
        "Environment with a wrong pin",
        prepare=wrong_pin,
        run=build,
        says=r"the environment of numpy.txt was not built",
        recover=right_pin,
    ),
    Fault(
        "tex-missing",
        "TeX missing",
        prepare=Scratch.forget_paper,
        run=without_tex,
        says=r"missing: latexmk, pdflatex",
        again=(PAPER,),
    ),
    Fault(
        "tex-failing",
        "TeX failing",
        prepare=Scratch.forget_paper,
        run=failing_tex,
        says=r"What to do: TeX refused the paper",
        again=(PAPER,),
    ),
    Fault(
        "title",
        "Workload's title of TeX and shell syntax",
        prepare=Scratch.forget,
        run=retitled,
        says=r"\] typeset",
        recover=Scratch.forget,
        again=WHOLE,
        extra=obeyed,
    ),
    Fault(
        "message",
        "Error message of TeX and shell syntax",
        prepare=lambda scratch: scratch.forget(CELL),
        run=raised,
        says=r"jax gemm cpu: error: RuntimeError: .*touch pwned",
        recover=lambda scratch: scratch.forget(CELL),
        again=WHOLE,
        spends=(f"{CELL}/",),
        extra=obeyed,
    ),
]
