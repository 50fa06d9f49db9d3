"""Gather what the report shows, as one document of plain values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from stackwars.core import documents
from stackwars.core.compilers import FACTS
from stackwars.core.documents import Row
from stackwars.core.launch import REPOSITORY
from stackwars.core.numbers import shortened
from stackwars.core.ratio import geometric_mean
from stackwars.explain import answer, console
from stackwars.explain.answer import Answer, Cause, Fault, Question, Region
from stackwars.measure import frameworks
from stackwars.publish.paper.figures.ratios import MATRIX, TABLES
from stackwars.publish.paper.values import format_checks
from stackwars.publish.report import raw, tables
from stackwars.setup.device import CPU
from stackwars.study import sharding
from stackwars.study.audits import audit_entries
from stackwars.study.claims import definitions
from stackwars.study.claims.decide import label
from stackwars.study.claims.votes import NOT_TESTABLE, counts, votes_for
from stackwars.study.keys import Config
from stackwars.study.printed import OPTIMISED
from stackwars.study.programs import BASE, native_compiler
from stackwars.study.results import runs, schema
from stackwars.study.results.comparisons import LARGE
from stackwars.study.results.dataset import Dataset, Sources
from stackwars.study.results.folder import REFERENCE, Folder
from stackwars.study.results.programs import base_compiler, compiler_title
from stackwars.study.studies import CELLS, PROGRAMS, comparisons, measured_studies
from stackwars.study.studies import folder as folder_name

CLAIM = ("id", "origin", "sentence", "verdict", "confirmed", "margin", "evidence")
GLOSSARY = REPOSITORY / "docs" / "glossary.md"
CLAIMS = REPOSITORY / "docs" / "claims.md"
AUDIT = ("id", "title", "verdict", "aim", "detail")
MARK = "\N{DAGGER}"
"""Mark of a number that comes from the reference, not from the reported run."""
_INTERVAL = re.compile(r" \([^()]* to [^()]*\)")


def gather(sources: Sources) -> Row:
    """Return the document of the page.

    Raw calls are those in the folder of what was measured; they belong to the rows whose `run` is `raw_run`.
    """
    run, context, config = sources.run, sources.run.context, sources.run.config
    folder = Folder(run.folder, run.measured)
    # The reference has the raw results of its newest full run.
    raw_run = context.get("run", "") if run.is_reference else ""
    cells, compiled = tables.cells(sources), tables.compiled(sources)
    names = dict.fromkeys([*frameworks.names(), *(row["framework"] for row in (*cells, *compiled))])
    listed, compared = folder["report_programs"], folder["reproduction"]
    reproduction = documents.read(compared) if compared.exists() else {}
    short_names, accepted = tables.kind_names(sources), sources.reference.context.get("runs", [])
    pairs = comparisons(config, PROGRAMS) or comparisons(config, CELLS)
    pair = {side: getattr(pairs[0], side) if pairs else "" for side in ("subject", "baseline")}
    figure = [run.study(name) for name in (TABLES, MATRIX) if name in config.studies]
    result = {
        "name": titled(run),
        "mark": MARK,
        "meta": {key: context.get(key) for key in ("machine", "date_utc", "preset", "origin", "git_revision")},
        "studies": {name: _study(sources, name) for name in run.config.studies},
        "glossary": glossary(GLOSSARY.read_text(encoding="utf-8")),
        "claims_changed": changes(CLAIMS.read_text(encoding="utf-8")),
        "reproduction": reproduction.get("summary", ""),
        "against": reproduction if reproduction.get("ratios") or reproduction.get("cells") else None,
        "frameworks": {name: _framework(name) for name in names},
        "kinds": {one["run"]: short_names[one["machine"]] for one in accepted},
        "machines": runs.by_speed(short_names.values()),
        "pair": pair,
        "native": native_compiler(config) or "",
        "compilers": {name: _compiler(config, name) for name in config.compilers},
        "figure": sorted({name for study in figure for name in study.workloads}),
        "large": LARGE,
        "cells": cells,
        "raw_run": raw_run,
        "details": raw.cells(run.measured),
        "replays": raw.replays(run.measured),
        "comparisons": tables.comparisons(sources),
        "quantities": schema.QUANTITIES,
        "causes": tables.causes(sources),
        "memory": tables.memory(sources),
        "effects": tables.of_one_study(sources, tables.COMPILERS, "effects"),
        "releases": tables.of_one_study(sources, "releases", "releases"),
        "explained": [tables.origin_of(sources, sources.reference) | row for row in explained(REFERENCE)],
        "facts": {name: text.partition(";")[0] for name, text in FACTS.items()},
        "compiled": compiled,
        "values": tables.values(sources),
        "programs": documents.read(listed)["programs"] if listed.exists() else [],
        "timeline": raw.profiles(sources, raw_run),
        "claims": claims(run),
        "checks": format_checks(run),
        "audits": [
            {key: one.get(key) for key in AUDIT} for one in audit_entries.read(folder["audits"]).entries
        ],
    }
    return result | {"why": why(sources, result)}


def glossary(text: str) -> dict[str, str]:
    """Return the meaning of each word, from lines `- **word** — meaning`."""
    return dict(re.findall(r"^- \*\*(.+)\*\* \N{EM DASH} (.+)$", text, re.MULTILINE))


def claims(run: Dataset) -> list[Row]:
    """Return the claims of a run: what confirms each, its votes, and the columns that identify a vote's row."""
    defined = {claim.id: claim for claim in definitions.load().claims}
    table = run.table("claims")
    labels = [label(row) for row in table.to_dict("records")]
    rows = tables.records(table.assign(confirmed=labels), CLAIM)
    for row in rows:
        if row["verdict"] != NOT_TESTABLE:  # the votes have the numbers
            row["evidence"] = counts(row.get("evidence", ""))
    return [row | _ballot(run, defined[row["id"]]) for row in rows if row["id"] in defined]


