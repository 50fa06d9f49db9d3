"""Findings about the programs: which are the same, how large, and the published claims by rule."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product

import pandas

from stackwars.results import compiler_verdicts as words
from stackwars.results import verdicts
from stackwars.results.read_cells import titles
from stackwars.results.read_compilers import OPTIMISED
from stackwars.results.verdicts import Finding, finding
from stackwars.study.comparisons import Comparison

LEVELS = {"raw": "raw", "normalised": "normalised", "optimised": OPTIMISED}


@dataclass(frozen=True)
class Claim:
    """A claim of the original: its name in a table, and what it says of JAX, the baseline, and of PyTorch."""

    title: str
    baseline: str
    subject: str | None  # None: it says nothing


# In the words of structure.csv (stackwars.ir.structure).
CLAIMS = {
    "flattening": Claim("Batch and sequence", "preserved", "flattened"),
    "layernorm": Claim("Layer normalisation", "fine-grained", "high-level"),
    "qkv": Claim("Q, K, V projection", "combined", None),
    "contraction": Claim("Contraction", "explicit", "prepared"),
}
BERT, TABLE_II_OTHERS = "bert_base", ["resnet50", "gpt2_small"]
COMPILED = {
    "layout": lambda row: row.layout_bytes,
    "fusions": lambda row: json.loads(row.operations_by_kind).get("fusion", 0),
}
"""What is compared of two optimised programs, by the finding's kind."""
UNDECIDED = {"not applicable", "no program", ""}


def program_findings(
    metrics: pandas.DataFrame, structure: pandas.DataFrame, pairs: list[Comparison]
) -> list[Finding]:
    """``same/...`` and ``size/<workload>/<framework>/<level>``, ``programs/<framework>/<level>``,
    ``claim/<claim>/<framework>``."""
    cells = metrics.set_index(["workload", "level", "framework"])
    names = titles(metrics)
    found = []
    for pair, short in product(pairs, LEVELS):
        same = [_same(cells, names, w, pair, short) for w in names]
        size = [_size(cells, names, w, pair, short) for w in names]
        known = [f for f in size if f["verdict"] != verdicts.NO_DATA]
        hashed = [f for f in same if f["verdict"] != verdicts.NO_DATA]
        found += [
            *same,
            *size,
            finding(
                f"programs/{pair.subject}/{short}",
                verdicts.MEASURED if known else verdicts.NO_DATA,
                framework=pair.subject,
                known=len(known),
                hashed=len(hashed),
                same=[f["title"] for f in same if f["verdict"] == words.SAME],
                fewer=[f["title"] for f in size if f["verdict"] == words.LESS],
                more=[f["title"] for f in size if f["verdict"] == words.MORE],
            ),
            *(_compiled(cells, names, w, pair, kind) for w in names for kind in COMPILED),
        ]
    claims = [_claim(structure, claim, pair) for pair in pairs for claim in CLAIMS]
    return [*found, *claims, _bert_graph(metrics, pairs[0])]


def _compiled(cells, names: dict[str, str], workload: str, pair: Comparison, kind: str) -> Finding:
    """``layout/...`` and ``fusions/<workload>/<framework>``: the program compiled for the original's device."""
    keys = [(workload, OPTIMISED, name) for name in pair.sides]
    sides = [cells.loc[key] for key in keys if key in cells.index]
    known = len(sides) == 2 and all(side.status == "ok" for side in sides)
    base, own = [COMPILED[kind](side) for side in sides] if known else (None, None)
    return finding(
        f"{kind}/{workload}/{pair.subject}",
        words.amount(own, base, within=0 if kind == "fusions" else words.SAME_SIZE),
        workload=workload,
        framework=pair.subject,
        title=names[workload],
        ratio=own / base if known and base else None,
        low=None,
        high=None,
    )


