"""Programs outside Python: TeX and Graphviz for the paper, and a C++ compiler for TorchInductor.

Standard library only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

PAPER_PACKAGES = (
    "texlive-latex-recommended", "texlive-publishers", "texlive-science", "texlive-fonts-recommended", "latexmk",
    "graphviz",
)  # fmt: skip
TEX_COMMANDS = ("latexmk", "pdflatex", "bibtex", "kpsewhich")
_TEX_FILES = ("IEEEtran.cls", "IEEEtran.bst", "booktabs.sty", "siunitx.sty", "listings.sty", "microtype.sty",
              "hyperref.sty", "t1txtt.fd")  # fmt: skip
_GRAPHVIZ = ("dot",)


def missing_for_paper(typeset: bool = True, draw: bool = True) -> list[str]:
    """Return the missing commands and style files: TeX's to typeset, Graphviz's to draw."""
    needed = (TEX_COMMANDS if typeset else ()) + (_GRAPHVIZ if draw else ())
    commands = [command for command in needed if shutil.which(command) is None]
    if not typeset or "kpsewhich" in commands:
        return commands
    listed = subprocess.run(["kpsewhich", *_TEX_FILES], capture_output=True, text=True).stdout.split()
    present = {Path(line).name for line in listed}
    return commands + [file for file in _TEX_FILES if file not in present]


def cxx_compiler() -> str:
    """Return the C++ compiler, which TorchInductor uses too: $CXX, or g++."""
    return os.environ.get("CXX", "g++")


def cxx_version() -> str:
    command = [cxx_compiler(), "-dumpfullversion", "-dumpversion"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def python_headers() -> Path:
    """Return the folder in which TorchInductor looks for Python.h, which belongs to an environment's base Python."""
    return Path(sysconfig.get_path("include", scheme="posix_prefix"))


def missing_for_inductor() -> list[str]:
    """Return which of the C++ compiler and Python's header are missing."""
    missing = [] if shutil.which(cxx_compiler()) else [f"the C++ compiler {cxx_compiler()}"]
    header = python_headers() / "Python.h"
    return missing if header.is_file() else [*missing, str(header)]


def inductor_packages() -> tuple[str, ...]:
    """Return the Debian packages of the C++ compiler and the header, for Debian's own Python of this version."""
    return "g++", f"libpython{sys.version_info.major}.{sys.version_info.minor}-dev"
