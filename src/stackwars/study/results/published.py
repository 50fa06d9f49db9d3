"""Published numbers: the original's tables, and the times of a lecture."""

from __future__ import annotations

import pandas as pd

from stackwars.core.launch import REPOSITORY
from stackwars.measure.frameworks import program_of
from stackwars.setup.device import CPU
from stackwars.study.results import schema
from stackwars.study.results.verdicts import agreement

PUBLISHED = REPOSITORY / "paper" / "published" / "tables.csv"
"""The numbers of the original paper."""
LECTURE = PUBLISHED.with_name("lecture.csv")
"""The numbers of the lecture that some workloads are from."""
COLUMNS = {schema.FIRST: "first_run_ms", schema.SECOND: "second_run_ms", schema.STEADY: "steady_state_ms"}
FAULTS = PUBLISHED.with_name("faults.csv")
"""Known faults of compilers, as the modules of tests/explain/public state them."""
DONE = "done"


def read_published() -> pd.DataFrame:
    """Return the original paper's Tables I-III (ms), one row per workload and framework."""
    return pd.read_csv(PUBLISHED)


def read_lecture() -> pd.DataFrame:
    """Return the lecture's times: one row for each workload, framework and `what`.

    what: whether the time is until the call returned, or until the device was done. ms is the mean time of a call;
    plus_minus_ms the standard deviation between 7 means (PyTorch's two_matmuls: 5), each of 1 to 10,000 calls.

    They are the outputs of the notebook "Lecture 09: PyTorch and JAX", which does not name its device: the kernels
    that it prints are for compute capability 8.0 and 108 multiprocessors, those of an A100. In mlp_postnorm, PyTorch
    is allowed TensorFloat-32; everything else is at its framework's default precision. All elements of
    elementwise_chain are 1, and mlp_postnorm has 256 sequences of 1024 positions.
    """
    return pd.read_csv(LECTURE)


def read_faults() -> pd.DataFrame:
    """Return the programs with known faults: a row for each compiler and outcome, with the programs that have it."""
    return pd.read_csv(FAULTS)


def status(workload: str, framework: str, original: pd.DataFrame) -> str:
    """Return the outcome of a program in the original; empty if it has none. original: its tables."""
    rows = original[(original["workload"] == workload) & (original["framework"] == framework)]
    return str(rows["status"].iloc[0]) if len(rows) else ""


def compared(table: pd.DataFrame) -> pd.DataFrame:
    """Return comparisons.csv with the published ratios and, for steady states, whether ours agree in direction.

    A variant is compared with the published numbers of the framework that it varies; only that framework's own
    direction is judged.
    """
    original, lecture = read_published(), read_lecture()
    compared_table = table.copy()
    times = original[original["status"] == "ok"].set_index(["workload", "framework"])
    done = lecture[lecture["what"] == DONE].set_index(["workload", "framework"])["ms"].to_dict()
    stages = {stage: times[column].to_dict() for stage, column in COLUMNS.items()}
    for index, row in table[table["device"] == CPU].iterrows():
        quantity, workload = row["quantity"], row["workload"]
        known = stages.get(quantity, {})
        if quantity in (schema.STEADY, schema.PAIRWISE) and any(name == workload for name, _ in done):
            known = done
        sides = [(workload, program_of(side)) for side in (row["subject"], row["baseline"])]
        if not set(sides) <= known.keys():
            continue
        ratio = known[sides[0]] / known[sides[1]]
        compared_table.loc[index, "published_ratio"] = ratio
        is_itself = program_of(row["subject"]) == row["subject"]
        if is_itself and quantity in (schema.STEADY, schema.PAIRWISE):
            compared_table.loc[index, "agreement"] = agreement(ratio, row["verdict"])
    return compared_table
