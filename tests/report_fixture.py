"""Documents for the report's page: a run and a reference with something in every view, and one of many cells."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import explain_fixture
import hlo_pair
import measured
from made_tables import NEW, OLD, accepted, cell, checked, class_times, comparison, program, replay, rounds
from stackwars.core import documents
from stackwars.core.hlo import DISPATCH, ELEMENTWISE, PRODUCTS
from stackwars.explain.answer import Share
from stackwars.measure import workloads
from stackwars.publish.report.gather import answer_rows, gather
from stackwars.publish.report.programs import form, hlo_side, side
from stackwars.study.audits import audit_entries
from stackwars.study.audits.audit_entries import Audits
from stackwars.study.cells import Cell
from stackwars.study.claims import compare
from stackwars.study.config import load
from stackwars.study.results import schema
from stackwars.study.results.dataset import Dataset, Sources, sources
from stackwars.study.results.folder import Folder

HOSTILE = "</script><img src=x onerror=alert(1)> \"quoted\" 'too' \\ {\\tt x} $x_1$ \N{SNOWMAN} \N{PILE OF POO}"
ACCEPTED = "2026-01-01T0000"
IREE = "iree-3.13"
"""A compiler of a study that the run does not measure."""
STEADY_MS = {"steady_ms": 2.0, "steady_low_ms": 1.9, "steady_high_ms": 2.1}


def ratio(quantity: str, value: float, workload: str = "gemm", **columns: object) -> dict:
    return comparison(workload, value, quantity=quantity, **{"compiler": OLD, **columns})


def factors(workload: str) -> list[dict]:
    values = {"native": 3.0, "replay": 2.0, "everything else": 1.5}
    return [ratio(name, value, workload) for name, value in values.items()]


def native_rounds(workload: str, **columns: object) -> list[dict]:
    known = {"workload": workload, "compiler": OLD, "baseline_ms": 2.0, "subject_ms": 6.0}
    return rounds("native", "torch_xla", (3.0, 3.0), **known | columns)


def profiled(framework: str, **columns: object) -> list[dict]:
    """Return the profile of a call of 2 ms: 1.5 of products, 0.4 of elementwise operations, the rest dispatch."""
    ms = {PRODUCTS: 1.5, ELEMENTWISE: 0.4, DISPATCH: 0.1}
    return class_times(framework, ms, **{"profiled_ms": 2.0, "call_ms": 1.9, "operations": 3, **columns})


CLAIM = {
    "id": "gemm_steady_pytorch", "origin": "transferred", "sentence": "It is faster.", "verdict": "contradicted",
    "margin": "0 of 1 for, 1 against (1 needed)", "evidence": "slower in 1",
}  # fmt: skip
CHECKED = checked(total=64, wrong=0, l2=1.5e-7, judge="NumPy in float64")
GAP = {
    "workload": "gemm", "compiler": OLD, "device": "cpu", "subject": "torch_xla", "baseline": "jax",
    "ratio": 1.7, "low": 1.5, "high": 1.9, "verdict": "cause", "closed": 0.84, "closed_low": 0.7, "closed_high": 0.98,
    "what": "argument layout", "count": 12, "reason": "this product uses 1.3 cores",
}  # fmt: skip
RUN = {
    "cells": [
        cell("jax", first_ms=80.0, second_ms=3.0, throughput_ms=1.23456789, peak_rss_bytes=2**30, **STEADY_MS),
        cell("torch_xla", steady_ms=3.0),
        cell("jax", "mha", title=HOSTILE, status="error", status_detail=HOSTILE),
        cell(
            "torch_xla", "ffn", status="wrong", status_detail="96 of 128 elements wrong", struck_ms=1.25,
            parity_rel_l2=0.5, judge="NumPy in float64", wrong_elements=96, largest_error=1.5,
        ),
        cell("jax", device="tpu", status="not run", status_detail="no driver"),
        replay("jax", OLD, steady_ms=4.0, first_ms=5.0, second_ms=4.5),
        replay("jax", NEW, steady_ms=2.0),
        replay("torch_xla", OLD, status="unsupported", status_detail=HOSTILE),
    ],
    "programs": [program("jax", target="cpu", compiler=OLD, fusions=7, compile_s=0.5)],
    "comparisons": [
        comparison("gemm", 1.5, low=1.4, high=1.6, confidence=0.98, detectable=0.07, contended=True),
        comparison("gemm", 0.5, quantity="first", verdict="faster"),
        *factors("gemm"),
        # FFN has no native calls of a replay's rounds in this run: all its steps are of the reference.
        comparison("ffn", 1.05, verdict="inconclusive"),
        ratio("replay", 9.0, "ffn"),
    ],
    "rounds": [*rounds("steady", "torch_xla", (1.45, 1.55)), *native_rounds("gemm"),
               *rounds("replay", "torch_xla", (2.1,), compiler=OLD)],
    "profile": [*profiled("jax"), *profiled("torch_xla", profile_consistent=False)],
    "values": [CHECKED, CHECKED | {"status": "wrong", "status_detail": HOSTILE, "wrong": 12, "variant": "odd1"}],
    # One that is not defined any more is not shown.
    "claims": [CLAIM, {**CLAIM, "id": "of_long_ago"}, {**CLAIM, "id": "gemm_first_pytorch", "verdict": "supported"}],
}  # fmt: skip
REFERENCE = {
    "cells": [
        *(cell(name, steady_ms=ms, run="a") for name, ms in (("jax", 5.0), ("torch_xla", 6.0))),
        cell("jax", "mha", status="oom", run="a"),
        replay("torchax", OLD, steady_ms=2.0, run="a"),
        cell("jax_shard_map", "ffn", mode="sharded", run="a"),
        cell("jax", "scan_rnn", mode="growth", size="steps", value=4, run="a", steady_ms=1.0),
    ],
    "programs": [
        *(
            program(name, target="tpu-v6e", compiler=NEW, verdict="fits", hbm_bytes=mib * 2**20, run="a")
            for name, mib in (("jax", 100), ("torch_xla", 150))
        ),
        program("jax", target="cpu", compiler=NEW, run="a"),
        program("jax", run="a"),
        program("jax", "ffn", target="tpu-v6e", compiler=NEW, variant="tensor4", devices=4, run="a"),
    ],
    "comparisons": [
        comparison("gemm", 2.5, predicted_low=2.0, predicted_high=3.0),
        comparison("gemm", 2.0, quantity="first"),
        ratio("replay", 1.3),
        ratio("replay", 1.2, compiler=IREE),
        ratio("hbm", 1.5, compiler=NEW, device="tpu-v6e", variant="base", verdict="more"),
        ratio("structure", 1.0, compiler="", device=""),
        ratio("collectives", 1.0, "ffn", compiler=""),
        # Every framework stands over both sides, whatever the direction of its ratio.
        comparison("gemm", 0.8, subject="torchax", verdict="faster"),
        comparison("gemm", 2.0, quantity="pairwise", baseline="torchax"),
        *factors("ffn"),
        # MHA has no ratio of the programs, so no steps; its gap in the newer compiler was not searched.
        comparison("mha", 2.5),
        *factors("mha")[::2],
        ratio("replay", 1.7, "mha", compiler=NEW, low=1.6, high=1.8),
    ],
    "rounds": [
        *rounds("steady", "torch_xla", (2.0, 2.0), run="a"),
        # A run that has none of its rounds has one row for all.
        {**rounds("steady", "torch_xla", (1.0,), run="b")[0], "round": None, "rounds": 3},
        *native_rounds("ffn", run="a"),
        *rounds("replay", "torch_xla", (2.0,), workload="ffn", compiler=OLD, run="a"),
    ],
    # The profile of a run whose replay is not shown is not shown either.
    "profile": [*profiled("torchax", run="a"), *profiled("torchax", run="0", call_ms=99.0)],
    "causes": [GAP],
    "effects": [{"subset": "all", "workload": "gemm", "effect": "compiler", "share": 0.75, "factor": 1.6,
                 "largest": "compiler"}],
    "values": [checked("jax"), checked("torchax", "crash")],
    "releases": [{"workload": "gemm", "framework": "torch_xla", "project": "jaxlib", "version": "0.4.33",
                  "status": "ok", "ms": 4.0, "ratio": 2.0, "change": "slower", "change_ratio": 2.13}],
    "claims": [CLAIM, {**CLAIM, "id": "gemm_first_pytorch"}],
}  # fmt: skip
TEXTS = {
    "jax": '%0 = stablehlo.tanh %a : tensor<2xf32> loc("/home/x/mha/in_jax.py":31:8)',
    "torch_xla": "%0 = stablehlo.tanh %a : tensor<2xf32>\n%1 = stablehlo.exponential %0 : tensor<2xf32>",
    "torchax": "%0 = stablehlo.tanh %a : tensor<2xf32>\n%1 = stablehlo.negate %0 : tensor<2xf32>",
}
HLO = {
    # Operations have the names that they have in their profile.
    "jax": hlo_pair.SMALL.replace("%dot", "%dot.3").replace("%add_tanh_fusion", "%fusion"),
    **dict.fromkeys(("torch_xla", "torchax"), hlo_pair.OTHER),
}
PROGRAM = {
    "workload": "gemm",
    "title": "GEMM",
    "frameworks": list(TEXTS),
    "forms": {
        "as emitted": form({name: side(text) for name, text in TEXTS.items()}),
        "optimised": {"compiler": OLD, **form({name: hlo_side(text) for name, text in HLO.items()})},
    },
    "not_optimised": {"numpy": "this run has kept none"},
    "runs": {"torchax": ACCEPTED},
    "left_out": {"numpy": "it is too long"},
}
PROFILE = {
    "jax": {
        "operations": {
            "dot.3": {"class": PRODUCTS, "seconds": 0.0015},
            "fusion": {"class": ELEMENTWISE, "seconds": 0.0004},
        },
        "spans": [["dot.3", 0.0, 0.0009], ["dot.3", 0.0005, 0.0011], ["fusion", 0.0012, 0.0016]],
    },
    "torch_xla": {"operations": {"dot.8": {"class": PRODUCTS, "seconds": 0.0021}}},
}
MEMORY = {"seconds": [0.1, 1.0, 2.5, 3.55, 4.9], "bytes": [mib * 2**20 for mib in (20, 901, 2000, 1500, 1800)]}


def made_sources(folder: Path, run: dict[str, list], reference: dict[str, list], **changes: object) -> Sources:
    """Return a run and the reference with these rows of their tables. changes: of `measured.config`.

    The run measured the studies in `measure`, which are the tables alone by default.
    """
    config, made = measured.config(**changes), {}
    known = {"run": "a", "machine": "a machine", "date_utc": "2026-01-01T00:00:00+00:00"}
    known |= {"studies": list(config.studies), "devices": ["cpu"]}
    facts = {
        "preset": "smoke", "origin": "measured", "git_revision": "0123456789ab",
        "date_utc": "2026-01-02T03:04:05+00:00", "machine": {"cpu_model": "a processor", "cores": 2},
        "sizes": {name: {} for name in config.workloads},
    }  # fmt: skip
    for name, tables in (("run", run), ("reference", reference)):
        titled = {
            key: [{"title": workloads.load(row["workload"]).TITLE, **row} for row in rows]
            if "title" in schema.TABLES[key]
            else rows
            for key, rows in tables.items()
        }
        accepted(folder / name, **titled)
        path = folder / name / "context.json"
        more = {"runs": [known]} if name == "reference" else {}
        path.write_text(json.dumps({**documents.read(path), **facts, **more}), encoding="utf-8")
        made[name] = Dataset(config, folder / name, name == "reference")
    return Sources(**made, measured=list(config.measure))


def write_files(folder: Folder) -> None:
    """Write what a run has beside its tables: raw results, profiles, programs and audits."""
    gemm, mha = Cell("jax", "gemm", "cpu"), Cell("jax", "mha", "cpu")
    timed = {"wait": (0.0, 0.5), "memory": MEMORY, "wall_s": 5.0}
    failed = {"status": ("error", "it ended"), "log_tail": HOSTILE, "memory": MEMORY}
    processes = {
        gemm: [
            measured.process(gemm, 0, 80.0, 3.0, (2.0, 2.1), calls=4, **timed),
            measured.process(gemm, 1, 70.0, 3.0, (2.0, 2.0), calls=4, **timed),
            measured.process(gemm, 2, **failed),
        ],
        mha: [measured.process(mha)],
    }
    files = {
        one.path / "cell.json": {"sizes": {"batch": 2}, "versions": {"jax": "0.7.1"}, "processes": some}
        for one, some in processes.items()
    }
    home = Path("replay", "cpu", OLD, "gemm")
    calls = {"first_ns": [3_000_000], "second_ns": [2_000_000], "steady": [measured.blocks((1.0, 1.5))]}
    files[home / "replay.json"] = {
        **{"device": "cpu", "compiler": OLD, "workload": "gemm", "sizes": {"m": 2}},
        "processes": [{"repetition": 4, "versions": {"jaxlib": "0.7.1"}, "environment": "xla-1"}],
        "programs": {
            "jax": {"status": "ok", "compile_s": [0.25], **calls},
            "torch_xla": {"status": "unsupported"},
        },
    }
    files[home / "profile.json"] = {"programs": PROFILE}
    files[Path("report_programs.json")] = {"programs": [PROGRAM]}
    for path, content in files.items():
        (folder.results / path).parent.mkdir(parents=True, exist_ok=True)
        (folder.results / path).write_text(json.dumps(content), encoding="utf-8")
    audit_entries.write(Audits([audit_entries.entry("fences", "pass", {}, "it did")], "r1"), folder["audits"])


def made_answers(_: Path) -> list[dict]:
    """Return answers of `make explain`: the cause of GEMM's gap, and a fault of no workload."""
    region = replace(explain_fixture.REGION, line_a="program.mlir:7", line_b="workloads/mha.py:62")
    found = replace(explain_fixture.FOUND, regions=[region], closed=Share(0.86, 0.85, 0.87))
    cause, fault = answer_rows(replace(explain_fixture.ANSWER, causes=[found]))
    sentence = "It is the layout of one weight."
    cause |= {"name": "gemm", "title": "GEMM", "workload": "gemm", "sentence": sentence}
    fault |= {
        "name": "shift",
        "title": HOSTILE,
        "workload": "",
        "reduced": "module @part {}",
        "script": HOSTILE,
    }
    return [cause, fault]


