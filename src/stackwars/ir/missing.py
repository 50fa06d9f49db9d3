"""A file that stands where a program would, and says why there is none. Plain text, for any environment."""

from __future__ import annotations

NO_PROGRAM = "// no program:"


def line(why: str) -> str:
    """The text of a file without a program."""
    return f"{NO_PROGRAM} {why}".splitlines()[0] + "\n"


def missing(text: str) -> str | None:
    """Why there is no program, where a cell or a lowering without one left only that line; else None."""
    found = text.strip()
    return found.removeprefix(NO_PROGRAM).strip() if found.startswith(NO_PROGRAM) else None
