"""Compare whole outputs with files in `snapshots/`, in the folder of the test that runs."""

import os
import re
from pathlib import Path

from stackwars.core.launch import REPOSITORY

FILTERS = {
    "<": ((r"(?s)<style>.*?</style>|<[^>]*>", ""), (r"[ \t]+\n", "\n"), (r"\n{2,}", "\n\n")),
    "\\": (
        (r"\\hphantom\{[^}]*\}", ""),
        (r"\\[lr]lap\{([^}]*)\}", r"\1"),
        (r"\\makebox\[1\.1em\]\{([^{}]*)\}", r" \1 "),
    ),
}
"""Patterns and replacements by the first character of a text: a page is compared without its markup, LaTeX without the
boxes that align numbers."""


def assert_snapshot(name: str, text: str) -> None:
    """Compare an output with its snapshot; pytest with SNAPSHOTS=write in the environment writes the snapshot."""
    for pattern, replacement in FILTERS.get(text[:1], ()):
        text = re.sub(pattern, replacement, text)
    test = Path(os.environ["PYTEST_CURRENT_TEST"].partition("::")[0])
    path = REPOSITORY / test.parent / "snapshots" / name
    if os.environ.get("SNAPSHOTS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text.strip()}\n", encoding="utf-8")
    is_current = path.read_text(encoding="utf-8") == f"{text.strip()}\n"
    file = path.relative_to(REPOSITORY)
    assert is_current, f"{file} differs; fix: SNAPSHOTS=write pytest {test}, then read git diff {file}"