@cache
def made_document() -> dict[str, Any]:
    """Return the document of RUN and REFERENCE."""
    with TemporaryDirectory() as folder, patch("stackwars.publish.report.gather.explained", made_answers):
        made = made_sources(Path(folder), RUN, REFERENCE, workloads=["gemm", "ffn", "mha", "scan_rnn"])
        files = Folder(made.run.folder)
        write_files(files)
        documents.write(files["reproduction"], compare.compare(made.run, made.reference))
        return gather(made)


def large(count: int) -> dict[str, Any]:
    """Return the document with so many cells, of 20 frameworks, each with three processes of 20 blocks."""
    small = made_document()
    native, replayed = (
        next(row for row in small["cells"] if row["mode"] == mode) for mode in ("native", "replay")
    )
    details = small["details"]["cpu/jax/gemm"]
    names = [f"framework_{number}" for number in range(20)]
    keys = [(f"workload_{number // 20}", names[number % 20]) for number in range(count)]

    def noise(seed: int, place: int) -> float:
        return (seed * 7919 + place * 104729) % 1000 / 997

    def called(seed: int) -> dict[str, Any]:
        blocks = [round(2 + noise(seed, block), 3) for block in range(20)]
        return {**details["calls"][0], "round": seed % 3, "blocks": blocks, "uncontended": "1" * 20}

    def process(seed: int) -> dict[str, Any]:
        memory = [[at / 10, round(900 + 100 * noise(seed, at))] for at in range(60)]
        return {**details["processes"][0], "repetition": seed % 3, "memory": memory}

    return {
        **small,
        "frameworks": {name: {"title": name, "colour": "#14213d"} for name in names},
        "cells": [
            {**row, "workload": w, "title": w, "framework": f} for row in (native, replayed) for w, f in keys
        ],
        "details": {
            f"cpu/{f}/{w}": {
                **details,
                "processes": [process(3 * place + at) for at in range(3)],
                "calls": [called(3 * place + at) for at in range(3)],
            }
            for place, (w, f) in enumerate(keys)
        },
        "comparisons": [
            {**small["comparisons"][0], "workload": w, "title": w, "subject": f, "baseline": names[0]}
            for w, f in keys
            if f != names[0]
        ],
        **{"replays": {}, "effects": [], "programs": [], "timeline": {**small["timeline"], "calls": []}},
    }


def reference_document(tables: Folder) -> dict[str, Any]:
    """Return the document of the reference with these tables."""
    return gather(sources(load(source="reference"), tables))
