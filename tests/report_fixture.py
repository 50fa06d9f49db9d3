"""Documents for the report's page, made up: a small one with something in every view, and one of many cells."""

from __future__ import annotations

from typing import Any

import hlo_pair
from stackwars.compilers.op_classes import CLASSES, DISPATCH, ELEMENTWISE, PRODUCTS
from stackwars.report.align import form, side
from stackwars.report.optimised import side as hlo_side
from stackwars.report.processes import POINTS

HOSTILE = "</script><img src=x onerror=alert(1)> \"quoted\" 'too' \\ {\\tt x} $x_1$ \N{SNOWMAN} \N{PILE OF POO}"
CELL = {
    **{"workload": "mha", "title": "MHA", "framework": "jax", "device": "cpu", "status": "ok"},
    **{"first_ms": 80.0, "second_ms": 3.0, "steady_ms": 2.0, "rounds": 3, "status_detail": ""},
    **{"steady_low_ms": 1.9, "steady_high_ms": 2.1, "stop_reason": "decided"},
}
FAILED = {**CELL, "title": HOSTILE, "status": "error", "status_detail": HOSTILE, "workload": "gemm"}
ABSENT = {**CELL, "device": "tpu", "status": "not run", "status_detail": "no driver"}
REPLAYED = {
    **{
        "workload": "mha",
        "title": "MHA",
        "framework": "jax",
        "compiler": "an XLA",
        "device": "cpu",
    },
    **{"status": "ok", "status_detail": "", "replay_ms": 2.0, "replay_low_ms": 1.9},
    **{
        "replay_high_ms": 2.1,
        "over_best": 1.0,
        "compile_s": 0.5,
        "rounds": 2,
        "fusions": 7,
        "run": "",
    },
}
REFUSED = {
    **{"workload": "mha", "title": "MHA", "framework": "torch_xla", "compiler": "an XLA"},
    **{
        "device": "cpu",
        "status": "unsupported",
        "status_detail": HOSTILE,
        "run": "2026-01-01T0000",
    },
}
RATIO = {
    **{"workload": "mha", "title": "MHA", "device": "cpu", "framework": "torch_xla", "rounds": 3},
    **{"baseline": "jax", "steady_ratio": 1.5, "steady_ratio_low": 1.4, "steady_ratio_high": 1.6},
    **{"steady_verdict": "slower", "steady_p_holm": 0.012, "steady_detectable": 0.07},
    **{"steady_rounds": 3, "steady_runs": 2, "steady_gated": False, "contended": True},
}
SPLIT = {
    **{"workload": "mha", "title": "MHA", "device": "cpu", "framework": "torch_xla", "rounds": 2},
    **{"baseline": "jax", "compiler": "an XLA", "ir_ratio": 1.25, "ir_ratio_low": 1.2},
    **{"ir_ratio_high": 1.3, "ir_verdict": "slower", "ir_runs": 1, "source_verdict": "the program"},
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
        {"round": 0, "first": 80.0, "second": 3.0, "calls": 4, "blocks": [2.0, 2.1], "kept": "10"},
        {"round": 1, "first": 70.0, "second": 3.0, "calls": 4, "blocks": [2.0], "kept": "1"},
    ],
}
OLD_DETAILS = {
    **DETAILS,
    "processes": [{**RAN, "memory": None, "log": None, "phases": []}],
    "calls": [],
}
TEXTS = (
    '%0 = stablehlo.tanh %a : tensor<2xf32> loc("/home/x/mha/in_jax.py":31:8)',
    "%0 = stablehlo.tanh %a : tensor<2xf32>\n%1 = stablehlo.exponential %0 : tensor<2xf32>",
)
# The operations of the first have the names that they have in its profile.
_SMALL = hlo_pair.SMALL.replace("%dot", "%dot.3").replace("%add_tanh_fusion", "%fusion")
OPTIMISED = {
    "compiler": "an-xla",
    **form({"jax": hlo_side(_SMALL), "torch_xla": hlo_side(hlo_pair.OTHER)}),
}
THIRD = "%0 = stablehlo.tanh %a : tensor<2xf32>\n%1 = stablehlo.negate %0 : tensor<2xf32>"
EMITTED = form({"jax": side(TEXTS[0]), "torch_xla": side(TEXTS[1]), "torchax": side(THIRD)})
CLAIM = {
    **{"id": "x", "origin": "ours", "sentence": "It holds.", "verdict": "supported", "evidence": "1 of 1"},
    "rule": "Every vote must be for it.",
}  # fmt: skip
VOTE = {
    **{"vote": "for", "word": "slower", "title": "MHA", "number": "1.5", "finding": "steady/mha/torch_xla"},
    **{"links": [("JAX", "cell/cpu/jax/mha")], "elsewhere": ""},
}  # fmt: skip
BOX = {"x": 50, "width": 80, "height": 22, "block": None}
GRAPH = {
    **{"width": 100, "height": 90},
    "nodes": [
        {**BOX, "y": 20, "kind": "product", "class": PRODUCTS, "lines": ["dot_general"]},
        {**BOX, "y": 70, "kind": "block", "class": None, "lines": ["11 more blocks"]},
    ],
    "edges": [{"points": [[50, 31], [50, 40], [50, 50], [50, 59]], "operand": 1}],
}  # fmt: skip

