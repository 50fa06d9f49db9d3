"""Findings about the StableHLO, from facts.json: workload -> framework -> counts in its program.

The counts are those of :mod:`stackwars.ir.facts`, taken from the programs as emitted.
"""

from __future__ import annotations

import pandas

from stackwars import verdicts
from stackwars.sources import titles
from stackwars.verdicts import Finding, finding

PAIR = ("jax", "torch_xla")
ATTENTION_DOTS = 4  # projection, scores, values, output; a projection each for q, k, v makes it 6


def ir_findings(facts: dict, frame: pandas.DataFrame) -> list[Finding]:
    """``ir/flattening``, ``ir/layernorm``, ``ir/qkv`` and ``ir/precision``."""
    names = titles(frame)
    pairs = {
        workload: tuple(facts[workload][framework] for framework in PAIR)
        for workload in names
        if all(facts.get(workload, {}).get(f, {}).get("status") == "ok" for f in PAIR)
    }
    return [
        _flattening(pairs, names),
        _layernorm(pairs, names),
        _qkv(pairs.get("mha")),
        _precision(facts, names),
    ]


def _flattening(pairs: dict[str, tuple[dict, dict]], names: dict[str, str]) -> Finding:
    """Which front end merges batch and sequence into one dimension before a matrix product."""
    with_dots = {w: pair for w, pair in pairs.items() if all(side["dots"] for side in pair)}

    def total(side: int, fact: str) -> int:
        return sum(pair[side][fact] for pair in with_dots.values())

    jax_flat, torch_flat = (total(side, "dots_flattened") for side in (0, 1))
    verdict = verdicts.presence(jax_flat > 0, torch_flat > 0) if with_dots else verdicts.NO_DATA
    return finding(
        "ir/flattening",
        verdict,
        programs=len(with_dots),
        jax_flattened=jax_flat,
        jax_dots=total(0, "dots"),
        torch_flattened=torch_flat,
        torch_dots=total(1, "dots"),
        exceptions=[names[w] for w, pair in with_dots.items() if not pair[1]["dots_flattened"]],
    )


def _layernorm(pairs: dict[str, tuple[dict, dict]], names: dict[str, str]) -> Finding:
    """Which front end hands layer normalisation over as batch_norm_training."""
    one = pairs.get("layernorm")
    if one is None:
        return finding("ir/layernorm", verdicts.NO_DATA)
    jax, torch = one
    others = [w for w, p in pairs.items() if w != "layernorm" and p[1]["batch_norm_training"]]
    return finding(
        "ir/layernorm",
        verdicts.presence(jax["batch_norm_training"] > 0, torch["batch_norm_training"] > 0),
        jax_operations=jax["operations"],
        torch_operations=torch["operations"],
        also=[names[w] for w in others],
    )


def _qkv(pair: tuple[dict, dict] | None) -> Finding:
    """Whether the combined projection of q, k and v is still one product in each program."""
    if pair is None:
        return finding("ir/qkv", verdicts.NO_DATA)
    jax, torch = (side["dots"] for side in pair)
    combined = [dots == ATTENTION_DOTS for dots in (jax, torch)]
    return finding(
        "ir/qkv",
        verdicts.presence(*combined),
        jax_dots=jax,
        torch_dots=torch,
        jax_reshapes=pair[0]["reshapes"],
        torch_reshapes=pair[1]["reshapes"],
    )


def _precision(facts: dict, names: dict[str, str]) -> Finding:
    """The precision of matrix products as the programs have it."""
    found = {
        side["precision"]
        for workload in names
        for side in facts.get(workload, {}).values()
        if side.get("status") == "ok" and side["precision"]
    }
    verdict = verdicts.NO_DATA if not found else verdicts.MEASURED
    return finding("ir/precision", verdict, precisions=sorted(found))
