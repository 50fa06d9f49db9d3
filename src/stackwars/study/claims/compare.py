"""Compare runs: a run with the reference (reproduction.json and .txt), and the accepted runs with each other.

Claims are compared by their verdicts on the rows that both have, cells by their status. Ratios are compared with the
prediction interval of the run's own kind of machine, if the reference has it; on another kind by their direction.
`stackwars.publish.report.compare` compares any two runs.

`confirmation` compares an accepted run with the reference that had been committed before it.

`between_runs` says how often two accepted runs decide a claim differently. Only a claim that can vary counts: one whose
numbers differ between two runs. Counts of programs are the same in every run and would flatter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import yaml

from stackwars.core import documents, machine
from stackwars.core.numbers import digits
from stackwars.core.outcome import Status
from stackwars.measure import frameworks
from stackwars.study.claims import definitions
from stackwars.study.claims.decide import dataset_of, decide
from stackwars.study.claims.definitions import Claim, is_counted, study_of
from stackwars.study.claims.votes import (
    CLAIM_VERDICTS,
    CONTRADICTED,
    DECISIONS,
    NOT_TESTABLE,
    SUPPORTED,
    Vote,
    Without,
    by_unit,
    judge,
    row_votes,
    votes_without,
)
from stackwars.study.config import load
from stackwars.study.keys import Config
from stackwars.study.results import runs, schema, verdicts
from stackwars.study.results.comparisons import EACH_KIND
from stackwars.study.results.dataset import Dataset
from stackwars.study.results.folder import REFERENCE_TABLES, Folder, command
from stackwars.study.results.runs import Run
from stackwars.study.results.schema import is_missing
from stackwars.study.results.verdicts import NOT_DECIDED

DEFINITIONS = "config/claims.yaml"
TABLES = {name: f"results/reference/{name}.csv" for name in ("claims", "comparisons")}
"""The committed tables of the reference."""
REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
NOT_DECIDED_HERE = "not decided here"
NOT_MEASURED_HERE = "not measured here"
NOT_DECIDED_THERE = "not decided in the reference"
OPEN, SPLIT, UNMEASURED = "open", "split", "unmeasured"
HERE = {
    SUPPORTED: "Supported here",
    CONTRADICTED: "Contradicted here",
    OPEN: "Not decided, because results are missing or need more rounds",
    SPLIT: "Not decided, because the results are split",
    NOT_TESTABLE: "Without data here",
}
"""Words before the claims of a run that have each verdict, in the order of the text."""
_RATIOS = (*schema.STAGES, schema.REPLAY)


def compare(run: Dataset, reference: Dataset) -> dict[str, Any]:
    """Return the content of reproduction.json.

    Only workloads with the same sizes in both are compared, and claims only if those are all of the
    reference's.
    """
    context, other = run.context, reference.context
    same = {w for w, sizes in context["sizes"].items() if other["sizes"].get(w) == sizes}
    machines = dict.fromkeys(one["machine"] for one in other.get("runs", []))
    document: dict[str, Any] = {
        "run": {"machine": runs.kind(context)},
        "reference": {"machines": list(machines) or [runs.kind(other)]},
        "claims": _claims(run, reference) if same and set(other["sizes"]) <= same else [],
        "ratios": [one for one in _ratios(run, reference) if one["workload"] in same],
        "cells": [one for one in _cells(run, reference) if one["workload"] in same],
    }
    is_compared = document["ratios"] or document["cells"]
    return document | {"summary": summary(document), "here": claims_here(run) if is_compared else ""}


def outcome(reference: str, run: str) -> str:
    if reference not in DECISIONS:
        return NOT_DECIDED_THERE
    if run == NOT_TESTABLE:
        return NOT_MEASURED_HERE
    if run not in DECISIONS:
        return NOT_DECIDED_HERE
    return REPRODUCED if run == reference else NOT_REPRODUCED


def _claims(run: Dataset, reference: Dataset) -> list[dict]:
    others = reference.table("claims").set_index("id")["verdict"].to_dict()
    claims = {claim.id: claim for claim in definitions.load().claims}
    result = []
    for row in run.table("claims").to_dict("records"):
        identity = row["id"]
        if identity not in others or identity not in claims:
            continue
        claim, shared = claims[identity], None
        if row["verdict"] != NOT_TESTABLE:
            shared = on_shared(claim, *(ballot(claim, dataset) for dataset in (run, reference)))
        verdict, other = shared or (NOT_TESTABLE, others[identity])
        result.append({
            **{name: row[name] for name in ("id", "sentence", "evidence")},
            **{"reference": other, "reference_whole": others[identity], "run": verdict},
            "outcome": outcome(other, verdict),
        })  # fmt: skip
    return result


def _ratios(run: Dataset, reference: Dataset) -> list[dict]:
    """Return every ratio that both have, of the three stages and of replayed programs, with the reference's.

    predicted, inside: where the reference expects a run of this kind of machine, and whether the ratio lies there; None
    for a kind that it does not predict, and for at most half the rounds of the reference's runs, which vary more.
    verdicts: of the run, and of the reference. same_side: whether both have one direction; None if either has none.
    """
    rows, others = (_by_key(dataset) for dataset in (run, reference))
    machine = runs.kind(run.context)
    result = []
    for key in (key for key in rows if key in others):
        value, other = rows[key]["ratio"], others[key]
        of_kind = next((row for row in other[EACH_KIND] if row["machine"] == machine), {})
        low, high = (of_kind.get(f"predicted_{end}") for end in ("low", "high"))
        if not is_missing(low) and rows[key]["rounds"] <= of_kind["rounds"] / of_kind["runs"] / 2:
            low = high = None
        words = [rows[key]["verdict"], other["verdict"]]
        result.append({
            **{name: rows[key][name] for name in schema.COMPARISON_KEYS if rows[key][name]},
            **{"run": value, "reference": of_kind.get("ratio", other["ratio"])},
            "predicted": None if is_missing(low) else [low, high],
            "inside": None if is_missing(low) else low <= value <= high,
            "verdicts": words,
            "same_side": words[0] == words[1] if set(words) <= set(verdicts.DECIDED) else None,
        })  # fmt: skip
    return result


def _by_key(dataset: Dataset) -> dict[tuple, dict]:
    rows = dataset.comparisons()
    rows = rows[rows["quantity"].isin(_RATIOS) & rows["ratio"].notna()].to_dict("records")
    return {schema.key_of(row): row for row in rows}


def _cells(run: Dataset, reference: Dataset) -> list[dict]:
    """Return the status in both of every native cell that both ran: in the newest run, if there are several."""
    keys, sides = ["workload", "framework", "device"], []
    for side, dataset in (("run", run), ("reference", reference)):
        cells = dataset.table("cells")
        cells = cells[(cells["mode"] == schema.NATIVE) & (cells["status"] != Status.NOT_RUN)]
        newest = cells.sort_values("run", kind="stable").drop_duplicates(keys, keep="last")
        sides.append(newest[[*keys, "status"]].rename(columns={"status": side}))
    return sides[0].merge(sides[1], on=keys)[[*keys, "reference", "run"]].to_dict("records")


def summary(document: dict) -> str:
    """Return a few short sentences about all results, and one about the machine if any differs."""
    claims, ratios, cells = (document[name] for name in ("claims", "ratios", "cells"))
    if not ratios and not cells:
        return "Nothing is compared: the shapes of this run differ from those of the reference."
    words = (REPRODUCED, NOT_REPRODUCED, NOT_DECIDED_HERE, NOT_MEASURED_HERE)
    outcomes = [claim["outcome"] for claim in claims]
    reproduced, not_reproduced, open_here, not_measured = map(outcomes.count, words)
    decided = sum(claim["reference"] in DECISIONS for claim in claims)
    inside = [ratio["inside"] for ratio in ratios if ratio["inside"] is not None]
    sides = [ratio["same_side"] for ratio in ratios if ratio["same_side"] is not None]
    same = sum(cell["run"] == cell["reference"] for cell in cells)
    sentences = []
    if claims:
        sentences += [
            f"Of {decided} claims that the reference decides, {reproduced} are reproduced.",
            f"Not reproduced: {not_reproduced or 'none'}; not decided here: {open_here or 'none'}; without data "
            f"here: {not_measured or 'none'}.",
        ]
    if inside:
        sentences.append(
            f"Of {len(inside)} ratios, {sum(inside)} lie where the reference expects this kind of machine."
        )
    if sides:
        sentences.append(
            f"Of {len(sides)} ratios that both decide, {sum(sides)} have the direction of the reference."
        )
    if cells:
        sentences.append(f"Of {len(cells)} cells, {same} have the same status as in the reference.")
    if not_reproduced or not all(inside) or not all(sides) or same < len(cells):
        is_known = document["run"]["machine"] in document["reference"]["machines"]
        kind = "a kind that the reference has runs of" if is_known else "another kind than the reference's"
        sentences.append(f"The machine is of {kind}.")
    return " ".join(sentences)


def claims_here(run: Dataset) -> str:
    """Return which claims hold in a run, which do not, which stayed open, and what would decide those."""
    studies = {claim.id: study_of(run.config, claim) for claim in definitions.load().claims}
    table = run.table("claims")
    groups: dict[str, list[str]] = {}
    for row in table[table["id"].isin(studies)].to_dict("records"):
        verdict = row["verdict"]
        if verdict == NOT_DECIDED:
            verdict = OPEN if row["votes_open"] else SPLIT
        elif verdict == NOT_TESTABLE and studies[row["id"]] not in run.context.get("studies", []):
            verdict = UNMEASURED
        groups.setdefault(verdict, []).append(row["id"])
    named = [
        f"{words} ({len(groups[verdict])}): {', '.join(groups[verdict])}."
        for verdict, words in HERE.items()
        if verdict in groups
    ]
    if unmeasured := groups.get(UNMEASURED):
        missing = [name for name in run.config.studies if name in {studies[one] for one in unmeasured}]
        count, names = len(unmeasured), ",".join(missing)
        named.append(f"In studies that this run did not measure ({count}): make paper STUDIES={names}")
    return " ".join(named)


def report(document: dict) -> str:
    """Return the summary, the claims of the run, and each claim, ratio and cell that differs, on a line each."""
    lines = [document["summary"], *filter(None, [document["here"]])]
    machines = document["reference"]["machines"]
    if document["ratios"] and document["run"]["machine"] not in machines:
        lines.append(f"  the machine: {document['run']['machine']}; the reference's: {'; '.join(machines)}")
    for claim in document["claims"]:
        if claim["outcome"] == NOT_REPRODUCED:
            is_whole = claim["reference"] == claim["reference_whole"]
            other = f"{claim['reference']} in the reference{'' if is_whole else ' on what both tested'}"
            lines.append(
                f"  {NOT_REPRODUCED}: {claim['id']}: {other}, {claim['run']} here ({claim['evidence']})"
            )
    for ratio in document["ratios"]:
        head, other = "", ""
        if ratio["inside"] is False:
            head, other = "outside", f"predicted {' to '.join(map(digits, ratio['predicted']))}"
        elif ratio["same_side"] is False:
            head, other = "other side of 1", f"in the reference {digits(ratio['reference'])}"
        if head:
            subject, where = frameworks.title(ratio["subject"]), ratio.get("compiler") or ratio["device"]
            lines.append(
                f"  {head}: {ratio['quantity']} ratio of {ratio['workload']}, {subject}, {where}: "
                f"{digits(ratio['run'])}, {other}"
            )
    for cell in document["cells"]:
        if cell["run"] != cell["reference"]:
            lines.append(
                f"  another status: {cell['workload']}, {frameworks.title(cell['framework'])}, "
                f"{cell['device']}: {cell['run']}, in the reference {cell['reference']}"
            )
    return "\n".join(lines) + "\n"


def write(config: Config, folder: Folder) -> None:
    """Write reproduction.json and .txt of a run; for the reference they say that it is the reference."""
    reference = Folder(REFERENCE_TABLES)
    document: dict[str, Any] = {"summary": ""}
    if config.source == "reference":
        words = list(schema.read(folder["claims"])["verdict"])
        counts = [f"{words.count(word)} {word}" for word in CLAIM_VERDICTS if word in words]
        text = "This paper is made from the reference, not from a run of this machine.\n"
        text += f"Of {len(words)} claims: {', '.join(counts)}.\n"
    elif not reference["context"].exists():
        text = "There is no reference to compare this run with; fix: make accept makes it one.\n"
    else:
        document = compare(dataset_of(config, folder), dataset_of(config, reference))
        text = report(document)
    documents.write(folder["reproduction"], document)
    folder["reproduction_text"].write_text(text, encoding="utf-8")


class Freeze(NamedTuple):
    """A revision, and git's digests of DEFINITIONS and TABLES in it, by their paths."""

    revision: str
    digests: dict[str, str]

    def text(self, path: str) -> str:
        return machine.git("show", self.digests[path]) + "\n"


