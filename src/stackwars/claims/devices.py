"""Findings of devices beside the CPU, for claims that are about one: ``<device>:steady/...``.

The findings of the paper are those of the CPU. The same rules read the same columns of another
device's cells here, where there are any.
"""

from __future__ import annotations

import pandas

from stackwars.findings import latency
from stackwars.results.verdicts import Finding
from stackwars.setup.device import CPU, CPUS


def device_findings(frame: pandas.DataFrame, ratios: pandas.DataFrame) -> list[Finding]:
    """Ratios of the first run and of the steady state, and stabilising, of every device
    beside the CPU that ran a cell; the part before the id's colon is the device.
    """
    ran = frame[~frame.device.isin(CPUS) & (frame.status != "not run")]
    found = []
    for device in ran.device.drop_duplicates():
        cells = frame[frame.device == device].assign(device=CPU)
        pairs = ratios[ratios.device == device].assign(device=CPU)
        for one in (
            *latency.ratio_findings("steady", cells, pairs),
            *latency.ratio_findings("first", cells, pairs),
            *latency.stabilising_findings(cells),
        ):
            found.append(one | {"id": f"{device}:{one['id']}"})
    return found
