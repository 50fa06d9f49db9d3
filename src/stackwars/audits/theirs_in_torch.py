"""torch.utils.benchmark times one workload in torch_xla: `python -m ... FOLDER`.

The specification in FOLDER is that of our child's job; the times go into its event file.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import torch
from torch.utils.benchmark import Timer

from stackwars.audits.theirs import prepared
from stackwars.measure.events import NAME, Events


def main() -> None:
    folder = Path(sys.argv[1])
    spec = json.loads((folder / "spec.json").read_text())
    timer = Timer("call()", globals={"call": prepared(spec)})
    found = timer.blocked_autorange(min_run_time=spec["settings"]["steady_seconds"])
    events = Events(folder / NAME)
    ns = [round(1e9 * seconds) for seconds in found.times]
    events.write("theirs", harness=f"torch.utils.benchmark {torch.__version__}", ns=ns)
    events.write("end")
    # The frameworks' own teardown can crash after the work is done.
    os._exit(0)


if __name__ == "__main__":
    main()