UNFOLDED = {
    **GRAPH,
    "nodes": [GRAPH["nodes"][0], {**GRAPH["nodes"][1], "kind": "product", "lines": ["dot_last"]}],
}


def call(framework: str, profile: dict | None) -> dict[str, Any]:
    """A profiled call of 2 ms: 1.5 of products, 0.4 of elementwise operations, the rest dispatch."""
    ms = {**dict.fromkeys(CLASSES, 0.0), PRODUCTS: 1.5, ELEMENTWISE: 0.4, DISPATCH: 0.1}
    return {
        **{"workload": "mha", "title": "MHA", "compiler": "an-xla", "device": "cpu", "run": ""},
        **{"framework": framework, "profiled_ms": 2.0, "call_ms": 1.9, "adds_up": True},
        "parts": {name: {"ms": one, "share": one / 2, "operations": 3} for name, one in ms.items()},
        "profile": profile,
    }


PROFILE = {
    "operations": [["dot.3", PRODUCTS, 1.5], ["fusion", ELEMENTWISE, 0.4]],
    "spans": [[0, 0.0, 0.9], [0, 0.5, 0.6], [1, 1.2, 0.4]],
}
DOCUMENT: dict[str, Any] = {
    "name": "full of 2026-01-02 03:04",
    "meta": {"machine": {"cpu_model": "a processor", "cores": 2}, "preset": "full", "origin": "reference"},
    "frameworks": {
        "jax": {"title": "JAX", "colour": "#14213d"},
        "torchax": {"title": "torchax", "colour": "#1f78b4"},
        "torch_xla": {"title": "torch_xla", "colour": "#c4571b"},
    },
    "cells": [CELL, FAILED, ABSENT],
    "details": {"cpu/jax/mha": DETAILS, "cpu/jax/gemm": OLD_DETAILS},
    "ratios": [RATIO],
    "split": [SPLIT],
    "rounds": {
        "cpu/torch_xla/mha": {"steady": [[0, 1.45], [1, 1.55]]},
        "cpu/torch_xla/mha/an XLA": {"ir": [[0, 1.25]]},
    },
    "reproduction": "Of 3 claims 2 were found again.",
    "answers": ["x"],
    "native": "an XLA",
    "matrix": [REPLAYED, REFUSED],
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
    "graphs": [
        {
            **{"workload": "mha", "title": "MHA", "framework": "jax", "graph": GRAPH},
            "unfolded": UNFOLDED,
            **{"note": "Its arguments are left out, 9 in number.", "reason": ""},
        },
        {
            **{"workload": "mha", "title": "MHA", "framework": "torch_xla", "graph": None},
            **{"unfolded": None, "note": "", "reason": "Not drawn: too large."},
        },
    ],
    "timeline": {
        "classes": {name: {"title": title, "colour": "#5fae97"} for name, title in CLASSES.items()},
        "calls": [call("jax", PROFILE), call("torch_xla", None)],
    },
    "claims": [{**CLAIM, "votes": [VOTE]}],
    "faults": {
        "where": "revision 1 on a machine",
        "tried": [{"id": "killed", "title": "Process killed", "outcome": "survived", "lost": 0, "wrong": 0,
                   "told": HOSTILE, "why": ""}],
    },
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
        return {
            "round": seed % 3,
            "first": 80.0,
            "second": 3.0,
            "calls": 4,
            "blocks": blocks,
            "kept": "1" * 20,
        }

    def process(seed: int) -> dict[str, Any]:
        memory = [[at / 10, round(900 + 100 * noise(seed, at))] for at in range(POINTS)]
        return {**RAN, "repetition": seed % 3, "memory": memory}

    return {
        **DOCUMENT,
        "frameworks": {name: {"title": name, "colour": "#14213d"} for name in names},
        "cells": [{**CELL, "workload": w, "title": w, "framework": f} for w, f in keys],
        "details": {
            f"cpu/{f}/{w}": {
                **DETAILS,
                "processes": [process(3 * place + at) for at in range(3)],
                "calls": [called(3 * place + at) for at in range(3)],
            }
            for place, (w, f) in enumerate(keys)
        },
        "ratios": [
            {**RATIO, "workload": w, "title": w, "framework": f, "baseline": names[0]}
            for w, f in keys
            if f != names[0]
        ],
        "split": [], "rounds": {}, "replays": {},
        "matrix": [
            {**REPLAYED, "workload": w, "title": w, "framework": f} for w, f in keys
        ],
        "graphs": [], "programs": [], "timeline": {**DOCUMENT["timeline"], "calls": []},
    }  # fmt: skip
