"""A call of torch.utils.benchmark's and one of our child's, alternately, in torch_xla: `python -m ... FOLDER`.

The specification in FOLDER is that of our child's job; the times go into its event file.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import torch
from torch.utils.benchmark import Timer

from stackwars.audits.third_party import VALUES, prepared
from stackwars.measure.events import NAME, Events


def main() -> None:
    folder = Path(sys.argv[1])
    ready = prepared(json.loads((folder / "spec.json").read_text()))
    timer = Timer("call()", globals={"call": ready.third_party})
    ours, third_party = [], []
    for _ in range(VALUES):
        third_party.append(round(1e9 * timer.timeit(1).mean))
        ours.append(ready.ours())
    events = Events(folder / NAME)
    events.write("ours", ns=ours)
    events.write("third_party", harness=f"torch.utils.benchmark {torch.__version__}", ns=third_party)
    events.write("end")
    # The frameworks' own teardown can crash after the work is done.
    os._exit(0)


if __name__ == "__main__":
    main()
