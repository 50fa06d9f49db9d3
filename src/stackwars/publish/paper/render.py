"""The paper's LaTeX: ``python -m stackwars.publish.paper.render``.

The prose is plain LaTeX (paper/sections, paper/appendix) and is copied as it is; values.tex defines the numbers, claim
boxes, origins and stale paragraphs that it prints. Only what depends on the build is a template (*.tex.j2): main.tex,
which chooses the paper or, for a run that the prose does not fit, a replication report; and lists. Delimiters are
\\VAR{...}, \\BLOCK{...} and \\#{...}; every value is escaped.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import jinja2

from stackwars.core import documents
from stackwars.core.outcome import Status
from stackwars.measure import workloads
from stackwars.publish.paper import latex, prose
from stackwars.publish.paper.prose import PAPER, ProseError, Stale
from stackwars.publish.paper.tables import causes, claims
from stackwars.publish.paper.tables.write import REGISTRY
from stackwars.publish.paper.values import BASELINE, SUBJECT, listed, values, verdicts
from stackwars.setup.device import CPU, CPUS
from stackwars.study import budget
from stackwars.study.claims.votes import CONTRADICTED, SUPPORTED
from stackwars.study.keys import Config
from stackwars.study.results import runs, schema
from stackwars.study.results.comparisons import EACH_KIND
from stackwars.study.results.dataset import Dataset, Sources, sources
from stackwars.study.results.folder import FIGURES, Folder, command
from stackwars.study.results.schema import is_missing

SUFFIX = ".tex.j2"
FULL = "full"
"""The preset with the sizes of the study."""
_VOTES = ("votes_for", "votes_against", "votes_open")


class RenderError(RuntimeError):
    """A template that cannot be rendered."""


def is_full_size(config: Config) -> bool:
    """Return whether this build has the sizes of the study."""
    return config.source == "reference" or config.chosen.sizes == config.presets[FULL].sizes


def has_prose(config: Config) -> bool:
    """Return whether the prose fits what this build shows: the same sizes, and the same comparison."""
    main = config.comparisons[0]
    return is_full_size(config) and (main.subject, main.baseline) == (SUBJECT, BASELINE)


def environment(templates: Path) -> jinja2.Environment:
    jinja = jinja2.Environment(
        block_start_string=r"\BLOCK{",
        block_end_string="}",
        variable_start_string=r"\VAR{",
        variable_end_string="}",
        comment_start_string=r"\#{",
        comment_end_string="}",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        finalize=latex.escape,
        loader=jinja2.FileSystemLoader(templates),
    )
    jinja.filters |= {"num": latex.number, "gib": latex.gibibytes, "latex": latex.Latex}
    return jinja


def render(templates: Path, names: dict[str, Any], output: Path) -> None:
    """Render every template, and copy every other LaTeX file, to the same place under ``output``.

    :raises RenderError: naming the template and what is missing.
    """
    jinja = environment(templates)
    for path in sorted([*templates.rglob("*.tex"), *templates.rglob(f"*{SUFFIX}")]):
        name = path.relative_to(templates).as_posix()
        target = output / name.removesuffix(".j2")
        target.parent.mkdir(parents=True, exist_ok=True)
        if not name.endswith(SUFFIX):
            shutil.copy(path, target)
            continue
        try:
            target.write_text(jinja.get_template(name).render(names), encoding="utf-8")
        except (jinja2.TemplateError, ValueError, TypeError, KeyError) as error:
            raise RenderError(f"paper/{name}: {error}") from error


def template_names(config: Config, folder: Folder, datasets: Sources) -> dict[str, Any]:
    """Return what the templates know of a build."""
    printed = config.paper
    measured = [study for study in config.studies if not datasets.dataset_for(study).is_reference]
    reproduction = documents.read(folder["reproduction"])
    accepted = datasets.reference.context["runs"]
    short_names = runs.short_names(run["machine"] for run in accepted)
    return {
        "is_reference": config.source == "reference",
        "is_full_size": is_full_size(config),
        "has_prose": has_prose(config),
        "context": datasets.run.context,
        "part": budget.sentence(config, _rounds(datasets.run)) if config.minutes else "",
        "reproduction": reproduction["summary"],
        "here": reproduction.get("here", ""),
        "steady": "" if config.source == "reference" or not is_full_size(config) else steady_here(datasets),
        "audits": claims.audit_state(datasets),
        "accepted": Counter(short_names[run["machine"]] for run in accepted),
        "claims": list(datasets.run.table("claims")["id"]),
        "tables": [table.name for table in REGISTRY if table.study in measured or table.name in causes.FAULTS],
        "listings": [name for name in printed.listings if (folder["listings"] / f"{name}.tex").exists()],
        "forms": [name for name in printed.forms if (folder["listings"] / f"forms-{name}.tex").exists()],
        "graphs": {
            name: workloads.load(name).TITLE
            for name in printed.graphs
            if (folder["compiler_figures"] / f"graph-{name}.pdf").exists()
        },
    }


def steady_here(datasets: Sources) -> latex.Latex:
    """Return this run's steady ratios by verdict, in brackets the reference's on each kind of machine."""
    where = {"quantity": schema.STEADY, "device": CPU, "subject": SUBJECT, "baseline": BASELINE}
    accepted = datasets.reference.comparisons("tables", **where)
    others = dict(zip(accepted["workload"], accepted[EACH_KIND], strict=True))
    groups: dict[str, list[str]] = {}
    for row in datasets.run.comparisons("tables", **where).dropna(subset=["ratio"]).to_dict("records"):
        ratios = [one["ratio"] for one in others.get(row["workload"], [])]
        known = [latex.number(ratio) for ratio in ratios if not is_missing(ratio)]
        others_text = f" ({listed(known)})" if known else ""
        text = f"{latex.escape(row['title'])} {latex.number(row['ratio'])}{others_text}"
        groups.setdefault(row["verdict"], []).append(text)
    return latex.Latex("; ".join(f"{verdict} on {', '.join(texts)}" for verdict, texts in groups.items()))


def _rounds(run: Dataset) -> list[float]:
    """Return the rounds of every cell of a run on the CPU that has a result."""
    cells = run.table("cells")
    ok = cells[(cells["mode"] == schema.NATIVE) & cells["device"].isin(CPUS) & (cells["status"] == Status.OK)]
    return list(ok["rounds"])


def build(config: Config, folder: Folder) -> None:
    """Fill the folder's ``latex`` with everything that latexmk needs; nothing outside is read.

    :raises ProseError: if the prose names something unknown, or the reference no longer supports it.
    """
    output, datasets = folder["latex"], sources(config, folder)
    values_tex = definitions(datasets, config.source == "reference")
    # A file left from an earlier build must not stand in for one that is missing now.
    shutil.rmtree(output, ignore_errors=True)
    copied = {part: part for part in ("tables", "listings")} | dict.fromkeys(FIGURES, "figures")
    for part, target in copied.items():
        shutil.copytree(folder[part], output / target, ignore=shutil.ignore_patterns(".*"), dirs_exist_ok=True)
    shutil.copy(PAPER / "references.bib", output / "references.bib")
    render(PAPER, template_names(config, folder, datasets), output)
    (output / "values.tex").write_text(values_tex, encoding="utf-8")


def definitions(sources: Sources, is_reference: bool) -> str:
    """Return values.tex. is_reference: whether the build shows the reference and not another run.

    :raises ProseError: for an unknown name, and in the reference for a paragraph whose verdicts differ.
    """
    reference = sources.reference
    # The text is about all workloads, whichever a build has.
    config = reference.config.changed(workloads=list(reference.config.presets[FULL].sizes))
    reference = Dataset(config, reference.folder, reference.is_reference, reference.measured)
    numbers, used_names, paragraphs = values(reference), list(prose.uses()), prose.read_guards()
    decided_claims = sources.reference.table("claims")
    known = {
        prose.VAL: numbers,
        prose.CLAIM: set(decided_claims["id"]),
        prose.ORIGIN: set(sources.run.config.studies),
    }
    decided = verdicts(reference)
    prose.check_guards(paragraphs, decided)
    prose.check(used_names, known)
    if is_reference:
        prose.require(paragraphs, decided)
    used = {command: sorted({use.name for use in used_names if use.command == command}) for command in known}
    # The report of another run has that run's rows, and the text has the reference's numbers.
    lines = [_define("val", name, latex.linked(*value) if is_reference else value.text)
             for name in used[prose.VAL] for value in (numbers[name],)]  # fmt: skip
    lines += [_define("origin", study, origin(sources, study)) for study in used[prose.ORIGIN]]
    lines += [_define("claim", row["id"], box(row, None if is_reference else _of_run(sources, row["id"])))
              for row in decided_claims.to_dict("records")]  # fmt: skip
    if not is_reference:
        different = prose.stale(paragraphs, verdicts(sources.run))
        lines += [_define("stale", text, _note(some)) for text, some in different.items()]
        lines.append(r"\renewcommand{\inthisrun}[1]{#1}")
    return "\n".join(lines) + "\n"


def origin(sources: Sources, study: str) -> str:
    """Return the line under a heading, as LaTeX."""
    is_own = not sources.dataset_for(study).is_reference
    return latex.escape(sources.origin(study) + (" The text is about the reference." if is_own else ""))


def box(reference: dict, run: dict | None) -> str:
    """Return a claim box as LaTeX: the verdict in the reference and, in another run's build, in that run."""
    whose = {"": reference} if run is None else {"Reference: ": reference, "This run: ": run}
    pills = " ".join(_pill(name, claim) for name, claim in whose.items())
    return rf"\claimtext{{{pills}}}{{{latex.escape(reference['sentence'])}}}"


