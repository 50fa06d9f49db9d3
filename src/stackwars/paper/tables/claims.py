"""The paper's tables of claims: what became of each, and what it takes to decide it again."""

from __future__ import annotations

from pathlib import Path

from stackwars import frameworks
from stackwars.claims.definitions import Claim, Claims
from stackwars.claims.needs import (
    needed_cells,
    needed_compilations,
    needed_growth,
    needed_largest_batches,
    needed_programs,
    needed_replays,
    needed_sharding,
)
from stackwars.claims.verdicts import ORIGINS
from stackwars.paper import evaluation
from stackwars.paper.latex import escape
from stackwars.paper.tables.badges import badge_table, evaluator_tables
from stackwars.paper.tables.tabular import Float, continued, row, span
from stackwars.results.values import is_missing
from stackwars.study.comparisons import CELLS, Comparison, comparisons

_KINDS = {
    "cell": needed_cells,
    "replay": needed_replays,
    "compilation": needed_compilations,
    "search": needed_largest_batches,
    "program": needed_programs,
    "growth process": needed_growth,
    "process of several devices": lambda config, claim: needed_sharding(config, claim)[0],
    "slice": lambda config, claim: needed_sharding(config, claim)[1],
}


MOST_LINES = 36
"""Of one table, about: a page has room for two such."""
_CHARACTERS = {"sentence": 58, "evidence": 84}
"""What fits on a line of a column, about."""


def claims_table(rows: list[dict], origin: str, pair: Comparison) -> str:
    """A row a claim of this origin: sentence, verdict and evidence, over both columns of the page.

    As many tables as their rows need, each on half a page or so; the label is that of the first.
    """
    own = [one for one in rows if one["origin"] == origin]
    lines = [
        row([escape(one["sentence"]), escape(one["verdict"]), escape(one["evidence"])])
        for one in own
    ] or [row([span(3, "no claim of this origin")])]
    heights = [
        max(-(-len(one[name]) // width) for name, width in _CHARACTERS.items()) for one in own
    ]
    parts = _parts(lines, heights or [1])
    base, subject = (escape(frameworks.title(side)) for side in pair.sides)
    ragged = r">{\raggedright\arraybackslash}p"
    spec = Float(
        label=f"tab:claims-{origin}",
        caption=ORIGINS[origin],
        columns=f"{ragged}{{0.36\\textwidth}}{ragged}{{0.1\\textwidth}}{ragged}{{0.49\\textwidth}}",
        note="Verdicts are computed from this build's findings; a finding's number is the ratio of "
        f"{subject} to {base}, with its 95\\,\\% interval if it has one, unless the claim names another. "
        "Slower and faster are said of the side over the line.",
        wide=True,
        size=r"\scriptsize",
    )
    return continued(spec, [row(["Claim", "Verdict", "Evidence"])], parts)


def _parts(lines: list[str], heights: list[int]) -> list[list[str]]:
    """The rows in parts of about the same height, none far above MOST_LINES."""
    number = -(-sum(heights) // MOST_LINES)
    parts: list[list[str]] = [[] for _ in range(number)]
    before = 0
    for line, height in zip(lines, heights, strict=True):
        parts[before * number // sum(heights)].append(line)
        before += height
    return [part for part in parts if part]


def artifact_table(rows: list[dict], claims: Claims, config: dict) -> str:
    """A row a claim: its target, the experiments that decide it, and minutes of people and machine."""
    by_id = {claim.id: claim for claim in claims.claims}
    lines = [
        row(
            [
                rf"\code{{{escape('claim_' + one['id'])}}}",
                escape(experiments(by_id[one["id"]], config)),
                f"{one['human_minutes']:g}",
                "---" if is_missing(one["compute_minutes"]) else f"{one['compute_minutes']:.1f}",
            ]
        )
        for one in rows
        if one["id"] in by_id
    ]
    lines = lines or [row([span(4, "no claim")])]
    parts = _parts(lines, [1] * len(lines))
    spec = Float(
        label="tab:artifact",
        caption="Claims and the Experiments That Decide Them, in Minutes",
        columns=r"l>{\raggedright\arraybackslash}p{0.5\textwidth}rr",
        note="Person: time to start it and to read the result. Machine: wall time of the cells, replays "
        "and compilations listed, from the authors' reference run where it has them, else from this run; "
        "it excludes the audits and the set-up of the environments, and existing results cost nothing. A "
        "dash: nothing is timed, or the time is unknown.",
        wide=True,
        size=r"\scriptsize",
    )
    return continued(spec, [row(["Target", "Decided by", "{Person}", "{Machine}"])], parts)


def experiments(claim: Claim, config: dict) -> str:
    """``8 cells, 4 replays of ffn, mha on cpu``: what is run for a claim, counted."""
    counted = {kind: len(find(config, claim)) for kind, find in _KINDS.items()}
    parts = [f"{n} {_plural(kind, n)}" for kind, n in counted.items() if n]
    if "audits" in claim.needs["stages"]:
        parts.append("the audits")
    workloads = claim.needs.get("workloads")
    if not parts:
        return "nothing of this preset" + (f" ({', '.join(workloads)})" if workloads else "")
    about = f" of {', '.join(workloads)}" if workloads else ""
    where = f" on {', '.join(claim.needs['devices'])}" if counted["cell"] else ""
    return f"{', '.join(parts)}{about}{where}"


def _plural(kind: str, count: int) -> str:
    if count == 1:
        return kind
    noun, preposition, rest = kind.partition(" of ")
    return f"{noun}{'es' if noun.endswith(('h', 's')) else 's'}{preposition}{rest}"


def write_tables(claims: Claims, rows: list[dict], config: dict, output: Path) -> None:
    """A table for each origin and artifact.tex in the folder ``output``."""
    output.mkdir(parents=True, exist_ok=True)
    pair = comparisons(config, CELLS)[0]
    texts = {
        **{origin: claims_table(rows, origin, pair) for origin in ORIGINS},
        "artifact": artifact_table(rows, claims, config),
        "badges": badge_table(evaluation.read()),
        "evaluator": evaluator_tables(evaluation.read()),
    }
    for name, text in texts.items():
        (output / f"{name}.tex").write_text(text, encoding="utf-8")
