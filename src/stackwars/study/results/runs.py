"""The accepted runs, a folder each: results/reference/runs/<when the run ended>.

A run has its tables, context.json and a manifest of their digests. A run of another version of the
measuring protocol is not read: times of two are not comparable.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stackwars.core import documents
from stackwars.measure import PROTOCOL
from stackwars.setup.device import CPU, CPUS
from stackwars.study.results import schema
from stackwars.study.results.folder import REFERENCE
from stackwars.study.results.schema import Tables

FOLDER = "runs"
MANIFEST = "manifest.json"
OF_A_RUN = (*(f"{name}.csv" for name in schema.TABLES), "context.json")
"""Files of an accepted run."""
CONFIRMATION = "confirmation.json"
"""Results of an accepted run about the reference that was committed before it; older runs have no such file."""
_NO_FILE = "no file"
_PROCESSOR = {
    "cpu_family": "family",
    "cpu_model_number": "model",
    "cpu_stepping": "stepping",
    "cpu_flags_digest": "flags",
}
"""Facts of a processor in a machine's record, without its name."""


class DamagedRunError(ValueError):
    """A file of an accepted run is not the one that was accepted."""


@dataclass(frozen=True)
class Run(Tables):
    """An accepted run: its name, its folder, the kind of machine that it was made on."""

    identity: str
    folder: Path
    machine: str


def read(reference: Path = REFERENCE) -> list[Run]:
    """Return the runs of a reference, the oldest first.

    :raises DamagedRunError: if a file differs from the manifest of its run.
    """
    result = []
    for folder in sorted(path for path in (reference / FOLDER).glob("*") if path.is_dir()):
        check(folder)
        context = documents.read(folder / "context.json")
        if context["protocol"] == PROTOCOL:
            result.append(Run(folder.name, folder, kind(context)))
    return result


def check(folder: Path) -> None:
    """Refuse a run with a damaged manifest, or with a file that is not the one of its manifest.

    :raises DamagedRunError: naming the file.
    """
    manifest = folder / MANIFEST
    expected = {CONFIRMATION: _NO_FILE}
    with suppress(FileNotFoundError, TypeError, ValueError):  # it is missing, or something else
        expected |= documents.read(manifest)
    for name in (*OF_A_RUN, CONFIRMATION):
        if name not in expected:
            raise DamagedRunError(
                f"{manifest}: expected the digest of every file of the run, got none of {name}; "
                f"fix: git checkout {folder}"
            )
        result = digest(folder / name)
        if result != expected[name]:
            raise DamagedRunError(
                f"{folder / name}: expected the accepted file with the digest {expected[name]}, got {result}; "
                f"fix: git checkout {folder}"
            )


def files(folder: Path) -> list[Path]:
    result = [folder / name for name in (*OF_A_RUN, MANIFEST)]
    return [*result, folder / CONFIRMATION] if (folder / CONFIRMATION).exists() else result


def write_manifest(folder: Path) -> None:
    digests = {name: digest(folder / name) for name in (*OF_A_RUN, CONFIRMATION)}
    (folder / MANIFEST).write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file; "no file" if there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else _NO_FILE


def kind(context: dict) -> str:
    """Return the kind of machine of a run, from its context.json: processor, cores, cache, peak, accelerators.

    Hosts hide their processor, so two that run at different speeds are two kinds: a class of peaks is a
    factor of the square root of 2 wide. A context does not have what its machine did not report.
    """
    machine, peak = context.get("machine", {}), context.get("peaks", {}).get(CPU, {})
    numbers = [
        f"{title} {machine[name]}" for name, title in _PROCESSOR.items() if machine.get(name) is not None
    ]
    cache, rate = peak.get("last_cache_bytes"), peak.get("gflop_per_s")
    parts = [machine.get("cpu_model", "unknown processor"), *numbers, f"{machine.get('cores', '?')} cores"]
    parts.append(f"{cache / 1e6:.0f} MB of cache" if cache else "unknown cache")
    if rate:
        half_octave = math.floor(2 * math.log2(rate))
        low, high = (2 ** (end / 2) for end in (half_octave, half_octave + 1))
        parts.append(f"{low:.0f} to {high:.0f} GFLOP/s")
    others = (peak.get("device_kind") for name, peak in context.get("peaks", {}).items() if name not in CPUS)
    return ", ".join([*parts, *filter(None, others)])


def by_speed(kinds: Iterable[str]) -> list[str]:
    """Return kinds of machine from the one with the highest rate of products to the lowest."""
    rates = {kind: re.search(r"(\d+) to \d+ GFLOP/s", kind) for kind in kinds}
    return sorted(rates, key=lambda kind: (-int(rates[kind][1]) if rates[kind] else 0, kind))


def short_names(kinds: Iterable[str]) -> dict[str, str]:
    """Return kinds of machine by their class of peaks; if two have one, all with their processor, or else in full."""
    ends = {kind: (kind.partition(", ")[0], kind.rpartition(", ")[2]) for kind in kinds}
    if len({rate for _, rate in ends.values()}) == len(ends):
        return {kind: rate for kind, (_, rate) in ends.items()}
    names = list(ends.values())
    return {kind: ", ".join(both) if names.count(both) == 1 else kind for kind, both in ends.items()}


def identity(context: dict) -> str:
    """Return the name of a run: when its last process or compilation started, to the minute, in UTC."""
    return context["date_utc"][:16].replace(":", "")