def freeze(revisions: Collection[str]) -> Freeze | None:
    """Return what was committed before a run that was measured with these revisions; None if git does not have it.

    It is the newest revision that all of them, and the checkout, descend from.
    """
    if not revisions:
        return None
    revision = machine.git("merge-base", "--octopus", *sorted(revisions), "HEAD")
    digests = {
        path: machine.git("rev-parse", "--verify", "--quiet", f"{revision}:{path}")
        for path in (DEFINITIONS, *TABLES.values())
    }
    return Freeze(revision, digests) if revision and all(digests.values()) else None


def confirmation(folder: Path, revisions: Collection[str]) -> dict[str, Any]:
    """Return the content of confirmation.json: what a run says about the reference that was committed before it.

    folder: of the run's tables. revisions: of the sources that measured it.
    """
    frozen = freeze(revisions)
    if frozen is None:
        return {"revision": "", "why": f"git has no reference of before the revisions {sorted(revisions)}"}
    run = Dataset(load(measure=documents.read(folder / "context.json")["studies"]), folder)
    with TemporaryDirectory() as temporary:
        for name, path in TABLES.items():
            Path(temporary, f"{name}.csv").write_text(frozen.text(path), encoding="utf-8")
        reference = Dataset(run.config, Path(temporary), is_reference=True)
        try:
            ratios, before = _ratios(run, reference), reference.table("claims").set_index("id")["verdict"]
        except ValueError as error:  # a table of that revision does not have a key of today's
            return {"revision": "", "why": str(error)}
    defined = yaml.safe_load(frozen.text(DEFINITIONS))["claims"]
    frozen_digests = {row["id"]: definitions.digest(**row) for row in defined}
    claims, changed = [], []
    for claim in (one for one in definitions.load().claims if not is_counted(one)):
        digest = definitions.digest(**vars(claim))
        if claim.id in before and frozen_digests.get(claim.id) == digest:
            words = {"reference": before[claim.id], "run": decide(claim, run).verdict}
            claims.append({"id": claim.id, "definition": digest, **words})
        else:
            changed.append(claim.id)
    sides = [one["same_side"] for one in ratios if one["verdicts"][1] in verdicts.DECIDED]
    inside = [one["inside"] for one in ratios]
    return {
        **frozen._asdict(),
        "machine": runs.kind(run.context),
        "claims": claims,
        "defined_later": changed,
        "directions": {
            "same": sides.count(True),
            "opposite": sides.count(False),
            "not decided": sides.count(None),
        },
        "predictions": {"inside": inside.count(True), "outside": inside.count(False)},
    }


