"""SYNTHETIC stacks and matrix for the paper's tests. Nothing was measured.

``write(folder, rounds)`` writes replayed.csv, stacks.csv, beyond.csv, growth.csv, shapes.csv, sharding.csv,
fused.csv, matrix.csv, matrix_effects.csv and matrix_subsets.csv beside what :mod:`paper_fixture` writes.
"""

from __future__ import annotations

from pathlib import Path

import pandas

from stackwars import workloads
from stackwars.compilers.collectives import KINDS
from stackwars.results import beyond, fused, growth, matrix, matrix_subsets, sharding, stacks
from stackwars.results.whole_study import Source
from stackwars.study.config import load
from stackwars.study.studies import Study

WORKLOADS = {"elementwise_chain": "Elementwise chain", "two_matmuls": "Two products", "mha": "MHA"}
BEYOND = {
    **{"train_mlp": 1.0, "train_transformer": 1.0},
    **{"per_example_grad": 1.0, "per_example_loop": 3.0, "moe": 2.0, "moe_sorted": 1.0},
    **{"attention_window": 2.0, "attention_blocked": 1.0},
    **{"newton": 1.0, "newton_readback": 2.0, "scan_rnn": 1.0, "unrolled_rnn": 4.0},
}
"""Steady states of the baseline in ms."""
STACKS = {
    **{"jax": 1.0, "torch_xla": 1.5, "torch_eager": 2.0, "torch_inductor": 1.2, "numpy": 3.0},
    **{
        "torch_inductor_frozen": 1.1,
        "torchax": 1.3,
        "tensorflow_xla": 1.6,
        "tensorflow_graph": 1.8,
    },
}
"""Steady states in ms."""
FRONTENDS = ("jax", "torch_xla")
COMPILERS = {
    "jaxlib-0.7.1": 2.0,
    "jaxlib-0.10.2": 1.0,
    "jaxlib-0.10.2-no-ynn": 1.5,
    "iree-3.13": 3.0,
}
"""Times of JAX's program in ms."""


def write(folder: Path, rounds: int) -> None:
    """rounds: of each replay; one has no interval, none was not run."""
    _stacks(rounds).to_csv(folder / "stacks.csv", index=False)
    _beyond(rounds).to_csv(folder / "beyond.csv", index=False)
    series, shapes = _growth(rounds)
    series.to_csv(folder / "growth.csv", index=False)
    shapes.to_csv(folder / "shapes.csv", index=False)
    _sharding(rounds).to_csv(folder / "sharding.csv", index=False)
    _fused(rounds).to_csv(folder / "fused.csv", index=False)
    study = Study("matrix", FRONTENDS, FRONTENDS, tuple(COMPILERS), (), ("cpu",), tuple(WORKLOADS))
    replayed = [
        {
            **{"workload": workload, "framework": frontend, "compiler": compiler},
            "repetition": r,
            "ungated_ms": ms
            * (1 + 0.3 * (frontend != "jax"))
            * (1 + r / 100 + (r % 2) * number / 500),
        }
        for workload in WORKLOADS
        for frontend in FRONTENDS
        for number, (compiler, ms) in enumerate(COMPILERS.items())
        for r in range(rounds)
    ]
    keys = ["workload", "framework", "compiler"]
    own = folder / "matrix"
    own.mkdir(exist_ok=True)
    table = pandas.DataFrame(replayed, columns=[*keys, "repetition", "ungated_ms"])
    table.to_csv(own / "replayed.csv", index=False)
    replay = table.drop_duplicates(keys).rename(columns={"ungated_ms": "replay_ms"})
    replay = replay.assign(
        title=replay["workload"].map(WORKLOADS), status="ok", device="cpu", parity_rel_l2=1e-7
    )
    replay.to_csv(own / "replay.csv", index=False)
    found = [Source("", own)]
    cells = matrix.build(study, found)
    cells.to_csv(folder / "matrix.csv", index=False)
    matrix.effects(cells, found).to_csv(folder / "matrix_effects.csv", index=False)
    parts = matrix_subsets.build(load(), cells, found)
    parts.to_csv(folder / "matrix_subsets.csv", index=False)


def _stacks(rounds: int) -> pandas.DataFrame:
    rows = []
    for workload, title in WORKLOADS.items():
        for framework, ms in STACKS.items():
            row = {"workload": workload, "title": title, "kind": "basic", "framework": framework}
            row |= {"device": "cpu", "status": "ok" if rounds else "not run", "status_detail": ""}
            if rounds:
                row |= {"first_ms": 90 * ms, "steady_ms": ms, "peak_rss_bytes": 1e9}
                row |= {f"{name}_over_best": ms for name in ("steady", "first")}
                row |= {"returned_ms": 0.1 if framework == "jax" else ms, "memory_over_best": 1.0}
            if rounds and framework != "jax":
                row |= ratio(ms, 0.02 if rounds > 1 else None)
            rows.append(row)
    return pandas.DataFrame(rows, columns=list(stacks.COLUMNS))


