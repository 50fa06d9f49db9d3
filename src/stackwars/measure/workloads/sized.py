"""A workload at other sizes than a preset's: `mha@b8s512` is `mha` with batch 8 and sequence 512.

Behind the @ stands a batch, perhaps with a sequence, or a label whose sizes the preset gives.
"""

import copy
import re

from stackwars.measure.workloads.base import Sizes, Workload

AT = "@"
_BATCH = re.compile(r"b(\d+)(?:s(\d+))?")


def base(name: str) -> str:
    """Return the name of the workload without its sizes."""
    return name.partition(AT)[0]


def resized(given: Sizes, label: str) -> dict[str, int] | None:
    """Return sizes with the batch of a label, and with its sequence if it has one; None for another label."""
    if not (match := _BATCH.fullmatch(label)):
        return None
    batch, sequence = match.groups()
    return {**given, "batch": int(batch)} | ({"sequence": int(sequence)} if sequence else {})


def titled(workload: Workload, label: str) -> Workload:
    """Return a workload whose title says at which sizes it is."""
    result = copy.copy(workload)
    sizes = resized({}, label) or {label: ""}
    result.TITLE = f"{workload.TITLE} ({', '.join(f'{name} {value}'.strip() for name, value in sizes.items())})"
    return result