def _bert_graph(metrics: pandas.DataFrame, pair: Comparison) -> Finding:
    """``bert_graph``: whether BERT-Base's program is the largest of the models of the original's Table II."""
    raw = metrics[(metrics.framework == pair.baseline) & (metrics.level == "raw")]
    sizes = raw[raw.status == "ok"].set_index("workload").operations
    rivals = sizes.drop(BERT, errors="ignore").reindex(TABLE_II_OTHERS).dropna()
    known = BERT in sizes.index and len(rivals) == len(TABLE_II_OTHERS)
    verdict = verdicts.NO_DATA
    if known:
        verdict = words.LARGEST if sizes[BERT] > rivals.max() else words.NOT_LARGEST
    return finding(
        "bert_graph",
        verdict,
        operations=sizes.get(BERT),
        rivals={name: int(rivals[name]) for name in rivals.index},
    )


def same_program(cells: pandas.DataFrame, workload: str, level: str, pair: Comparison) -> str:
    """Whether both sides' programs have one canonical hash at a level.

    ``cells`` is ir_metrics.csv by (workload, level, framework).
    """
    keys = [(workload, level, name) for name in pair.sides]
    if not all(key in cells.index for key in keys):
        return verdicts.NO_DATA
    one, other = (cells.loc[key] for key in keys)
    if {one.status, other.status} != {"ok"} or not one.canonical_hash or not other.canonical_hash:
        return verdicts.NO_DATA
    return words.SAME if one.canonical_hash == other.canonical_hash else words.DIFFERENT


def _same(cells, names: dict[str, str], workload: str, pair: Comparison, short: str) -> Finding:
    verdict = same_program(cells, workload, LEVELS[short], pair)
    identity = f"same/{workload}/{pair.subject}/{short}"
    return finding(identity, verdict, title=names[workload], framework=pair.subject, level=short)


def _size(cells, names: dict[str, str], workload: str, pair: Comparison, short: str) -> Finding:
    """Operations without constants of the subject's program over the baseline's."""
    keys = [(workload, LEVELS[short], name) for name in pair.sides]
    sides = [cells.loc[key] for key in keys if key in cells.index]
    base, own = (
        [side.operations if side.status == "ok" else None for side in sides]
        if len(sides) == 2
        else (None, None)
    )
    return finding(
        f"size/{workload}/{pair.subject}/{short}",
        words.amount(own, base, within=0),
        workload=workload,
        framework=pair.subject,
        title=names[workload],
        level=short,
        operations=own,
        baseline_operations=base,
    )


def _claim(structure: pandas.DataFrame, claim: str, pair: Comparison) -> Finding:
    """``claim/<claim>/<framework>``: on which workloads both programs are as the original says."""
    here = structure[structure.claim == claim]
    decided = {side: {} for side in pair.sides}
    for _, row in here[here.framework.isin(decided)].iterrows():
        if row.verdict not in UNDECIDED:
            decided[row.framework][row.workload] = row.verdict
    names = titles(here)
    both = [w for w in names if all(w in side for side in decided.values())]
    pairs = {w: tuple(decided[side][w] for side in pair.sides) for w in both}
    holds = [w for w in both if _as_claimed(CLAIMS[claim], *pairs[w])]
    return finding(
        f"claim/{claim}/{pair.subject}",
        _verdict(len(holds), len(both)),
        claim=claim,
        framework=pair.subject,
        decided=len(both),
        holds=[names[w] for w in holds],
        fails=[names[w] for w in both if w not in holds],
        pairs=[
            {
                "baseline": base,
                "subject": own,
                "workloads": [names[w] for w in both if pairs[w] == found],
            }
            for found in dict.fromkeys(pairs.values())
            for base, own in [found]
        ],
    )


def _as_claimed(claim: Claim, base: str, own: str) -> bool:
    return base == claim.baseline and claim.subject in (None, own)


def _verdict(holds: int, decided: int) -> str:
    if not decided:
        return verdicts.NO_DATA
    if holds == decided:
        return verdicts.HOLDS
    return verdicts.HOLDS_IN_PART if holds else verdicts.DOES_NOT_HOLD
