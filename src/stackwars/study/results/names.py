"""Names of compilers, targets and programs: their order, and how a reader sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd

from stackwars.study.results.schema import is_missing

TARGET = "tpu-v6e"
"""The device of the original."""
_WITHOUT = "-no-"  # in the name of a compiler, before what is left out


def by_age(names: Iterable[str]) -> list[str]:
    return sorted(dict.fromkeys(names), key=lambda name: [int(n) for n in re.findall(r"\d+", name)])


def of_newest_compiler(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the newest of their compilers."""
    return rows[rows["compiler"].isin(by_age(rows["compiler"])[-1:])]


def base_compiler(compiler: str) -> str:
    """Return the compiler without what is left out: ``jaxlib-0.10.2`` for ``jaxlib-0.10.2-no-ynn``."""
    return compiler.partition(_WITHOUT)[0]


def compiler_title(compiler: str) -> str:
    """Return ``jaxlib 0.10.2 without YNN`` for ``jaxlib-0.10.2-no-ynn``, ``IREE 3.13`` for ``iree-3.13``."""
    name, _, version = compiler.partition("-")
    version, _, without = version.partition(_WITHOUT)
    name = name if name == "jaxlib" else name.upper()
    return f"{name} {version}" + (f" without {without.upper()}" if without else "")


def variant_title(row: pd.Series) -> str:
    """Return ``2``, or ``8x512`` with a multiplication sign if the program has a sequence."""
    if is_missing(row["batch"]):
        return "not recorded"
    batch = f"{row['batch']:.0f}"
    return batch if is_missing(row["sequence"]) else f"{batch}\u00d7{row['sequence']:.0f}"
