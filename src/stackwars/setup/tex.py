"""Whether this machine can typeset the paper, found out before anything is measured."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

PACKAGES = (
    "texlive-latex-recommended texlive-publishers texlive-science texlive-fonts-recommended latexmk"
)
_COMMANDS = ("latexmk", "pdflatex", "bibtex", "kpsewhich")
_FILES = ("IEEEtran.cls", "IEEEtran.bst", "booktabs.sty", "siunitx.sty", "listings.sty", "microtype.sty",
          "hyperref.sty", "t1txtt.fd")  # fmt: skip


def missing() -> list[str]:
    """Commands and style files that the paper needs and that are not there."""
    commands = [command for command in _COMMANDS if shutil.which(command) is None]
    if "kpsewhich" in commands:
        return commands
    found = subprocess.run(["kpsewhich", *_FILES], capture_output=True, text=True).stdout.split()
    present = {Path(line).name for line in found}
    return commands + [file for file in _FILES if file not in present]


def explain(lacking: list[str]) -> str:
    """What is missing and the line that installs it."""
    return (
        f"TeX: expected {', '.join(_COMMANDS)} and {', '.join(_FILES)}; missing: {', '.join(lacking)}. "
        f"On Debian or Ubuntu: sudo apt-get install --no-install-recommends {PACKAGES}"
    )
