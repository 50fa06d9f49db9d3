"""Rows of a run's tables as the paper shows them, and a folder with such rows as the only source."""

import made_tables
from stackwars.measure import workloads
from stackwars.publish.paper.tables.write import REGISTRY
from stackwars.study.config import load
from stackwars.study.results import schema
from stackwars.study.results.dataset import Dataset, Sources

NAN = float("nan")
BY_NAME = {table.name: table for table in REGISTRY}
STUDIES = ["tables", "stacks", "matrix", "beyond", "sharding", "successor"]
RUN = {"run": "r1", "machine": "one", "date_utc": "2026-01-01", "studies": STUDIES, "devices": ["cpu"]}
TABLE_OF = {"resnet50": "II", "bert_base": "II", "gpt2_small": "II", "llama3_8b": "III"}


def sources(folder, **rows: list[dict]) -> Sources:
    """Return a folder with these rows of tables as the only source."""
    made_tables.write_tables(folder, {"machine": {}, "runs": [RUN, RUN]}, **rows)
    config = load(source="measured")
    data = Dataset(config, folder)
    return Sources(data, data, list(config.studies))


def titled(row: dict) -> dict:
    return {"title": workloads.load(row["workload"]).TITLE} | row


def cell(framework: str, workload: str = "gemm", **columns: object) -> dict:
    """Return a cell of 10, 20 and 30 ms in its three stages."""
    times = {
        f"{stage}{end}": 10.0 * n + by
        for n, stage in enumerate(schema.STAGES, 1)
        for end, by in (("_ms", 0), ("_min_ms", -1), ("_max_ms", 1))
    }
    known = {"table": TABLE_OF.get(workload, "I"), "gated": True, "items_per_s": 250.0}
    return titled(made_tables.cell(framework, workload)) | known | times | columns


def compared(quantity: str, ratio: float = 1.5, workload: str = "gemm", **columns: object) -> dict:
    known = {"interleaved": True, "low": 0.9 * ratio, "high": 1.1 * ratio}
    known |= {"verdict": "slower" if ratio > 1.1 else "inconclusive", "quantity": quantity}
    row = made_tables.comparison(**{"workload": workload, "ratio": ratio} | known | columns)
    return titled(row)


def program(framework: str, workload: str = "resnet50", **columns: object) -> dict:
    return titled(made_tables.program(framework, workload, **columns))


def compiled(framework: str, workload: str = "resnet50", **columns: object) -> dict:
    """Return a program that needs 1 GiB of a TPU v6e's memory."""
    known = {"target": "tpu-v6e", "compiler": "jaxlib-0.10.2", "batch": 2, "verdict": "fits"}
    return program(framework, workload, **{**known, "hbm_bytes": 2**30, "usable_bytes": 2**35, **columns})