def changes(text: str) -> str:
    """Return the paragraphs of a page that say what a review of the claims struck, reworded or added."""
    reviews = [paragraph for paragraph in text.split("\n\n") if paragraph.startswith("A review on ")]
    return " ".join(" ".join(reviews).replace("`", "").split())


def _ballot(run: Dataset, claim: definitions.Claim) -> Row:
    where = {key: value for key, value in claim.query.get("where", {}).items() if isinstance(value, str)}
    votes = []
    for vote in votes_for(claim, run):
        shown = {name: getattr(vote, name) for name in ("vote", "word", "title")}
        # A ratio has one interval in the report, the comparison's; a one-sided claim decides by another one.
        votes.append(where | (vote.row or {}) | shown | {"number": _INTERVAL.sub("", vote.number)})
    return {
        "table": claim.query["table"],
        "study": definitions.study_of(run.config, claim),
        "votes": votes,
        "workloads": sorted({vote["workload"] for vote in votes if vote.get("workload")}),
    }


def _study(sources: Sources, name: str) -> dict[str, Any]:
    """Return where a study is from, whether that is the reference in the report of another run, the folder of its
    run, and the option for that run.
    """
    config = sources.run.config.changed(source="measured")
    is_usual = not sources.dataset_for(name).is_reference or name in measured_studies(config)
    return {
        "origin": sources.origin(name),
        **tables.origin_of(sources, sources.dataset_for(name)),
        "folder": f"results/{folder_name(config if is_usual else config.changed(measure=[name]))}",
        "option": "" if is_usual else f"--config 'measure=[{name}]' ",
    }


def _compiler(config: Config, name: str) -> Row:
    """Return the title of a compiler, the options that it sets, and the compiler without them."""
    flags = config.compilers[name].options
    options = " ".join(f"{flag}={value}" for flag, value in flags.items())
    return {"title": compiler_title(name), "options": options, "base": base_compiler(name)}


