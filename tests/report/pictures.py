"""A picture of each view of a report, to look at:
``PYTHONPATH=src:tests .venv/bin/python tests/report/pictures.py REPORT FOLDER``.

Also prints the report's size, the time to its first picture and what its objects take in the browser.
"""

import re
import sys
import tempfile
from pathlib import Path

from chromium import FIRST_PICTURE, Chromium

VIEWS = (
    *("start", "cells", "cell/cpu/torch_xla/mha", "cell/cpu/torch_xla/mha?calls=2&scale=linear"),
    *("comparisons?sort=effect", "comparisons?rounds=shown", "comparisons?compiler=jaxlib-0.10.2"),
    *("replay/cpu/jaxlib-0.7.1/torch_xla/mha", "replay/cpu/iree-3.13/jax/train_mlp"),
    *("programs/mha", "programs/mha?form=optimised"),
    "programs/mha?left=torchax&right=tensorflow_xla&search=DOT",
    *("programs/llama3_8b", "graph/mha/jax", "graph/bert_base/jax", "graph/bert_base/jax?blocks=all"),
    *("timeline", "claims", "claim/program_is_reason", "audits"),
)  # fmt: skip


def main() -> None:
    report, folder = (Path(name).resolve() for name in sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Chromium(Path(profile))
        browser.open(report)
        painted = browser.evaluate(FIRST_PICTURE)
        print(f"{report.stat().st_size / 1e6:.2f} MB, first picture after {painted:.0f} ms")
        for view in VIEWS:
            browser.visit(view)
            elements = browser.evaluate("document.querySelectorAll('*').length")
            browser.screenshot(folder / f"{re.sub(r'[^a-z0-9]+', '-', view)}.png")
            heap = browser.heap_bytes() / 1e6
            print(f"{view}: {elements} elements, {heap:.0f} MB of heap")
        browser.close()
    sys.exit("\n".join(browser.errors))


if __name__ == "__main__":
    main()
