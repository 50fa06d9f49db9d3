"""Give advice about a failure, from the text of its log: the installer's, a job's or a run's."""

from __future__ import annotations

import os
import re
from pathlib import Path

LABEL = "What to do: "
_KNOWN = (
    (
        r"No space left on device|os error 28|Disk quota exceeded",
        "The disk is full: free some, or put the environments elsewhere with STACKWARS_ENVS=<folder> "
        "(torch_xla's takes 7 GB). What was measured is kept.",
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
        "A result cannot be read: give the same command again, which names what is damaged.",
    ),
)
# The file that the system refused, before the reason (bash, uv) or after it (Python).
_DENIED = re.compile(
    r"(?:[`'\"](?P<quoted>[^`'\"\n]+)[`'\"]|(?P<shell>\S+)): (?:Permission denied|Read-only file system)"
    r"|(?:Permission denied|Read-only file system)(?:: [`'\"](?P<named>[^`'\"\n]+)[`'\"])?"
)
_EXECUTION = re.compile(r"_execute_child|execve?\(|posix_spawn|bad interpreter")
"""Words of a traceback or a shell about a program that could not be started."""


def advise(text: str) -> list[str]:
    """Return a line of advice for each known failure in a log or message; its own advice if it has some."""
    if advised := [line for line in text.splitlines() if line.startswith(LABEL)]:
        return advised
    known = [LABEL + what for pattern, what in _KNOWN if re.search(pattern, text)]
    return known + _advise_permission(text)


def advise_execution(program: str | Path) -> str:
    """Return advice about a program that this user may not execute."""
    return (
        f"{LABEL}{program} may not be executed by this user: make it and the folders above it readable and executable "
        "(chmod a+rx); if another user built it, build your own with STACKWARS_ENVS=<folder>."
    )


def _advise_permission(text: str) -> list[str]:
    """Return advice about the last refusal of the file system, by its reason and operation."""
    refusals = list(_DENIED.finditer(text))
    if not refusals:
        return []
    last = refusals[-1]
    name = next((result for result in last.groups() if result), "")
    where = name or "the file that the message names"
    if "Read-only file system" in last[0]:
        what = "is on a read-only file system: mount it writable"
    elif _EXECUTION.search(text[: last.end()]) or (last["shell"] and Path(name).parent.name == "bin"):
        return [advise_execution(where)]
    elif any(os.access(folder, os.F_OK) and not os.access(folder, os.X_OK) for folder in Path(name).parents):
        what = "cannot be reached by this user: make the folders above it readable and executable (chmod a+rx)"
    elif os.access(name, os.F_OK) and not os.access(name, os.R_OK):
        what = "may not be read by this user: make it readable (chmod a+r)"
    else:
        what = "may not be written by this user: make it and its folder writable (chmod u+w)"
    return [f"{LABEL}{where} {what}, and give the same command again; what was measured is kept."]
