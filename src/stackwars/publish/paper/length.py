"""Refuse a paper of the reference that is too long: ``python -m stackwars.publish.paper.length MAIN.AUX``.

Ten pages before the references, an appendix of at most fourteen, and the figure with the answer on the first page.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

MOST_PAGES, MOST_IN_APPENDIX = 10, 14
END, APPENDIX, LAST, ANSWER = "sec:end", "sec:build", "sec:last", "fig:compilers"


class LengthError(ValueError):
    """A part of the paper that is too long, or an answer that is not on the first page."""


def page(aux: str, label: str) -> int:
    """Return the page of a label by the text of main.aux. Raises LengthError if it has none."""
    match = re.search(rf"\\newlabel\{{{label}\}}\{{\{{[^{{}}]*\}}\{{(\d+)\}}", aux)
    if not match:
        raise LengthError(f"expected the label {label} in main.aux, got none; fix: typeset the paper again")
    return int(match[1])


def check(aux: str) -> None:
    """Raise LengthError if a part is too long or the answer stands elsewhere."""
    body, answer = page(aux, END), page(aux, ANSWER)
    appendix = page(aux, LAST) - page(aux, APPENDIX) + 1
    if body > MOST_PAGES:
        raise LengthError(
            f"expected a body of at most {MOST_PAGES} pages before the references, got {body}; fix: shorten "
            "paper/sections or move a float to paper/appendix"
        )
    if appendix > MOST_IN_APPENDIX:
        raise LengthError(
            f"expected an appendix of at most {MOST_IN_APPENDIX} pages, got {appendix}; fix: shorten paper/appendix"
        )
    if answer != 1:
        raise LengthError(f"expected {ANSWER} on page 1, got page {answer}; fix: shorten what stands before it")


if __name__ == "__main__":
    try:
        check(Path(sys.argv[1]).read_text(errors="replace"))
    except LengthError as error:
        sys.exit(str(error))
