"""The document of a run that measured the tables, beside a reference with every study; snapshots/ has it whole."""

import json
from collections.abc import Iterator

import pytest

from made_tables import NEW, OLD, cell, checked, comparison, program, replay, rounds
from report_fixture import made_sources
from snapshots import assert_snapshot
from stackwars.publish.report import tables
from stackwars.publish.report.gather import against, gather
from stackwars.study.claims.compare import NOT_DECIDED_HERE, NOT_REPRODUCED, REPRODUCED
from stackwars.study.claims.verdicts import NOT_TESTABLE

IREE = "iree-3.13"
"""A compiler of a study that the run does not measure."""
OF_THE_REPOSITORY = (
    "glossary",
    "explained",
    "facts",
    "answers",
    "quantities",
    "audits",
    "mark",
    "reproduction",
)
"""Parts that no table has."""


def ratio(quantity: str, value: float, workload: str = "gemm", **columns: object) -> dict:
    return comparison(workload, value, quantity=quantity, **{"compiler": OLD, **columns})


def native_rounds(workload: str, **columns: object) -> list[dict]:
    known = {"workload": workload, "compiler": OLD, "baseline_ms": 2.0, "subject_ms": 6.0}
    return rounds("native", "torch_xla", (3.0, 3.0), **known | columns)


def factors(workload: str) -> list[dict]:
    return [
        ratio(name, value, workload)
        for name, value in (("native", 3.0), ("replay", 2.0), ("everything else", 1.5))
    ]


CLAIM = {"id": "gemm_steady_pytorch", "origin": "transferred", "sentence": "It is.", "verdict": "contradicted"}
RUN = {
    "cells": [
        cell("jax", steady_ms=1.23456789, peak_rss_bytes=2**30),
        cell("torch_xla", steady_ms=2.0),
        # The study of stacks has no TPU.
        cell("jax", device="tpu"),
        replay("jax", OLD, steady_ms=4.0),
        replay("jax", NEW, steady_ms=2.0),
        replay("torch_xla", OLD, steady_ms=8.0),
    ],
    "programs": [program("jax", target="cpu", compiler=OLD, fusions=7, compile_s=0.5)],
    "comparisons": [
        comparison("gemm", 1.2),
        *factors("gemm"),
        # FFN has no native calls of a replay's rounds in this run: all its steps are of the reference.
        comparison("ffn", 1.05, verdict="inconclusive"),
        ratio("replay", 9.0, "ffn"),
    ],
    "rounds": [*rounds("steady", "torch_xla", (1.0, 1.44)), *native_rounds("gemm")],
    # One that is not defined any more is not shown.
    "claims": [CLAIM, {**CLAIM, "id": "of_long_ago"}],
}
REFERENCE = {
    "cells": [
        *(cell(name, steady_ms=ms, run="a") for name, ms in (("jax", 5.0), ("torch_xla", 6.0))),
        cell("jax_shard_map", "ffn", mode="sharded"),
    ],
    "programs": [
        *(
            program(name, target="tpu-v6e", compiler=NEW, verdict="fits", hbm_bytes=mib * 2**20)
            for name, mib in (("jax", 100), ("torch_xla", 150))
        ),
        program("jax", target="cpu", compiler=NEW),
        program("jax"),
        program("jax", "ffn", target="tpu-v6e", compiler=NEW, variant="tensor4", devices=4),
    ],
    "comparisons": [
        {**comparison("gemm", 1.5), "predicted_low": 1.1, "predicted_high": 2.0},
        ratio("replay", 1.3),
        ratio("replay", 1.2, compiler=IREE),
        ratio("hbm", 1.5, compiler=NEW, device="tpu-v6e", variant="base", verdict="more"),
        ratio("structure", 1.0, compiler="", device=""),
        ratio("collectives", 1.0, "ffn", compiler=""),
        # Every framework stands over both sides, whatever the direction of its ratio.
        comparison("gemm", 0.8, subject="torchax", verdict="faster"),
        comparison("gemm", 2.0, quantity="pairwise", baseline="torchax"),
        *factors("ffn"),
        # MHA has no ratio of the programs, so no steps.
        comparison("mha", 2.5),
        *factors("mha")[::2],
    ],
    "rounds": [
        *rounds("steady", "torch_xla", (2.0, 2.0), run="a"),
        # A run that has none of its rounds has one row for all.
        {**rounds("steady", "torch_xla", (1.0,), run="b")[0], "round": None, "rounds": 3},
        *native_rounds("ffn", run="a"),
    ],
    "values": [checked("jax"), checked("torchax", "crash")],
    "releases": [
        {"workload": "gemm", "framework": "jax", "project": "jaxlib", "version": "0.4.33", "status": "ok",
         "change": "slower"},
    ],
}  # fmt: skip


