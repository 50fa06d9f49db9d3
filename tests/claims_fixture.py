"""Claims, and datasets of rows that a test chooses to decide them by."""

from functools import cache
from pathlib import Path
from typing import Any

from made_tables import write_tables
from stackwars.study.claims import definitions
from stackwars.study.claims.definitions import Claim, Claims
from stackwars.study.config import load
from stackwars.study.keys import Config
from stackwars.study.results.dataset import Dataset

CONTEXT = {
    "date_utc": "2026-01-01T00:00:00+00:00",
    "devices": {"cpu": {"present": True}, "tpu": {"present": False, "reason": "no chip"}},
    "machine": {"cpu_model": "A CPU", "cores": 2},
    "peaks": {},
    "sizes": {"mha": {"batch": 2}, "ffn": {"batch": 2}},
}
CLAIM = {"id": "one", "origin": "ours", "sentence": "One.", "tolerance": 0.02}


@cache
def claims() -> Claims:
    """Return the committed claims."""
    return definitions.load()


@cache
def config() -> Config:
    """Return the committed configuration; the run measures every study."""
    return load(measure=list(load().studies))


def claim(query: dict[str, Any], **changes: Any) -> Claim:
    """Return a claim that is decided by this query, about most rows of comparisons.csv by default."""
    row = {**CLAIM, "query": {"table": "comparisons", "quantifier": "most", **query}, **changes}
    return definitions.parse({"claims": [row]}).claims[0]


def write(folder: Path, context: dict[str, Any] | None = None, **tables: list[dict]) -> Path:
    """Write a folder of results with these rows of its tables."""
    return write_tables(folder, {**CONTEXT, **(context or {})}, **tables)


def dataset(folder: Path, is_reference: bool = False, **tables: list[dict]) -> Dataset:
    """Return the dataset of a folder with these rows."""
    return Dataset(config(), write(folder, **tables), is_reference)
