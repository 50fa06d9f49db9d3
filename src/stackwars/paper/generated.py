"""values.tex: the numbers, claim boxes, origins and stale paragraphs that the prose prints."""

from __future__ import annotations

from stackwars.claims.verdicts import CONTRADICTED, SUPPORTED
from stackwars.paper import guards, latex, prose
from stackwars.paper.guards import Stale
from stackwars.paper.keys import verdicts
from stackwars.paper.values import values
from stackwars.results.dataset import Dataset, Sources
from stackwars.results.schema import is_missing

COLOURS = {SUPPORTED: "green!18", CONTRADICTED: "orange!30"}
OPEN_COLOUR = "black!8"
FULL = "full"
"""The preset with the sizes of the study."""
_VOTES = ("votes_for", "votes_against", "votes_open")


def definitions(sources: Sources, is_reference: bool) -> str:
    """Return values.tex. is_reference: whether the build is of the reference and not of another run.

    :raises ProseError: for an unknown name, and in the reference for a paragraph whose verdicts differ.
    """
    numbers, found, paragraphs = values(_in_full(sources.reference)), list(prose.uses()), guards.read()
    claims = sources.reference.table("claims")
    known = {
        prose.VAL: numbers,
        prose.CLAIM: set(claims["id"]),
        prose.ORIGIN: set(sources.run.config["studies"]),
    }
    decided = verdicts(sources.reference)
    guards.check(paragraphs, decided)
    prose.check(found, known)
    if is_reference:
        guards.require(paragraphs, decided)
    used = {command: sorted({use.name for use in found if use.command == command}) for command in known}
    lines = [_define("val", name, numbers[name]) for name in used[prose.VAL]]
    lines += [_define("origin", study, origin(sources, study)) for study in used[prose.ORIGIN]]
    lines += [_define("claim", row["id"], box(row, _of_run(sources, row["id"], is_reference)))
              for row in claims.to_dict("records")]  # fmt: skip
    if not is_reference:
        different = guards.stale(paragraphs, verdicts(sources.run))
        lines += [_define("stale", text, _note(some)) for text, some in different.items()]
    return "\n".join(lines) + "\n"


def _in_full(reference: Dataset) -> Dataset:
    """Return the reference with all workloads: the text is about them, whichever a build has."""
    workloads = list(reference.config["presets"][FULL]["sizes"])
    config = reference.config | {"workloads": workloads}
    return Dataset(config, reference.folder, reference.is_reference, reference.measured)


def origin(sources: Sources, study: str) -> str:
    """Return the line under a heading, as LaTeX."""
    line = sources.origin(study)
    return latex.escape(line if sources.of(study).is_reference else f"{line} The text is about the reference.")


def box(reference: dict, run: dict | None) -> str:
    """Return a claim box as LaTeX: the verdict in the reference and, in another run's build, in that run."""
    whose = {"": reference} if run is None else {"Reference: ": reference, "This run: ": run}
    pills = " ".join(_pill(name, claim) for name, claim in whose.items())
    return rf"\claimtext{{{pills}}}{{{latex.escape(reference['sentence'])}}}"


def _pill(whose: str, claim: dict) -> str:
    """``Reference: supported 9 of 15``: the votes only if there are several."""
    votes = [claim[name] for name in _VOTES]
    text = f"{whose}{claim['verdict'] if whose else claim['verdict'].capitalize()}"
    if not any(map(is_missing, votes)) and sum(votes) > 1:
        text += f" {votes[0]:.0f} of {sum(votes):.0f}"
    return rf"\verdictpill{{{COLOURS.get(claim['verdict'], OPEN_COLOUR)}}}{{{latex.escape(text)}}}"


def _of_run(sources: Sources, claim: str, is_reference: bool) -> dict | None:
    rows = sources.run.table("claims").set_index("id", drop=False)
    if is_reference:
        return None
    return (
        rows.loc[claim].to_dict() if claim in rows.index else {"verdict": "not tested", **dict.fromkeys(_VOTES)}
    )


def _note(some: list[Stale]) -> str:
    """Return what stands above a grey paragraph, as LaTeX."""
    parts = [f"{one.name}: {one.expected} in the reference, {one.got} in this run" for one in some]
    return latex.escape("About the reference, not this run. " + "; ".join(parts))


def _define(kind: str, name: str, text: object) -> str:
    return rf"\expandafter\def\csname {kind}@{name}\endcsname{{{text}}}"
