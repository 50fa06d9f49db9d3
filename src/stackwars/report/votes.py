"""Every vote of every claim, linked to what it rests on."""

from __future__ import annotations

from typing import Any

from stackwars.claims import decide, definitions
from stackwars.claims.definitions import Claim
from stackwars.claims.judge import ballots
from stackwars.claims.predicates import title
from stackwars.measure import documents
from stackwars.report.views import Views
from stackwars.results.folder import Folder

_MUST = {
    "every": "Every vote must be for it.",
    "most": "More than half of the votes must be for it.",
    "any": "One vote must be for it.",
    "none": "No vote may be for it.",
}


def with_votes(document: dict[str, Any], folder: Folder) -> list[dict[str, Any]]:
    """The claims of a document, each with its rule and its votes; none where the run has kept no findings."""
    if not folder["findings"].exists():
        return [{**row, "rule": "", "votes": []} for row in document["claims"]]
    views = Views(document, folder, documents.read(folder["context"]))
    findings, _ = decide.found(folder)
    defined = {claim.id: claim for claim in definitions.load().claims}
    return [
        {
            **row,
            "rule": rule(defined[row["id"]].predicate),
            "votes": votes(defined[row["id"]], findings, views),
        }
        for row in document["claims"]
    ]


def votes(claim: Claim, findings: list, views: Views) -> list[dict[str, Any]]:
    """A row for each vote, and one for each finding without data."""
    rows = []
    for finding, cast in ballots(claim, findings):
        for vote in cast:
            links, elsewhere = views.of(finding, vote.title)
            rows.append(
                {
                    **{"vote": vote.vote, "word": vote.word, "title": vote.title},
                    **{"number": vote.number, "finding": finding["id"]},
                    **{"links": links, "elsewhere": elsewhere},
                }
            )
        if not cast:
            links, elsewhere = views.of(finding)
            rows.append(
                {
                    **{"vote": "none", "word": "no data", "title": title(finding), "number": ""},
                    **{"finding": finding["id"], "links": links, "elsewhere": elsewhere},
                }
            )
    return rows


def rule(predicate: dict) -> str:
    """What a predicate asks of the findings, in words."""
    where = "".join(
        f", of {key.replace('_', ' ')} {_any(value)}"
        for key, value in predicate.get("where", {}).items()
    )
    about = f"The votes are those of the findings {_any(predicate['findings'])}{where}."
    if "counts" in predicate:
        said = "Each votes with what it has counted itself."
    elif "number" in predicate:
        name = predicate["number"].replace("_", " ")
        limit = predicate.get("at_most", predicate.get("at_least"))
        good, bad = ("at most", "over") if "at_most" in predicate else ("at least", "under")
        said = f"One is for it where its {name} is {good} {limit:g}, against it where it is {bad} that."
    else:
        name = predicate.get("field", "verdict").replace("_", " ")
        holds = _any(predicate["holds"]) if predicate["holds"] else "none"
        against = f"that is {_any(predicate['fails'])}" if predicate["fails"] else "nothing is"
        said = f"One is for it where its {name} is {holds}, against it where {against}."
    return f"{about} {said} {_MUST[predicate['quantifier']]}"


def _any(value: object) -> str:
    """``a, b or c``."""
    *most, last = map(str, value if isinstance(value, list) else [value])
    return f"{', '.join(most)} or {last}" if most else last
