"""Lines for a terminal of 80 columns: folded text, and the line by which a command names a file that it wrote."""

from __future__ import annotations

import textwrap
from pathlib import Path

WIDTH = 80
OPENERS = {".pdf": "a PDF viewer", ".html": "a browser", ".csv": "a spreadsheet", ".py": "Python"}
"""{suffix of a file: what opens it}; an editor opens any other."""


def fold(text: str, width: int = WIDTH, indent: str = "  ") -> str:
    """Return a text whose lines are folded between words; continuation lines are indented.

    >>> print(fold("one two three\\nfour", 8))
    one two
      three
    four
    """
    return "\n".join(
        textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
        for line in text.splitlines()
    )


def wrote(path: Path | str, look_at: str) -> str:
    """Return the line that names a written file, what opens it and what to look at.

    >>> wrote("paper.pdf", "the first page")
    'wrote paper.pdf (open it in a PDF viewer): the first page'
    """
    return f"wrote {path} (open it in {OPENERS.get(Path(path).suffix, 'an editor')}): {look_at}"
