"""The stacks: what each is, pairs of them, and one function in two forms."""

from __future__ import annotations

import re

import pandas as pd

from stackwars.measure import workloads
from stackwars.measure.frameworks import load, title
from stackwars.publish.paper.latex import Latex, escape
from stackwars.publish.paper.tables.table import Column, Table, frame, indexed, pooled_over, ratio
from stackwars.setup.device import CPU
from stackwars.study.results import schema
from stackwars.study.results.dataset import Sources

STUDY, BEYOND = "stacks", "beyond"
FORMS_OF = ("jax", "torch_xla", "torch_inductor")


def explained_rows(sources: Sources) -> pd.DataFrame:
    """Return what each framework of the studies is."""
    studies = sources.run.config.studies.values()
    names = [name for row in studies for name in (*row.frameworks, *row.programs)]
    return frame([{"stack": title(name), "text": explained(name)} for name in dict.fromkeys(names)])


def explained(name: str) -> Latex:
    """Return the note of a framework's module, or its docstring's first line; `code` is set as code."""
    module = load(name)
    line = module.__doc__.partition("\n")[0].removeprefix(f"{module.TITLE}: ").partition(";")[0]
    text = getattr(module, "NOTE", line).rstrip(".")
    parts = re.split("`([^`]*)`", text[0].upper() + text[1:])
    return Latex(
        "".join(rf"\texttt{{{escape(one)}}}" if code % 2 else escape(one) for code, one in enumerate(parts))
    )


def pairwise_rows(sources: Sources) -> pd.DataFrame:
    data = sources.dataset_for(STUDY)
    table = data.comparisons(STUDY, quantity=schema.PAIRWISE, device=CPU).dropna(subset="ratio")
    result = []
    for name, rows in table.groupby("title", sort=False):
        row = {f"{one['subject']}/{one['baseline']}": ratio(one) for one in rows.to_dict("records")}
        result.append({"workload": name, **dict.fromkeys(map("/".join, _pairs(sources))), **row})
    return frame(result, pooled_over(data, table))


def _pairs(sources: Sources) -> list[list[str]]:
    return sources.run.config.paper.pairwise


def pairwise_columns(sources: Sources) -> tuple[Column, ...]:
    heads = [
        (Latex(rf"\shortstack[l]{{{escape(title(a))} /\\{escape(title(b))}}}"), f"{a}/{b}")
        for a, b in _pairs(sources)
    ]
    return (
        Column("Workload", "workload"),
        *(Column(head, value, "ratio") for head, value in heads),
    )


def form_rows(sources: Sources) -> pd.DataFrame:
    """Return the ratios of one form of a function over the other, by framework."""
    data = sources.dataset_for(BEYOND)
    table = data.comparisons(BEYOND, quantity=schema.FORM, device=CPU)
    table = table[table["subject"].isin(FORMS_OF)]
    result = []
    for (workload, plain), rows in table.groupby(["workload", "baseline_workload"], sort=False):
        by_key = indexed(rows, "subject", "variant")
        for name in (name for name in FORMS_OF if (name, schema.STEADY) in by_key):
            stages = {stage: by_key.get((name, stage)) for stage in (schema.STEADY, schema.FIRST)}
            row = {"forms": _forms(workload, plain), "framework": title(name)}
            result.append(row | {stage: ratio(one) for stage, one in stages.items()})
    return frame(result, pooled_over(data, table))


def _forms(one: str, plain: str) -> str:
    """Return ``RNN, unrolled / scan``."""
    special, other = (workloads.load(name).TITLE for name in (one, plain))
    return f"{special} / {other.removeprefix(special.partition(',')[0]).strip(' ,') or 'plain'}"


TABLES = (
    Table(
        name="explained",
        caption="What Each Stack Is",
        rows=explained_rows,
        columns=(
            Column("Stack", "stack"),
            Column("How it runs a workload, or makes its program", "text"),
        ),
    ),
    Table(
        name="pairwise",
        caption="Stacks in Pairs: Steady State of One over the Other",
        rows=pairwise_rows,
        columns=pairwise_columns,
        study=STUDY,
        note=r"""In brackets: the intervals that decide, from the ratios of both to the same baseline, which are
        independent.""",
    ),
    Table(
        name="forms",
        caption="One Function in Two Forms: Time of One over the Other",
        rows=form_rows,
        columns=(
            *(Column("Forms", "forms"), Column("Framework", "framework")),
            *(
                Column("Steady state", schema.STEADY, "ratio"),
                Column("First run", schema.FIRST, "ratio"),
            ),
        ),
        study=BEYOND,
        group_by="forms",
        note=r"""In brackets: 95\,\% intervals. A framework without a row does not have both forms.""",
        wide=False,
    ),
)
