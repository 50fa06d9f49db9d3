"""A picture of each view of a report, to look at:
``PYTHONPATH=src:tests .venv/bin/python tests/report/pictures.py REPORT FOLDER [WIDTH]``.

Also prints the report's size, the time to its first picture and what its objects take in the browser.
"""

import re
import sys
import tempfile
from pathlib import Path

from chromium import FIRST_PICTURE, Chromium

VIEWS = (
    *(
        "start",
        "cells",
        "cells?study=stacks",
        "cells?study=beyond&mode=growth",
        "cells?study=matrix&mode=replay",
    ),
    *("cell/tables/cpu/torch_xla/mha", "cell/tables/cpu/torch_xla/mha?calls=2&scale=linear"),
    *("cell/stacks/cpu/torch_inductor/resnet50", "comparisons", "comparisons?quantity=replay&workload=mha"),
    *("comparisons?quantity=edit&rounds=shown", "comparisons?quantity=hbm", "compiled"),
    *("replay/tables/cpu/jaxlib-0.7.1/torch_xla/mha", "replay/matrix/cpu/iree-3.13/jax/train_mlp"),
    *("programs/mha", "programs/mha?form=optimised"),
    "programs/mha?left=torchax&right=tensorflow_xla&search=DOT",
    *("programs/llama3_8b"),
    *("timeline/bert_base", "timeline/mha?study=matrix", "claims", "claim/program_is_reason", "audits"),
)


def main() -> None:
    report, folder = (Path(name).resolve() for name in sys.argv[1:3])
    width = int(sys.argv[3]) if len(sys.argv) > 3 else 1400
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Chromium(Path(profile))
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.call("Emulation.setDeviceMetricsOverride", **size)
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
