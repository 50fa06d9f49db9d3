"""The paper's tables of claims: what became of each, and what it takes to decide it again."""

from __future__ import annotations

from stackwars.claim_config import Claim, Claims
from stackwars.claim_needs import (
    needed_cells,
    needed_compilations,
    needed_frontiers,
    needed_programs,
    needed_replays,
)
from stackwars.claim_verdicts import PUBLISHED
from stackwars.latex import escape, is_missing
from stackwars.tabular import Float, row, span, table

TITLES = {PUBLISHED: "Published Claims, Decided Here", "ours": "Our Claims, Decided Here"}
_KINDS = {
    "cell": needed_cells,
    "replay": needed_replays,
    "compilation": needed_compilations,
    "search": needed_frontiers,
    "program": needed_programs,
}


def claims_table(rows: list[dict], origin: str) -> str:
    """A row a claim of this origin: sentence, verdict and evidence, over both columns of the page."""
    lines = [
        row([escape(one["sentence"]), escape(one["verdict"]), escape(one["evidence"])])
        for one in rows
        if one["origin"] == origin
    ]
    ragged = r">{\raggedright\arraybackslash}p"
    return table(
        Float(
            label=f"tab:claims-{origin}",
            caption=TITLES[origin],
            columns=f"{ragged}{{0.36\\textwidth}}{ragged}{{0.1\\textwidth}}{ragged}{{0.49\\textwidth}}",
            note="Verdicts are computed from this build's findings; the number of a finding is the ratio of "
            "PyTorch to JAX, with its 95\\,\\% interval where it has one, unless the claim names another.",
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Claim", "Verdict", "Evidence"])],
        lines or [row([span(3, "no claim of this kind")])],
    )


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
    return table(
        Float(
            label="tab:artifact",
            caption="Claims Against Experiments, in Minutes",
            columns=r"l>{\raggedright\arraybackslash}p{0.5\textwidth}rr",
            note="Person: to start it and to read what it says. Machine: wall time of the cells, replays and "
            "compilations named, in the authors' reference run where they are in it, else in this run; setting "
            "up the environments and the audits are not in it, and results that are there already cost "
            "nothing. A dash: nothing is timed, or it was never measured.",
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Target", "Decided by", "{Person}", "{Machine}"])],
        lines or [row([span(4, "no claim")])],
    )


def experiments(claim: Claim, config: dict) -> str:
    """``8 cells (FFN, MHA) on cpu, 4 replays``: what is run for a claim, counted."""
    counted = {kind: len(find(config, claim)) for kind, find in _KINDS.items()}
    parts = [f"{n} {_plural(kind, n)}" for kind, n in counted.items() if n]
    if "audits" in claim.needs["stages"]:
        parts.append("the audits")
    workloads = claim.needs.get("workloads")
    about = f" of {', '.join(workloads)}" if workloads else ""
    where = f" on {', '.join(claim.needs['devices'])}" if counted["cell"] else ""
    return f"{', '.join(parts)}{about}{where}"


def _plural(kind: str, count: int) -> str:
    if count == 1:
        return kind
    return f"{kind}es" if kind == "search" else f"{kind}s"
