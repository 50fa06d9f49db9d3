"""Hand-made results, and a table of the paper made from them: what a reader sees of each row."""

import re

import made_tables
from made_tables import write_tables
from stackwars.publish.paper.tables.write import REGISTRY, render
from stackwars.study.config import load
from stackwars.study.results import schema
from stackwars.study.results.dataset import Dataset, Sources

NAN = float("nan")
BY_NAME = {table.name: table for table in REGISTRY}
STUDIES = ["tables", "stacks", "matrix", "beyond", "sharding", "successor"]
RUN = {"run": "r1", "machine": "one", "date_utc": "2026-01-01", "studies": STUDIES}
RUN |= {"devices": ["cpu"]}


def sources(folder, **rows: list[dict]) -> Sources:
    """Return a folder with these rows of tables as the only source."""
    write_tables(folder, {"machine": {}, "runs": [RUN, RUN]}, **rows)
    config = load(source="measured")
    data = Dataset(config, folder)
    return Sources(data, data, list(config["studies"]))


def body(text: str) -> list[list[str]]:
    """Return the cells of every row of a tabular below its header, without what aligns numbers."""
    text = re.sub(r"\\hphantom\{[^}]*\}", "", text.split(r"\midrule")[1].split(r"\bottomrule")[0])
    text = re.sub(r"\\(llap|rlap)\{([^}]*)\}", r"\2", text)
    text = re.sub(r"\\makebox\[1\.1em\]\{([^{}]*)\}", r" \1 ", text)
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    return [[cell.strip() for cell in line.removesuffix(r"\\").split(" & ")] for line in lines]


def shown(folder, table: str, **rows: list[dict]) -> list[list[str]]:
    return body(render(BY_NAME[table], sources(folder, **rows)))


def cell(framework: str, workload: str = "gemm", **columns: object) -> dict:
    times = {
        f"{stage}{end}": 10.0 * n + by
        for n, stage in enumerate(schema.STAGES, 1)
        for end, by in (("_ms", 0), ("_min_ms", -1), ("_max_ms", 1))
    }
    title = {"gemm": "GEMM", "resnet50": "ResNet-50", "llama3_8b": "LLaMA-3.1 8B"}[workload]
    number = {"gemm": "I", "resnet50": "II", "llama3_8b": "III"}[workload]
    known = {"title": title, "table": number, "gated": True, "items_per_s": 250.0}
    return made_tables.cell(framework, workload) | known | times | columns


def compared(quantity: str, ratio: float = 1.5, **columns: object) -> dict:
    known = {"title": "GEMM", "interleaved": True, "low": 0.9 * ratio, "high": 1.1 * ratio}
    known |= {"verdict": "slower" if ratio > 1.1 else "inconclusive"}
    return made_tables.comparison(
        **{"workload": "gemm", "ratio": ratio, "quantity": quantity} | known | columns
    )


def program(framework: str, level: str = "normalised", **columns: object) -> dict:
    return made_tables.program(
        framework, **{"workload": "resnet50", "title": "ResNet-50", "level": level} | columns
    )


def compiled(framework: str, **columns: object) -> dict:
    target = {"target": "tpu-v6e", "compiler": "jaxlib-0.10.2", "batch": 2, "verdict": "fits"}
    return program(framework, "optimised", **{**target, "hbm_bytes": 2**30, "usable_bytes": 2**35, **columns})
