"""A call of pyperf's and one of our child's, alternately, in JAX, in pyperf's worker: `python -m ... FOLDER`.

The specification in FOLDER is that of our child's job; the times go into its event file.
"""

from __future__ import annotations

import itertools
import json
import sys
from functools import cache
from pathlib import Path

import pyperf

from stackwars.audits.third_party import VALUES, prepared
from stackwars.measure.events import NAME, Events

WARMUPS = 2


def main() -> None:
    # pyperf starts its worker with this command again, and adds its own arguments.
    folder = Path(sys.argv.pop(1))
    spec = json.loads((folder / "spec.json").read_text())
    runner = pyperf.Runner(
        processes=1, values=2 * VALUES, warmups=WARMUPS, loops=1,
        program_args=("-m", __spec__.name, str(folder)),
    )  # fmt: skip
    runner.parse_args(["--quiet", "--copy-env", *sys.argv[1:]])
    ready = cache(lambda: prepared(spec))  # only the worker builds it
    ours: list[int] = []
    calls = itertools.cycle((lambda: ready().third_party(), lambda: ours.append(ready().ours())))
    # pyperf times every call of this; every second one times itself as well.
    found = runner.bench_func(spec["workload"], lambda: next(calls)())
    events = Events(folder / NAME)
    if runner.args.worker:
        events.write("ours", ns=ours[-VALUES:])
        return
    ns = [round(1e9 * seconds) for seconds in found.get_values()[::2]]
    events.write("third_party", harness=f"pyperf {pyperf.__version__}", ns=ns)
    events.write("end")


if __name__ == "__main__":
    main()