def _beyond(rounds: int) -> pandas.DataFrame:
    """Every workload of BEYOND; NumPy has no form of the unrolled recurrence."""
    rows = []
    for workload, slower in BEYOND.items():
        title = workloads.load(workload).TITLE
        for number, framework in enumerate(("jax", "torch_xla", "numpy")):
            no_form = framework == "numpy" and workload == "unrolled_rnn"
            status = "unsupported" if no_form else "ok" if rounds else "not run"
            row = {"workload": workload, "title": title, "kind": "basic", "framework": framework}
            row |= {"device": "cpu", "status": status, "rounds": rounds, "run": "", "here": True}
            row |= {"status_detail": "NumPy compiles nothing" if no_form else ""}
            if status == "ok":
                ms = slower * (1 + number)
                row |= {"steady_ms": ms, "first_ms": 100 * ms, "peak_rss_bytes": 1e9}
                row |= {f"{name}_over_best": 1.0 + number for name in ("steady", "first", "memory")}
                for stage, value in (("steady", ms), ("first", 100 * ms)):
                    ends = (value * 0.95, value * 1.05) if rounds > 1 else (None, None)
                    row |= dict(zip((f"{stage}_low_ms", f"{stage}_high_ms"), ends, strict=True))
                row["parity_rel_l2"] = 1e-7
                if framework != "jax":
                    row |= ratio(1.0 + number, 0.02 if rounds > 1 else None)
                if workload.startswith("train"):
                    row |= {"loss_steps": 50, "loss_first": 2.3, "loss_last": 0.4}
                    row |= {"losses_apart": 1e-6, "losses_bound": 1e-5}
            rows.append(row)
    columns = [name for name in beyond.COLUMNS if not name.startswith("form_")]
    return beyond.forms(pandas.DataFrame(rows, columns=columns))


def _growth(rounds: int) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """A depth that costs the more the deeper it is, and shapes that one framework compiles once for all."""
    what = {"workload": "decode", "title": "Decode", "status": "ok", "status_detail": ""}
    series = [
        {
            **what, "framework": framework, "size": "layers", "value": layers,
            "first_ms": 100 + 50 * layers * number, "steady_ms": 1.0,
            "compile_cost_ms": 99 + 50 * layers * number,
        }
        for number, framework in enumerate(("jax", "torch_xla"), start=1)
        for layers in (1, 2, 4, 8)
    ]  # fmt: skip
    shapes = [
        {
            **what, "framework": framework, "size": "positions", "value": value, "turn": turn, "ms": 2.0,
            "compiles": int(turn == 1 and (framework == "jax" or value == 8)),
        }
        for framework in ("jax", "torch_inductor_dynamic")
        for turn in (1, 2)
        for value in (8, 16)
    ]  # fmt: skip
    return (
        pandas.DataFrame(series if rounds else [], columns=list(growth.COLUMNS)),
        pandas.DataFrame(shapes if rounds else [], columns=list(growth.SHAPES)),
    )


def _sharding(rounds: int) -> pandas.DataFrame:
    """A division that both frameworks need one sum for, a frontend without a form, and a model on slices."""
    counts = {**dict.fromkeys(KINDS, 0), "all_reduce": 1, "bytes": 4096}
    divided = [
        {
            **{"workload": "ffn", "title": "FFN", "frontend": frontend, "frontend_title": title},
            **{"framework": frontend.removesuffix("_shard_map"), "way": "tensor", "target": "cpu"},
            **{"devices": devices, "status": "ok", "rel_l2": 1e-7, "emitted": 0, **counts},
        }
        for frontend, title in (("jax", "JAX, by annotation"), ("torch_xla", "torch_xla, SPMD"))
        for devices in (2, 4)
    ]
    by_hand = {**divided[0], "frontend": "jax_shard_map", "frontend_title": "JAX, shard_map"}
    unsupported = {"status": "unsupported", "rel_l2": None, "emitted": None}
    divided += [by_hand | unsupported | dict.fromkeys(counts)]
    slices = [
        {
            **{"workload": "llama3_8b", "title": "LLaMA-3.1 8B", "frontend": framework},
            **{"frontend_title": framework, "framework": framework, "way": "tensor"},
            **{
                "target": "tpu-v6e-4",
                "devices": chips,
                "status": "ok",
                "verdict": "fits",
                **counts,
            },
            **{"device_bytes": 2**35 // chips, "usable_bytes": 2**35},
        }
        for framework in FRONTENDS
        for chips in (1, 4, 8)
    ]
    rows = [*divided, *slices] if rounds else []
    return pandas.DataFrame(rows, columns=list(sharding.COLUMNS))


def ratio(value: float, error: float | None) -> dict:
    """The columns of a steady ratio whose logarithm has this standard error, of 4 rounds."""
    found = {"steady_ratio": value, "steady_verdict": "not decided"}
    if error is None:
        return found
    half = 3.18 * error
    ends = {"steady_ratio_low": value * (1 - half), "steady_ratio_high": value * (1 + half)}
    word = (
        "slower"
        if ends["steady_ratio_low"] > 1
        else "faster"
        if ends["steady_ratio_high"] < 1
        else ""
    )
    verdict = {"steady_verdict": word or "unresolved"}
    return {**found, **ends, **verdict, "steady_error": error, "steady_freedom": 3.0}


def _fused(rounds: int) -> pandas.DataFrame:
    """The sum of the elementwise chain is fused by one compiler alone; of MHA each has all but a part."""
    rows = [
        ("elementwise_chain", "jax", "sum", "apart"),
        ("elementwise_chain", "jax", "tanh", "fused"),
        ("elementwise_chain", "torch_inductor", "sum", "fused"),
        ("elementwise_chain", "torch_inductor", "tanh", "fused"),
        ("elementwise_chain", "torch_inductor", "sigmoid", "fused"),
        ("mha", "jax", "sum", "in part"),
        ("mha", "torch_inductor", "sum", "fused"),
    ]
    found = [(w, WORKLOADS[w], framework, *rest) for w, framework, *rest in rows]
    return pandas.DataFrame(found if rounds else [], columns=list(fused.COLUMNS))
