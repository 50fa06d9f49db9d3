"""The runs that the reference is made of, a folder each: results/reference/runs/<when the run ended>.

A run is kept as its tables and context.json. Runs of another version of the measuring protocol are not read:
their numbers cannot be combined with these.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from stackwars.measure import PROTOCOL, documents
from stackwars.setup.device import CPU

FOLDER = "runs"


@dataclass(frozen=True)
class Run:
    """An accepted run: its name, its folder and the kind of machine that it was made on."""

    identity: str
    folder: Path
    machine: str

    def table(self, name: str) -> pd.DataFrame:
        """One of its tables, `ratios.csv` for instance."""
        return pd.read_csv(self.folder / name)


def read(reference: Path) -> list[Run]:
    """The runs of a reference of this version of the protocol, the oldest first."""
    folders = sorted(path.parent for path in (reference / FOLDER).glob("*/context.json"))
    found = [(folder, documents.read(folder / "context.json")) for folder in folders]
    return [Run(f.name, f, kind(c)) for f, c in found if c.get("protocol") == PROTOCOL]


def whole(found: list[Run]) -> list[Run]:
    """Those that are not of some workloads alone: with all of the oldest run's, whose grid was the smallest.

    A claim about every workload means less where a run has few of them.
    """
    have = {run.identity: set(run.table("frame.csv").workload) for run in found}
    return [run for run in found if have[run.identity] >= have[found[0].identity]]


def kind(context: dict) -> str:
    """The kind of machine of a run: processor, cores and last-level cache, as its context.json has them.

    The name of the processor alone is not enough where a host hides it.
    """
    machine = context.get("machine", {})
    cache = (context.get("peaks") or {}).get(CPU, context.get("peak") or {}).get("last_cache_bytes")
    megabytes = f"{cache / 1e6:.0f} MB of cache" if cache else "unknown cache"
    return f"{machine.get('cpu_model', 'unknown processor')}, {machine.get('cores', '?')} cores, {megabytes}"


def identity(context: dict) -> str:
    """The name of a run: when its last process or compilation started, to the minute, in UTC."""
    return context["date_utc"][:16].replace(":", "")