def _pill(whose: str, claim: dict) -> str:
    """Return ``Reference: supported, 10 of 15 for, 5 against (9 needed)``; the count only if there are several votes.

    The levels without which there is no majority follow the count; they stand behind the box and may wrap.
    """
    votes = [claim[name] for name in _VOTES]
    verdict = f"{whose}{claim['verdict'] if whose else claim['verdict'].capitalize()}"
    text, rest = latex.escape(verdict) + claims.confirmed(claim), ""
    if not any(map(is_missing, votes)) and sum(votes) > 1 and claim["margin"]:
        count, _, rest = claim["margin"].partition("; ")
        text += latex.escape(f", {count}")
    colours = {SUPPORTED: "green!18", CONTRADICTED: "orange!30"}
    colour = colours.get(claim["verdict"], "black!8")
    behind = rf" {{\sffamily\scriptsize {latex.escape(rest)}}}" if rest else ""
    return rf"\verdictpill{{{colour}}}{{{text}}}{behind}"


def _of_run(sources: Sources, claim: str) -> dict:
    """Return the verdict and the votes of a claim in the run of this build."""
    rows = sources.run.table("claims").set_index("id", drop=False)
    return (
        rows.loc[claim].to_dict() if claim in rows.index else {"verdict": "not tested", **dict.fromkeys(_VOTES)}
    )


def _note(some: list[Stale]) -> str:
    """Return the note above a grey paragraph, as LaTeX."""
    parts = [f"{one.name}: {one.expected} in the reference, {one.got} in this run" for one in some]
    return latex.escape("About the reference, not this run. " + "; ".join(parts))


def _define(kind: str, name: str, text: object) -> str:
    return rf"\expandafter\def\csname {kind}@{name}\endcsname{{{text}}}"


if __name__ == "__main__":
    command(build, RenderError, ProseError, runs.DamagedRunError)
