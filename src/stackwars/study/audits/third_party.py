"""Time one workload with a harness that others wrote, and with ours.

`python -m stackwars.study.audits.third_party FOLDER` writes both.
Calls of both alternate on one session: two processes of one program differ by more than their harnesses do, and so
do the speeds of a machine within a second. Both keep the same results alive, and each is first in every second pair:
earlier calls decide whether the next one gets new pages, which takes time. FOLDER has the specification of a
cell's process; the times go into its event file.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from stackwars.core.compilers import INPUT_SETS
from stackwars.core.documents import EVENTS, Events
from stackwars.measure.calls import block
from stackwars.measure.child import opened

VALUES = 40
"""Calls that each harness times in a process."""
ORDER = ("third_party", "ours", "ours", "third_party")


class Prepared(NamedTuple):
    """Both ways to make one fenced call, on the next set of inputs."""

    third_party: Callable[[], None]
    """For the other harness to time."""
    ours: Callable[[], int]
    """A block of one call, as in the process of a cell: its ns."""


def prepared(spec: dict) -> Prepared:
    """Return the specification's workload, already called once with each set of inputs."""
    settings, sizes = spec["settings"], spec["sizes"]
    session, workload, build = opened(spec)
    seed = settings["seed"]
    session.build(build, sizes, seed, workload.input_sets(sizes, seed))
    session.settle()
    sets = itertools.cycle(range(INPUT_SETS))
    outputs: list[Any] = [None] * INPUT_SETS

    def third_party() -> None:
        which = next(sets)
        output = session.call(which)
        session.fence(output)
        outputs[which] = output

    for _ in range(INPUT_SETS):
        third_party()
    return Prepared(third_party, lambda: block(session, 1, next(sets), outputs))


def time_with_pyperf(spec: dict, folder: Path) -> None:
    """Time with pyperf, whose worker is this command again, with pyperf's own arguments behind it."""
    import pyperf

    runner = pyperf.Runner(
        processes=1, values=2 * VALUES, warmups=len(ORDER), loops=1,
        program_args=("-m", __spec__.name, str(folder)),
    )  # fmt: skip
    runner.parse_args(["--quiet", "--copy-env", *sys.argv[2:]])
    ready = cache(lambda: prepared(spec))  # only the worker builds it
    ours: list[int] = []
    call = {"third_party": lambda: ready().third_party(), "ours": lambda: ours.append(ready().ours())}
    order = itertools.cycle(ORDER)
    # pyperf times every call of this; half of them time themselves as well.
    result = runner.bench_func(spec["workload"], lambda: call[next(order)]())
    events = Events(folder / EVENTS)
    if runner.args.worker:
        events.write("ours", ns=ours[-VALUES:])
        return
    timed = zip(itertools.cycle(ORDER), result.get_values(), strict=False)
    ns = [round(1e9 * seconds) for who, seconds in timed if who == "third_party"]
    events.write("third_party", harness=f"pyperf {pyperf.__version__}", ns=ns)
    events.write("end")


def time_with_torch(spec: dict, folder: Path) -> None:
    import torch
    from torch.utils.benchmark import Timer

    ready = prepared(spec)
    timer = Timer("call()", globals={"call": ready.third_party})

    def ours() -> int:
        ready.ours(), ready.ours()  # timeit makes two calls before the one that it times
        return ready.ours()

    call = {"third_party": lambda: round(1e9 * timer.timeit(1).mean), "ours": ours}
    ns = {who: [] for who in call}
    for who in ORDER * (VALUES // 2):
        ns[who].append(call[who]())
    events = Events(folder / EVENTS)
    events.write("ours", ns=ns["ours"])
    events.write("third_party", harness=f"torch.utils.benchmark {torch.__version__}", ns=ns["third_party"])
    events.write("end")
    # The frameworks' own teardown can crash after the work is done.
    os._exit(0)


HARNESSES = {"jax": time_with_pyperf, "torch": time_with_torch}
"""The other harness of each dialect that has one."""


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    spec = json.loads((folder / "spec.json").read_text())
    HARNESSES[spec["dialect"]](spec, folder)
