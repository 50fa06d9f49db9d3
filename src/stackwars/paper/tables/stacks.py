"""Tables of the stacks: what each is, those that differ in one thing, and when a call of each returns."""

from __future__ import annotations

import re

from stackwars.frameworks import load, title
from stackwars.paper.latex import Latex, escape, significant
from stackwars.paper.tables.rows import interval, share
from stackwars.paper.tables.tabular import Float, row, span, table
from stackwars.results.verdicts import NO_DATA, Finding


def explained_table(studies: dict[str, dict]) -> str:
    """A row a framework of these studies, in their order: what it is, as `explained` has it."""
    names = [name for one in studies.values() for name in (*one["frameworks"], *one["programs"])]
    return table(
        Float(
            label="tab:explained",
            caption="What Each Stack Is",
            columns="ll",
            note="Origin: the notes of the frameworks' modules, and of one without a note the first line.",
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Stack", "How it runs a workload, or makes its program"])],
        [row([escape(title(name)), explained(name)]) for name in dict.fromkeys(names)],
    )


def explained(name: str) -> Latex:
    """What the note of a framework's module says of it or, without one, the first line of its docstring.

    What is in backquotes there is set as code.
    """
    module = load(name)
    line = module.__doc__.partition("\n")[0].removeprefix(f"{module.TITLE}: ").partition(";")[0]
    text = getattr(module, "NOTE", line).rstrip(".")
    parts = re.split("`([^`]*)`", text[0].upper() + text[1:])
    return Latex(
        "".join(
            rf"\texttt{{{escape(part)}}}" if code % 2 else escape(part)
            for code, part in enumerate(parts)
        )
    )


def beside_table(findings: list[Finding]) -> str:
    """A row a workload, a column a pair: steady state of the one over the other, with its interval.

    findings: those of `versus/...`, see `stackwars.findings.stacks`.
    """
    known = [f for f in findings if f["verdict"] != NO_DATA]
    pairs = list(dict.fromkeys((f["framework"], f["other"]) for f in known))
    titles = list(dict.fromkeys(f["title"] for f in known))
    cells = {(f["title"], f["framework"], f["other"]): f for f in known}
    lines = [
        row([escape(name), *(_cell(cells.get((name, *pair))) for pair in pairs)]) for name in titles
    ]
    heads = (rf"{{{escape(title(one))} / {escape(title(other))}}}" for one, other in pairs)
    return table(
        Float(
            label="tab:beside",
            caption="Stacks beside Each Other: Steady State of One over the Other",
            columns="l" + "l" * max(1, len(pairs)),
            note=r"With its 95\,\% interval, from the interleaved ratios of both to the same baseline, which "
            "are independent; not corrected for their number. Origin: this build or, of a workload that it did "
            "not measure, a run of the reference.",
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Workload", *(heads if pairs else [""])])],
        lines or [row([span(2, "nothing to compare")])],
    )


def _cell(found: Finding | None) -> str:
    if found is None:
        return "---"
    return f"{significant(found['ratio'])} {interval(found['low'], found['high'])}"


def returned_table(findings: list[Finding]) -> str:
    """A row a workload, a column a framework: ms until a steady call returned, and their share of its time.

    findings: those of `dispatch/...`, see `stackwars.findings.stacks`.
    """
    known = [f for f in findings if f["id"].startswith("dispatch/") and f["share"] is not None]
    names = list(dict.fromkeys(f["framework"] for f in known))
    cells = {(f["title"], f["framework"]): f for f in known}
    lines = [
        row([escape(workload), *(_returned(cells.get((workload, name))) for name in names)])
        for workload in dict.fromkeys(f["title"] for f in known)
    ]
    return table(
        Float(
            label="tab:returned",
            caption="When a Steady Call Has Returned: Milliseconds, and Share of the Time until It Is Done",
            columns="l" + "l" * max(1, len(names)),
            note="Median over the processes, of single calls after the timed blocks; the share is of the "
            "steady state. The rest of a call's time is what its fence waits for. A dash: no result, or "
            "returning was not timed. Origin: as in Table~\\ref{tab:beside}.",
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Workload", *(f"{{{escape(title(name))}}}" for name in names or [])])],
        lines or [row([span(2, "no call was timed until it returned")])],
    )


def _returned(found: Finding | None) -> str:
    return (
        "---" if found is None else f"{significant(found['returned_ms'])} ({share(found['share'])})"
    )
