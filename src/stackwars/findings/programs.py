"""Findings about the programs: which are the same, how large, and the published claims by rule."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pandas

from stackwars.results import compiler_verdicts as words
from stackwars.results import verdicts
from stackwars.results.published import SUBJECT
from stackwars.results.read_cells import BASELINE, titles
from stackwars.results.read_compilers import OPTIMISED
from stackwars.results.verdicts import Finding, finding

LEVELS = {"raw": "raw", "normalised": "normalised", "optimised": OPTIMISED}


@dataclass(frozen=True)
class Claim:
    """A claim of the original: its name in a table, and what it says of each framework."""

    title: str
    jax: str
    torch: str | None  # None: it says nothing


# In the words of structure.csv (stackwars.ir.structure).
CLAIMS = {
    "flattening": Claim("Batch and sequence", "preserved", "flattened"),
    "layernorm": Claim("Layer normalisation", "fine-grained", "high-level"),
    "qkv": Claim("Q, K, V projection", "combined", None),
    "contraction": Claim("Contraction", "explicit", "prepared"),
}
UNDECIDED = {"not applicable", "no program", ""}


def program_findings(metrics: pandas.DataFrame, structure: pandas.DataFrame) -> list[Finding]:
    """``programs/<level>``, ``same/...`` and ``size/<workload>/<level>``, ``claim/<claim>``."""
    cells = metrics.set_index(["workload", "level", "framework"])
    names = titles(metrics)
    found = []
    for short, level in LEVELS.items():
        same = [_same(cells, names, w, short, level) for w in names]
        size = [_size(cells, names, w, short, level) for w in names]
        known = [f for f in size if f["verdict"] != verdicts.NO_DATA]
        hashed = [f for f in same if f["verdict"] != verdicts.NO_DATA]
        found += [
            *same,
            *size,
            finding(
                f"programs/{short}",
                verdicts.MEASURED if known else verdicts.NO_DATA,
                known=len(known),
                hashed=len(hashed),
                same=[f["title"] for f in same if f["verdict"] == words.SAME],
                fewer=[f["title"] for f in size if f["verdict"] == words.LESS],
                more=[f["title"] for f in size if f["verdict"] == words.MORE],
            ),
        ]
    return [*found, *(_claim(structure, claim) for claim in CLAIMS)]


def same_program(cells: pandas.DataFrame, workload: str, level: str) -> str:
    """Whether both frameworks' programs have one canonical hash at a level.

    ``cells`` is ir_metrics.csv by (workload, level, framework).
    """
    keys = [(workload, level, name) for name in (BASELINE, SUBJECT)]
    if not all(key in cells.index for key in keys):
        return verdicts.NO_DATA
    one, other = (cells.loc[key] for key in keys)
    if {one.status, other.status} != {"ok"} or not one.canonical_hash or not other.canonical_hash:
        return verdicts.NO_DATA
    return words.SAME if one.canonical_hash == other.canonical_hash else words.DIFFERENT


def _same(cells, names: dict[str, str], workload: str, short: str, level: str) -> Finding:
    verdict = same_program(cells, workload, level)
    return finding(f"same/{workload}/{short}", verdict, title=names[workload], level=short)


def _size(cells, names: dict[str, str], workload: str, short: str, level: str) -> Finding:
    """Operations without constants of PyTorch's program over JAX's."""
    keys = [(workload, level, name) for name in (BASELINE, SUBJECT)]
    sides = [cells.loc[key] for key in keys if key in cells.index]
    jax, torch = (
        [side.operations if side.status == "ok" else None for side in sides]
        if len(sides) == 2
        else (None, None)
    )
    return finding(
        f"size/{workload}/{short}",
        words.amount(torch, jax, within=0),
        workload=workload,
        title=names[workload],
        level=short,
        jax_operations=jax,
        torch_operations=torch,
    )


def _claim(structure: pandas.DataFrame, claim: str) -> Finding:
    """``claim/<claim>``: on which workloads both programs are as the original says."""
    here = structure[structure.claim == claim]
    decided = {SUBJECT: {}, BASELINE: {}}
    for _, row in here[here.framework.isin(decided)].iterrows():
        if row.verdict not in UNDECIDED:
            decided[row.framework][row.workload] = row.verdict
    names = titles(here)
    both = [w for w in names if all(w in side for side in decided.values())]
    pairs = {w: (decided[BASELINE][w], decided[SUBJECT][w]) for w in both}
    holds = [w for w in both if _as_claimed(CLAIMS[claim], *pairs[w])]
    tally = Counter(pairs.values())
    return finding(
        f"claim/{claim}",
        _verdict(len(holds), len(both)),
        claim=claim,
        decided=len(both),
        holds=[names[w] for w in holds],
        fails=[names[w] for w in both if w not in holds],
        pairs=[
            {"jax": jax, "torch": torch, "workloads": [names[w] for w in both if pairs[w] == pair]}
            for pair in tally
            for jax, torch in [pair]
        ],
    )


def _as_claimed(claim: Claim, jax: str, torch: str) -> bool:
    return jax == claim.jax and claim.torch in (None, torch)


def _verdict(holds: int, decided: int) -> str:
    if not decided:
        return verdicts.NO_DATA
    if holds == decided:
        return verdicts.HOLDS
    return verdicts.HOLDS_IN_PART if holds else verdicts.DOES_NOT_HOLD
