"""Whether this machine can draw and typeset the paper, found out before anything is measured."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

PACKAGES = (
    "texlive-latex-recommended texlive-publishers texlive-science texlive-fonts-recommended latexmk graphviz"
)
_GRAPHVIZ = ("dot",)
COMMANDS = ("latexmk", "pdflatex", "bibtex", "kpsewhich")
_FILES = ("IEEEtran.cls", "IEEEtran.bst", "booktabs.sty", "siunitx.sty", "listings.sty", "microtype.sty",
          "hyperref.sty", "t1txtt.fd")  # fmt: skip


def missing(typeset: bool = True, draw: bool = True) -> list[str]:
    """Commands and style files that are not there: of TeX to typeset, of Graphviz to draw."""
    needed = (COMMANDS if typeset else ()) + (_GRAPHVIZ if draw else ())
    commands = [command for command in needed if shutil.which(command) is None]
    if not typeset or "kpsewhich" in commands:
        return commands
    found = subprocess.run(["kpsewhich", *_FILES], capture_output=True, text=True).stdout.split()
    present = {Path(line).name for line in found}
    return commands + [file for file in _FILES if file not in present]


def explain(lacking: list[str]) -> str:
    """What is missing and the line that installs it."""
    return (
        f"TeX and Graphviz: expected {', '.join(COMMANDS + _GRAPHVIZ)} and {', '.join(_FILES)}; "
        f"missing: {', '.join(lacking)}. "
        f"On Debian or Ubuntu: sudo apt-get install --no-install-recommends {PACKAGES}"
    )
