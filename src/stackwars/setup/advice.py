"""What to do about a failure, where its words tell: of the installer, of a job, of a run."""

from __future__ import annotations

import re

LABEL = "What to do: "
_KNOWN = (
    (
        r"No space left on device|os error 28|Disk quota exceeded",
        "The disk is full: free some, or put the environments elsewhere with STACKWARS_ENVS=<folder> "
        "(torch_xla's takes 7 GB). What was measured is kept.",
    ),
    (
        r"Read-only file system|Permission denied",
        "Something cannot be written: make the folder that the message names writable, and give the same "
        "command again. What was measured is kept.",
    ),
    (
        r"has no wheels with a matching Python",
        "This Python has no build of that package: use Python 3.11 or 3.12, e.g. make PYTHON=python3.11 ...",
    ),
    (
        r"error sending request|Failed to fetch|dns error|operation timed out|Connection refused|tcp connect",
        "The package index did not answer: check the network, or name another index with "
        "UV_DEFAULT_INDEX, and give the same command again.",
    ),
    (
        r"libpython3\.\d+\.so",
        "This Python's shared library is missing: give the same command with make, whose set-up "
        "installs it or says how.",
    ),
    (
        r"! LaTeX Error|Emergency stop|latexmk",
        "TeX refused the paper: the first line that starts with `!` in main.log, in the folder latex "
        "beside the tables, says why.",
    ),
    (
        r"JSONDecodeError|BadGzipFile|EOFError|expected a whole document",
        "A result cannot be read: give the same command again, and what is damaged is set aside by "
        "name and measured again.",
    ),
)


def advise(text: str) -> list[str]:
    """What to do about the failure that a log or a message tells of, a line each; [] if unknown."""
    return [LABEL + what for pattern, what in _KNOWN if re.search(pattern, text)]