class Ballot(NamedTuple):
    """The votes of one run on a claim by their rows, without those that have no data; and those without a level."""

    votes: dict[str, Vote]
    without: Without


class Stability(NamedTuple):
    """The claims whose numbers differ between two runs: how many there are, how many get another verdict from some
    two runs, and how many one run supports and another contradicts. pairs: of runs, over these claims; pairs_differ:
    pairs with two verdicts.
    """

    varying: int
    differ: int
    opposite: int
    pairs: int
    pairs_differ: int


def between_runs(config: Config, claims: Iterable[Claim], accepted: list[Run]) -> Stability:
    """Return how stable the verdicts of these claims are between accepted runs of the claims' studies."""
    data = [(Dataset(config, run.folder), run.context["studies"]) for run in accepted]
    verdict_pairs: list[list[set[str]]] = []
    for claim in claims:
        datasets = [one for one, studies in data if study_of(config, claim) in studies]
        if len(datasets) < 2 or is_counted(claim):
            continue
        ballots = [ballot(claim, one) for one in datasets]
        pairs = []
        for one, other in combinations(ballots, 2):
            both = [(one.votes[row], other.votes[row]) for row in one.votes.keys() & other.votes.keys()]
            # Two runs with the same numbers decide nothing anew.
            if any((a.word, a.number) != (b.word, b.number) for a, b in both):
                pairs.append(set(on_shared(claim, one, other)))
        if pairs:
            verdict_pairs.append(pairs)
    all_pairs = [verdicts for pairs in verdict_pairs for verdicts in pairs]
    return Stability(
        len(verdict_pairs),
        sum(any(len(verdicts) > 1 for verdicts in pairs) for pairs in verdict_pairs),
        sum({SUPPORTED, CONTRADICTED} in pairs for pairs in verdict_pairs),
        len(all_pairs),
        sum(len(verdicts) > 1 for verdicts in all_pairs),
    )


def ballot(claim: Claim, data: Dataset) -> Ballot:
    votes = {str(vote.row): vote for vote in row_votes(claim, data) if not vote.is_silent}
    return Ballot(votes, votes_without(claim, data))


def on_shared(claim: Claim, one: Ballot, other: Ballot) -> tuple[str, str] | None:
    """Return the verdicts of two runs on the rows that have data in both; None if there are none.

    A run that tested a claim on less than another one reproduces or contradicts what it tested, and no more.
    """
    shared = [row for row in one.votes if row in other.votes]
    if not shared:
        return None
    first, second = (
        judge(claim, by_unit(claim, [side.votes[row] for row in shared]), side.without)[0]
        for side in (one, other)
    )
    return first, second


if __name__ == "__main__":
    command(write, definitions.ClaimError)
