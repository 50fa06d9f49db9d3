"""pyperf times one workload in JAX, in a worker process of its own: `python -m ... FOLDER`.

The specification in FOLDER is that of our child's job; the times go into its event file.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

import pyperf

from stackwars.audits.theirs import prepared
from stackwars.measure.events import NAME, Events

VALUES = 20
WARMUPS = 3


def main() -> None:
    # pyperf starts its worker with this command again, and adds its own arguments.
    folder = Path(sys.argv.pop(1))
    spec = json.loads((folder / "spec.json").read_text())
    runner = pyperf.Runner(
        processes=1, values=VALUES, warmups=WARMUPS, loops=1,
        program_args=("-m", __spec__.name, str(folder)),
    )  # fmt: skip
    runner.parse_args(["--quiet", "--copy-env", *sys.argv[1:]])
    call = cache(lambda: prepared(spec))  # only the worker builds it
    found = runner.bench_func(spec["workload"], lambda: call()())
    if runner.args.worker:
        return
    events = Events(folder / NAME)
    ns = [round(1e9 * seconds) for seconds in found.get_values()]
    events.write("theirs", harness=f"pyperf {pyperf.__version__}", ns=ns)
    events.write("end")


if __name__ == "__main__":
    main()
