"""Documents for the report's page, made up: a small one with something in every view, and one of many cells."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import explain_fixture
import hlo_pair
import measured
from made_tables import accepted, cell, checked, comparison, program, replay
from stackwars.core import documents
from stackwars.core.hlo import CLASSES, DISPATCH, ELEMENTWISE, PRODUCTS
from stackwars.explain.answer import Share
from stackwars.publish.report.align import form, hlo_side, side
from stackwars.publish.report.gather import answer_rows, gather
from stackwars.publish.report.raw import POINTS
from stackwars.study.config import load
from stackwars.study.results.dataset import Dataset, Sources, sources
from stackwars.study.results.folder import Folder

HOSTILE = "</script><img src=x onerror=alert(1)> \"quoted\" 'too' \\ {\\tt x} $x_1$ \N{SNOWMAN} \N{PILE OF POO}"
RUN = "2026-01-01T0000"
STEADY_MS = {"steady_ms": 2.0, "steady_low_ms": 1.9, "steady_high_ms": 2.1}
CELL = cell(
    "jax", "mha", study="tables", title="MHA", first_ms=80.0, second_ms=3.0, throughput_ms=1.25, **STEADY_MS
)
FAILED = {**CELL, "title": HOSTILE, "status": "error", "status_detail": HOSTILE, "workload": "gemm"}
ABSENT = {**CELL, "device": "tpu", "status": "not run", "status_detail": "no driver"}
ELSEWHERE = {**CELL, "study": "stacks", "run": RUN, "steady_ms": 7.0, "reference": True}
GROWN = {**CELL, "study": "stacks", "mode": "growth", "size": "layers", "value": 4, "run": RUN}
REPLAYED = replay("jax", "an XLA", "mha", study="tables", title="MHA", rounds=2, fusions=7, **STEADY_MS)
REPLAYED |= {"over_best": 1.0, "compile_s": 0.5}
WRONG = {**CELL, "framework": "torchax", "status": "wrong", "status_detail": "96 of 128 elements wrong"}
WRONG |= {
    "struck_ms": 1.25,
    "parity_rel_l2": 0.5,
    "judge": "NumPy in float64",
    "wrong_elements": 96,
    "largest_error": 1.5,
}
WRONG = {key: value for key, value in WRONG.items() if "ms" not in key or key == "struck_ms"}
REFUSED = {**REPLAYED, "framework": "torch_xla", "status": "unsupported", "status_detail": HOSTILE}
REFUSED = {key: value for key, value in REFUSED.items() if "ms" not in key and key != "over_best"}
RATIO = comparison("mha", 1.5, studies=["tables"], title="MHA", runs=2, low=1.4, high=1.6)
RATIO |= {"confidence": 0.98, "detectable": 0.07, "contended": True, "each": [["", 0, 1.45], ["", 1, 1.55]]}
OPEN = {**RATIO, "workload": "gemm", "title": "GEMM", "verdict": "inconclusive", "each": []}
REPLAY_RATIO = comparison("mha", 1.25, quantity="replay", compiler="an XLA", rounds=1, low=1.2, high=1.3)
REPLAY_RATIO |= {"studies": ["tables"], "title": "MHA", "each": [["", 0, 1.25]]}
COMPILED = program("jax", "mha", study="tables", title="MHA", target="a TPU", compiler="an XLA")
COMPILED |= {"verdict": "fits", "hbm_bytes": 3 * 2**20}
CHECKED = checked(workload="mha", title="MHA", compiler="an-xla", sizes="batch=2", total=64, wrong=0, l2=1.5e-7)
CHECKED |= {"judge": "NumPy in float64"}
MISCOMPILED = CHECKED | {"status": "wrong", "status_detail": HOSTILE, "wrong": 12}
MISCOMPILED |= {"variant": "odd1", "sizes": "batch=3"}
EFFECT = {
    **{"subset": "all", "workload": "mha", "effect": "compiler", "share": 0.75, "factor": 1.6},
    "largest": "compiler",
}
RAN = {
    **{"repetition": 0, "status": "ok", "wall_s": 5.0, "peak_rss_bytes": 2**31, "log": ""},
    "memory": [[0.1, 20], [1.0, 901], [2.5, 2000], [4.9, 1500]],
    "phases": [["import", 0.2, 1.0], ["build", 1.0, 2.0], ["first call", 2.0, 2.4], ["steady", 2.5, 4.0]],
}  # fmt: skip
DIED = {**RAN, "repetition": 1, "status": "error", "log": HOSTILE, "phases": [["import", 0.2, 4.0]]}
DETAILS = {
    **{"sizes": {"batch": 2}, "versions": {"jax": "0.7.1"}},
    "processes": [RAN, DIED],
    "calls": [
        {"round": 0, "first": 80.0, "second": 3.0, "calls": 4, "blocks": [2.0, 2.1], "uncontended": "10"},
        {"round": 1, "first": 70.0, "second": 3.0, "calls": 4, "blocks": [2.0], "uncontended": "1"},
    ],
}
OLD_DETAILS = {**DETAILS, "processes": [{**RAN, "memory": None, "log": None, "phases": []}], "calls": []}
TEXTS = (
    '%0 = stablehlo.tanh %a : tensor<2xf32> loc("/home/x/mha/in_jax.py":31:8)',
    "%0 = stablehlo.tanh %a : tensor<2xf32>\n%1 = stablehlo.exponential %0 : tensor<2xf32>",
)
# The operations of the first have the names that they have in its profile.
_SMALL = hlo_pair.SMALL.replace("%dot", "%dot.3").replace("%add_tanh_fusion", "%fusion")
OPTIMISED = {"compiler": "an-xla", **form({"jax": hlo_side(_SMALL), "torch_xla": hlo_side(hlo_pair.OTHER)})}
THIRD = "%0 = stablehlo.tanh %a : tensor<2xf32>\n%1 = stablehlo.negate %0 : tensor<2xf32>"
EMITTED = form({"jax": side(TEXTS[0]), "torch_xla": side(TEXTS[1]), "torchax": side(THIRD)})
CLAIM = {
    **{"id": "x", "origin": "ours", "sentence": "It holds.", "verdict": "supported", "evidence": "1 of 1"},
    **{"margin": "1 of 1, needs 1", "table": "comparisons", "study": "tables"},
}
VOTE = {
    **{"vote": "for", "word": "slower", "title": "MHA", "number": "1.5", "quantity": "steady"},
    **{"workload": "mha", "subject": "torch_xla", "baseline": "jax", "device": "cpu"},
}


def call(framework: str, profile: dict | None) -> dict[str, Any]:
    """A profiled call of 2 ms: 1.5 of products, 0.4 of elementwise operations, the rest dispatch."""
    ms = {**dict.fromkeys(CLASSES, 0.0), PRODUCTS: 1.5, ELEMENTWISE: 0.4, DISPATCH: 0.1}
    return {
        **{"study": "tables", "workload": "mha", "title": "MHA", "compiler": "an-xla", "device": "cpu"},
        **{"run": "", "framework": framework, "profiled_ms": 2.0, "call_ms": 1.9},
        "profile_consistent": True,
        **{f"{name}_ms": one for name, one in ms.items()} | {f"{name}_operations": 3 for name in ms},
        "profile": profile,
    }


PROFILE = {
    "operations": [["dot.3", PRODUCTS, 1.5], ["fusion", ELEMENTWISE, 0.4]],
    "spans": [[0, 0.0, 0.9], [0, 0.5, 0.6], [1, 1.2, 0.4]],
}
GAP = {
    **{"workload": "mha", "title": "MHA", "compiler": "an XLA", "device": "cpu"},
    **{"subject": "torch_xla", "baseline": "jax", "ratio": 1.7, "low": 1.5, "high": 1.9},
}
CAUSE = {
    **{**GAP, "workload": "gemm", "title": "GEMM", "verdict": "cause", "closed": 0.84, "closed_low": 0.7},
    **{"closed_high": 0.98, "what": "argument layout", "count": 12, "reason": "this product uses 1.3 cores"},
}
STEADY = {"ratio": 1.5, "low": 1.4, "high": 1.6, "verdict": "slower"}
REPLAYED_PAIR = {**STEADY, "ratio": 1.25, "compiler": "an XLA", "subject": "torch_xla", "baseline": "jax"}
WHY = {
    "title": "MHA", "not_optimised": "",
    "sentences": ["torch_xla is slower than JAX: 1.50.", "The program does more of that. \N{DAGGER}"],
    "native": {**STEADY, "rounds": 3},
    "waterfall": {
        "compiler": "an XLA", "run": "",
        "steps": [
            {"name": "baseline", "from": 0, "to": 2.0},
            {"name": "program", "from": 2.0, "to": 2.5, **STEADY, "ratio": 1.25},
            {"name": "everything else", "from": 2.5, "to": 3.0, **STEADY, "ratio": 1.2},
            {"name": "subject", "from": 0, "to": 3.0, **STEADY},
        ],
    },
    "compilers": [REPLAYED_PAIR, {**REPLAYED_PAIR, "compiler": "another", "reference": True}],
    "classes": [{
        "compiler": "an-xla", "run": "", "consistent": False,
        "rows": [
            {"class": PRODUCTS, "baseline_ms": 1.5, "subject_ms": 2.1, "difference_ms": 0.6},
            {"class": ELEMENTWISE, "baseline_ms": 0.4, "subject_ms": 0.3, "difference_ms": -0.1},
        ],
    }],
    "operations": {
        "compiler": "an-xla", "matched": True,
        "rows": [
            {
                "baseline": {"operation": "dot.3: dot f32[2,2]", "class": PRODUCTS, "ms": 1.5,
                             "source": "mha/in_jax.py:31"},
                "subject": {"operation": "dot.8: dot f32[2,2]", "class": PRODUCTS, "ms": 2.1, "source": None},
            },
            {
                "baseline": None,
                "subject": {"operation": "fusion", "class": ELEMENTWISE, "ms": 0.3, "source": None},
            },
        ],
    },
    "runs": {
        "rows": [
            {"run": "this run", "ratio": 1.5, "each": [["", 0, 1.45], ["", 1, 1.55]], "machine": ""},
            {"run": RUN, "ratio": 1.7, "each": [[RUN, None, 1.7]], "machine": "a machine", "reference": True},
        ],
        "predicted": [1.2, 1.9],
    },
    "frameworks": [
        {"framework": "torch_xla", "over_baseline": STEADY},
        {"framework": "torchax", "over_subject": {**STEADY, "ratio": 0.7, "verdict": "faster", "reference": True}},
    ],
    "memory": [{**COMPILED, "study": "tables"}],
    "fits": ["On a TPU (an XLA): JAX: fits and needs 3.00 MiB."],
    "times": [
        {"what": "own calls", "study": "tables", "compiler": "", "baseline_ms": 2.0, "subject_ms": 3.0, "run": ""},
        {"what": "own calls", "study": "stacks", "compiler": "", "baseline_ms": 7.0, "run": RUN, "reference": True},
    ],
    "commands": [["Measure both", ".venv/bin/snakemake --cores 1 results/full/cpu/jax/mha/cell.json"]],
}  # fmt: skip
RELEASED = {
    **{"workload": "mha", "title": "MHA", "framework": "torch_xla", "project": "jaxlib", "version": "0.4.33"},
    **{"status": "ok", "ms": 4.0, "ratio": 2.0, "change": "slower", "change_ratio": 2.13, "previous": "0.4.31"},
}
_REGION = replace(explain_fixture.REGION, line_a="program.mlir:7", line_b="workloads/mha.py:62")
_FOUND = replace(explain_fixture.FOUND, regions=[_REGION], closed=Share(0.86, 0.85, 0.87))
ANSWER, FAULT = answer_rows(replace(explain_fixture.ANSWER, causes=[_FOUND]))
ANSWER |= {"title": "MHA", "sentence": "It is the layout of one weight."}
FAULT |= {"name": "shift", "title": HOSTILE, "workload": "", "reduced": "module @part {}", "script": HOSTILE}
AGAINST = {
    "summary": "Of 3 claims 2 are reproduced.", "machines": ["this one", ["a machine"]], "untested": 1,
    "counts": [3, 2, 4],
    "claims": [{"id": "x", "sentence": "It holds.", "reference": "contradicted", "run": "supported",
                "outcome": "not reproduced"}],
    "ratios": [{"workload": "mha", "quantity": "steady", "subject": "torch_xla", "baseline": "jax", "device": "cpu",
                "run": 1.5, "reference": 2.5, "predicted": [2.0, 3.0], "inside": False}],
    "cells": [{"workload": "mha", "framework": "jax", "device": "cpu", "reference": "oom", "run": "ok"}],
}  # fmt: skip
DOCUMENT: dict[str, Any] = {
    "name": "full of 2026-01-02 03:04",
    **{"mark": "\N{DAGGER}", "pair": {"subject": "torch_xla", "baseline": "jax"}, "why": {"mha": WHY}},
    **{"has": {"causes": ["gemm", "mha"], "releases": ["mha"], "explained": ["mha"]}},
    **{"releases": [RELEASED], "against": AGAINST},
    "explained": [ANSWER, FAULT],
    "overview": [
        {
            **{"workload": "mha", "title": "MHA", "native": STEADY, "cause": True},
            "compilers": {"an XLA": STEADY, "another": {**STEADY, "reference": True}},
        }
    ],
    "meta": {"machine": {"cpu_model": "a processor", "cores": 2}, "preset": "full", "origin": "measured"},
    "frameworks": {
        "jax": {"title": "JAX", "colour": "#14213d"},
        "torchax": {"title": "torchax", "colour": "#1f78b4"},
        "torch_xla": {"title": "torch_xla", "colour": "#c4571b"},
    },
    "studies": {
        "tables": {"origin": "Measured in this run.", "folder": "results/full", "option": "", "compiled": 1},
        "stacks": {"origin": "From the reference.", "folder": "results/full-stacks", "compiled": 0, "reference": True,
                   "option": "--config 'measure=[stacks]' "},
    },
    "raw_run": "",
    "cells": [CELL, FAILED, WRONG, ABSENT, REPLAYED, REFUSED, ELSEWHERE, GROWN],
    "details": {"cpu/jax/mha": DETAILS, "cpu/jax/gemm": OLD_DETAILS},
    "comparisons": [RATIO, OPEN, REPLAY_RATIO],
    "quantities": {"steady": "steady state over the baseline's", "replay": "program over the baseline's"},
    "causes": [CAUSE, GAP],
    "effects": [EFFECT],
    "compiled": [COMPILED],
    "values": [MISCOMPILED, CHECKED],
    "glossary": {"steady state": "the calls whose times no longer change"},
    "reproduction": "Of 3 claims 2 are reproduced.",
    "answers": ["x"],
    "facts": {"fusions": "fusions in the optimised program"},
    "replays": {
        "cpu/an XLA/jax/mha": {
            **{"calls": DETAILS["calls"], "compile_s": [0.51, 0.52], "environment": "xla-1"},
            **{"sizes": {"batch": 2}, "versions": {"jaxlib": "0.7.1"}},
        }
    },
    "programs": [
        {
            **{"workload": "mha", "title": "MHA", "frameworks": ["jax", "torch_xla", "torchax"]},
            "forms": {"as emitted": EMITTED, "optimised": OPTIMISED},
            "not_optimised": {"torchax": "this run has kept none"},
            **{"runs": {"torchax": "2026-01-01T0000"}, "left_out": {"numpy": "it is too long"}},
        }
    ],
    "timeline": {
        "classes": {name: {"title": title, "colour": "#5fae97"} for name, title in CLASSES.items()},
        "calls": [call("jax", PROFILE), call("torch_xla", None)],
    },
    "claims": [{**CLAIM, "votes": [VOTE], "workloads": ["mha"]}],
    "audits": [{"id": "fences", "title": "Fences", "verdict": "pass", "aim": "to wait", "detail": "it did"}],
}  # fmt: skip


def large(count: int) -> dict[str, Any]:
    """The document with so many cells, of 20 frameworks, each with three processes of 20 blocks."""
    names = [f"framework_{number}" for number in range(20)]
    keys = [(f"workload_{number // 20}", names[number % 20]) for number in range(count)]

    def noise(seed: int, place: int) -> float:
        return (seed * 7919 + place * 104729) % 1000 / 997

    def called(seed: int) -> dict[str, Any]:
        blocks = [round(2 + noise(seed, block), 3) for block in range(20)]
        return {**DETAILS["calls"][0], "round": seed % 3, "blocks": blocks, "uncontended": "1" * 20}

    def process(seed: int) -> dict[str, Any]:
        memory = [[at / 10, round(900 + 100 * noise(seed, at))] for at in range(POINTS)]
        return {**RAN, "repetition": seed % 3, "memory": memory}

    return {
        **DOCUMENT,
        "frameworks": {name: {"title": name, "colour": "#14213d"} for name in names},
        "cells": [
            {**row, "workload": w, "title": w, "framework": f} for row in (CELL, REPLAYED) for w, f in keys
        ],
        "details": {
            f"cpu/{f}/{w}": {
                **DETAILS,
                "processes": [process(3 * place + at) for at in range(3)],
                "calls": [called(3 * place + at) for at in range(3)],
            }
            for place, (w, f) in enumerate(keys)
        },
        "comparisons": [
            {**RATIO, "workload": w, "title": w, "subject": f, "baseline": names[0]}
            for w, f in keys
            if f != names[0]
        ],
        "replays": {}, "effects": [],
        "programs": [], "timeline": {**DOCUMENT["timeline"], "calls": []},
    }  # fmt: skip


def reference_document(tables: Folder) -> dict[str, Any]:
    """The document of the reference with these tables."""
    return gather(sources({**load(), "source": "reference"}, tables))


def made_sources(folder: Path, run: dict[str, list], reference: dict[str, list], **changes: object) -> Sources:
    """A run and the reference with these rows of their tables. changes: of `measured.config`.

    The run measured the studies in `measure`, which are the tables alone by default.
    """
    config = measured.config(**changes)
    made = {"run": accepted(folder / "run", **run), "reference": accepted(folder / "reference", **reference)}
    path = folder / "reference" / "context.json"
    known = {"run": "a", "machine": "a machine", "date_utc": "2026-01-01T00:00:00+00:00"}
    known |= {"studies": list(config["studies"]), "devices": ["cpu"]}
    path.write_text(json.dumps({**documents.read(path), "runs": [known]}), encoding="utf-8")
    datasets = {name: Dataset(config, one.folder, name == "reference") for name, one in made.items()}
    return Sources(**datasets, measured=list(config["measure"]))
