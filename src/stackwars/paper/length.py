"""How long the typeset paper is: ``python -m stackwars.paper.length MAIN.AUX`` fails where it is too long.

Ten pages before the references, and the figure with the answer on the first.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

MOST_PAGES = 10
END, ANSWER = "sec:end", "fig:headline"


class LengthError(ValueError):
    """A body over ten pages, or an answer that is not on the first."""


def page(aux: str, label: str) -> int:
    """The page of a label by the text of main.aux. Raises LengthError where it has none."""
    found = re.search(rf"\\newlabel\{{{label}\}}\{{\{{[^{{}}]*\}}\{{(\d+)\}}", aux)
    if not found:
        raise LengthError(
            f"expected the label {label} in main.aux, came none: typeset the paper again"
        )
    return int(found[1])


def check(aux: str) -> None:
    """Raises LengthError for a body that is too long or an answer that stands elsewhere."""
    last, answer = page(aux, END), page(aux, ANSWER)
    if last > MOST_PAGES:
        raise LengthError(
            f"expected a body of at most {MOST_PAGES} pages before the references, came {last}: shorten "
            "paper/sections or move a float to paper/appendix"
        )
    if answer != 1:
        raise LengthError(
            f"expected Figure {ANSWER} on page 1, came page {answer}: shorten what stands before it"
        )


if __name__ == "__main__":
    try:
        check(Path(sys.argv[1]).read_text(errors="replace"))
    except LengthError as error:
        sys.exit(str(error))