def outlined(value: object, depth: int, indent: str = "") -> Iterator[str]:
    """Yield a value as JSON, the outer levels with a line for each of their members."""
    for name, one in value.items() if isinstance(value, dict) else enumerate(value):
        if depth > 1 and one and isinstance(one, dict | list):
            yield f"{indent}{name}:"
            yield from outlined(one, depth - 1, f"{indent}  ")
        else:
            yield f"{indent}{name}: {json.dumps(one, ensure_ascii=False)}"


def assert_document(name: str, value: dict, depth: int = 2) -> None:
    assert_snapshot(name, "\n".join(outlined(value, depth)))


def test_document(tmp_path):
    document = gather(made_sources(tmp_path, RUN, REFERENCE, workloads=["gemm", "ffn", "mha"]))
    assert document.keys() >= set(OF_THE_REPOSITORY)
    assert {row["framework"] for row in document["cells"]} <= document["frameworks"].keys()
    why = document.pop("why")
    assert_document("document.txt", {k: v for k, v in document.items() if k not in OF_THE_REPOSITORY})
    assert_document("why.txt", why, 3)


def test_rows_of_the_reference_say_so_in_the_report_of_another_run_alone(tmp_path):
    sources = made_sources(tmp_path, RUN, REFERENCE)
    sources.reference.context["run"] = "2026-01-01"
    document = gather(type(sources)(sources.reference, sources.reference, []))
    assert document["raw_run"] == "2026-01-01"
    assert not any("reference" in row for row in (*document["cells"], *document["comparisons"]))


def test_checks_are_of_this_run_or_else_of_the_reference(tmp_path):
    found = tables.values(made_sources(tmp_path, {"values": [checked("numpy")]}, REFERENCE))
    assert [(row["framework"], row.get("reference")) for row in found] == [("numpy", None)]


@pytest.mark.parametrize("reference", [{}, {"cells": [cell("jax")]}])
def test_without_a_ratio_of_the_two_there_is_no_page(tmp_path, reference):
    document = gather(made_sources(tmp_path, {}, reference))
    assert document["why"] == {} and document["overview"] == []


def test_what_contradicts_the_reference_comes_first_and_what_agrees_is_left_out():
    claims = {
        "x": ("supported", REPRODUCED),
        "y": ("not decided", NOT_DECIDED_HERE),
        "z": ("contradicted", NOT_REPRODUCED),
        "w": (NOT_TESTABLE, NOT_DECIDED_HERE),
    }
    ratios = {"near": (3.1, False), "inside": (2.0, True), "unknown": (2.0, None), "far": (0.1, False)}
    document = {
        "summary": "So it is.",
        "run": {"machine": "a"},
        "reference": {"machines": ["b"]},
        "claims": [
            {"id": name, "reference": "supported", "run": run, "outcome": outcome}
            for name, (run, outcome) in claims.items()
        ],
        "ratios": [
            {"workload": name, "run": run, "predicted": None if inside is None else [1, 3], "inside": inside}
            for name, (run, inside) in ratios.items()
        ],
        "cells": [{"reference": "ok", "run": "ok"}, {"reference": "ok", "run": "oom"}],
    }
    assert_document("against.txt", against(document))
    assert against({"schema": 1, "summary": ""}) is None
    assert against({}) is None