def titled(run: Dataset) -> str:
    """Return the name of a run for a reader: where its tables are, and when it ended."""
    return f"{run.folder.name} of {run.context['date_utc'][:16].replace('T', ' ')}"


def _framework(name: str) -> dict[str, str]:
    if name in frameworks.names():
        return {"title": frameworks.title(name), "colour": frameworks.load(name).COLOUR}
    return {"title": sharding.title(name), "colour": "#555555"}


def explained(reference: Path) -> list[Row]:
    """Return the answers of every file in the folder, first those about workloads.

    Each: the answer's name, title, workload and command; kind (cause or fault), compiler, subject and baseline
    (or the other compiler), verdict, sentence, share that is closed and its interval, regions, cures (what
    makes the fault or the gap go away), the program that it was reduced to and the script that reproduces it.
    """
    # Searches of programs whose difference is known are no answer.
    paths = [path for path in (reference / "explain").glob("*.json") if path.name != "planted_pairs.json"]
    rows = [row for path in sorted(paths) for row in answer_rows(answer.read(Answer, path))]
    return sorted(rows, key=lambda row: not row["workload"])


def answer_rows(document: Answer) -> Iterator[Row]:
    about = {name: getattr(document, name) for name in ("name", "title", "command")}
    # A file outside the workloads names itself there.
    about["workload"] = "" if "/" in document.workload else document.workload
    answers = {(type(one), one.name): one for one in (*document.causes, *document.faults)}
    for question in document.table.questions:
        one = answers.get((Fault if question.kind == "fault" else Cause, question.id))
        if one:
            yield about | _answer_row(question, one)


def _answer_row(question: Question, result: Cause | Fault) -> Row:
    is_fault = isinstance(result, Fault)
    closed = None if is_fault else result.closed
    # An option that changes a gap between compilers stands with what it does.
    cures = (
        result.cures
        if is_fault
        else [f"{one.flag} ({one.ratio:.3g} times the time in {one.compiler})" for one in result.options]
    )
    return {
        "kind": question.kind,
        "compiler": question.compiler,
        "subject": question.a,
        "baseline": question.b or "",
        "other": question.other or "",
        "verdict": result.verdict,
        "sentence": console.paragraph(result),
        **{name: _digits(closed and getattr(closed, name)) for name in ("share", "low", "high")},
        "regions": [] if is_fault else list(map(_region, result.regions)),
        "cures": cures,
        "reduced": result.reduced if is_fault else "",
        "script": result.script if is_fault else "",
    }


def _region(region: Region) -> Row:
    return {
        "what": tables.difference(region.what),
        "places": tables.places(region.what, region.count),
        "subject_line": region.line_a,
        "baseline_line": region.line_b,
        "subject_ms": _digits(region.a_ms),
        "baseline_ms": _digits(region.b_ms),
        "share": _digits(region.share),
        "why": region.reason.sentence,
        "subject": region.a,
        "baseline": region.b,
    }


def _digits(value: float | None) -> float | None:
    return None if value is None else shortened(value)


def why(sources: Sources, document: Row) -> dict[str, Row]:
    """Return {workload: its steps and commands} of the workloads for which the pair of frameworks has a number.

    document: comparisons, compiled, native, pair and studies, as `gather` has them.
    """
    subject, baseline = document["pair"].values()
    compiled = having(document["compiled"], variant=BASE)
    known = {row["workload"] for row in compiled if row["framework"] in (subject, baseline)}
    for row in document["comparisons"]:
        sides = row["subject"], row["baseline"]
        is_of_pair = {
            schema.STEADY: sides[1] == baseline,
            schema.PAIRWISE: subject in sides,
            schema.REPLAY: sides == (subject, baseline),
        }
        if row.get("device") == CPU and "ratio" in row and is_of_pair.get(row["quantity"]):
            known.add(row["workload"])
    return {
        workload: {
            "waterfall": _waterfall(sources, document, workload),
            "commands": _commands(sources, document, workload),
        }
        for workload in sources.run.config.workloads
        if workload in known
    }


def _waterfall(sources: Sources, document: Row, workload: str) -> Row | None:
    """Return the steps from the baseline's call to the subject's, in ms: the program, then everything else.

    Times and ratios are of the newest run with both: one run's ms times ratios pooled over runs would be a time that
    nobody measured.
    """
    where = {"workload": workload, "device": CPU, "compiler": document["native"], **document["pair"]}
    known = having(document["comparisons"], **where)
    for is_other in (False, True):  # both of one source: this run if it has them
        rows = {row["quantity"]: row for row in known if ("reference" in row) == is_other and "ratio" in row}
        if not {schema.NATIVE_CALLS, schema.REPLAY} <= rows.keys():
            continue
        calls = _rounds(sources, rows[schema.NATIVE_CALLS]).dropna(subset=["baseline_ms"])
        replays = _rounds(sources, rows[schema.REPLAY])
        if both := set(calls["run"]) & set(replays["run"]):
            run = max(both)
            steps = _steps(calls[calls["run"] == run], replays[replays["run"] == run])
            mark = {"reference": True} if is_other else {}
            return {"compiler": document["native"], "run": run, "steps": steps, **mark}
    return None


def _rounds(sources: Sources, row: Row) -> pd.DataFrame:
    """Return the rounds of a comparison that have a ratio."""
    table = sources.dataset_for(row["studies"][0]).table("rounds")
    for name in ("quantity", "workload", "device", "compiler", "subject", "baseline"):
        table = table[table[name] == row.get(name, "")]
    return table.dropna(subset=["ratio"])


def _steps(calls: pd.DataFrame, replays: pd.DataFrame) -> list[Row]:
    """Return the steps of a waterfall from the rounds of native calls and of replays, all of one run."""
    start, native, program = (
        geometric_mean(list(values)).value
        for values in (calls["baseline_ms"], calls["ratio"], replays["ratio"])
    )
    middle, end = start * program, start * native
    steps = [
        ("baseline", 0.0, start),
        ("program", start, middle),
        (schema.EVERYTHING_ELSE, middle, end),
        ("subject", 0.0, end),
    ]
    return [{"name": name, "from": shortened(before), "to": shortened(after)} for name, before, after in steps]


def _commands(sources: Sources, document: Row, workload: str) -> list[list[str]]:
    """Return [what it does, the command] for every command that measures or searches the pair's numbers here."""
    (subject, baseline), native = document["pair"].values(), document["native"]
    studies_of_run = [sources.run.study(name) for name in sources.run.config.studies]
    known = [study for study in studies_of_run if workload in study.workloads]
    names = [baseline, subject]
    measured = [study.name for study in known if study.has_cell(subject, workload, CPU)]
    replayed = [study.name for study in known if native in study.compilers]
    cells, optimised = (
        [f"{CPU}/{name}/{workload}/{file}" for name in names] for file in ("cell.json", OPTIMISED)
    )
    result = []
    for text, studies, files in (
        ("Measure both", measured, cells),
        ("Replay both programs", replayed, [f"replay/{CPU}/{native}/{workload}/replay.json"]),
        ("Have what the compiler makes of both in the next report", measured, optimised),
    ):
        if studies:
            study = document["studies"][studies[0]]
            targets = " ".join(f"{study['folder']}/{path}" for path in files)
            result.append([text, f".venv/bin/snakemake --cores 1 {study['option']}{targets}"])
    sides = f"COMPILERS={native} FRONTENDS={','.join(names)}"
    result.append(["Search the cause", f"make explain PROGRAM={workload} {sides}"])
    result.append(["Find the release that changed it", f"make releases PROGRAM={workload}"])
    return [*result, ["Check the values", f"make study STUDIES=values WORKLOADS={workload}"]]


def having(rows: Iterable[Row], **where: object) -> list[Row]:
    """Return the rows with these values; a missing column is empty."""
    return [row for row in rows if all(row.get(name, "") == value for name, value in where.items())]
