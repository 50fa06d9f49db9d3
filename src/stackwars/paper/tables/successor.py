"""The successor's programs beside those of the two frontends, on the original's device."""

from __future__ import annotations

import json
from collections import Counter

import pandas

from stackwars.findings.collect import READ
from stackwars.frameworks import title
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.programs import structure_table
from stackwars.paper.tables.tabular import NO_VALUE, Float, row, span, table
from stackwars.paper.tables.targets import BRACKET, bracket
from stackwars.results import whole_programs
from stackwars.results.folder import Folder
from stackwars.results.read_cells import titles
from stackwars.results.read_compilers import (
    BASE,
    TARGET,
    compiler_title,
    compilers,
    target_title,
    variant_title,
)
from stackwars.results.values import is_missing
from stackwars.results.whole_programs import STUDY
from stackwars.study.comparisons import told, with_programs

MIB = 2**20
LEVEL = "normalised"
MOST_KINDS = 2
"""Kinds of operations that are named of each difference."""


def successor_tables(
    files: Folder,
    context: dict,
    ahead: pandas.DataFrame,
    batches: pandas.DataFrame,
    structure: pandas.DataFrame,
    metrics: pandas.DataFrame,
) -> dict[str, str]:
    """The tables of the study of the successor's programs, beside the frontends' of these tables."""
    own = [
        whole_programs.read(files[name], READ[name], context)
        for name in ("ahead", "largest_batch", "structure", "metrics")
    ]
    runs = [run for run in own[0].run.unique() if run]
    origin = "this build" if not runs else f"the successor's of the accepted run {', '.join(runs)}"
    of_all = [
        pandas.concat([there[there.workload.isin(mine.workload)], mine])
        for there, mine in zip((ahead, batches, structure, metrics), own, strict=True)
    ]
    programs = context["studies"].get(STUDY, {}).get("programs", ())
    frameworks, main = [*with_programs(context), *programs], told(context)[0]
    return {
        "successor": successor_table(*of_all[:2], frameworks, list(programs), origin),
        "successor_structure": structure_table(
            of_all[2],
            frameworks,
            origin,
            label="tab:successor_structure",
            caption="The Successor's Programs by the Published Claims About Form",
        ),
        "successor_operations": operations_table(
            of_all[3], frameworks, [main.subject, *programs, main.baseline], origin
        ),
    }


def successor_table(
    ahead: pandas.DataFrame,
    batches: pandas.DataFrame,
    frameworks: list[str],
    programs: list[str],
    origin: str,
) -> str:
    """A row per workload and size that the successor's programs have: memory, temporaries, the largest batch.

    ahead, batches: of all frameworks. programs: the successor's forms, of `frameworks` the last ones.
    """
    here = ahead[(ahead.target == TARGET) & ahead.framework.isin(frameworks)]
    order = compilers(here)
    newest = here[here.compiler.isin(order[-1:])]
    cells = newest.set_index(["workload", "variant", "framework"])
    limits = batches.set_index(["workload", "compiler", "framework"])
    lines, previous = [], None
    own = newest[newest.framework.isin(programs)].drop_duplicates(["workload", "variant"])
    for one in own.itertuples():
        keys = [(one.workload, one.variant, framework) for framework in frameworks]
        needs = [cells[name].get(key) for name in ("hbm_bytes", "temp_bytes") for key in keys]
        sides = [(one.workload, one.compiler, framework) for framework in frameworks]
        lines.append(
            row(
                [
                    escape(one.title) if one.workload != previous else "",
                    escape(variant_title(one)),
                    *("---" if is_missing(n) else significant(n / MIB) for n in needs),
                    *(bracket(limits, side) if one.variant == BASE else "''" for side in sides),
                ]
            )
        )
        previous = one.workload
    count = len(frameworks)
    names = [_stacked(title(name)) for name in frameworks]
    return table(
        Float(
            label="tab:successor",
            caption=f"The Successor of torch\\_xla on a {target_title(TARGET)}",
            columns="ll" + "@{\\hspace{8pt}}".join(3 * ["r" * count]),
            note="Batch: batch$\\times$sequence, or batch alone. Memory: of the device, as in "
            "Table~\\ref{tab:bytes}. Temporaries: what of it is neither arguments nor results. "
            f"Largest batch: searched for once a workload. {BRACKET} A dash: no data, or not "
            f"searched for. By {' and '.join(map(compiler_title, order[-1:])) or 'none'}. Origin: {origin}.",
            wide=True,
            size=r"\scriptsize",
        ),
        [
            row(
                [
                    *("", "", span(count, "Memory (MiB)")),
                    *(span(count, "Temporaries (MiB)"), span(count, "Largest batch")),
                ]
            ),
            row(["Workload", "Batch", *names, *names, *names]),
        ],
        lines or [row([span(2 + 3 * count, "no program of the successor was compiled")])],
    )


def _stacked(name: str) -> str:
    """A column's head; what stands in brackets goes on a line of its own."""
    lines = escape(name).replace(" (", r"\\(")
    return rf"\shortstack[r]{{{lines}}}"


def operations_table(
    metrics: pandas.DataFrame, frameworks: list[str], steps: list[str], origin: str
) -> str:
    """A row per workload: how many operations each program has, and what most of each difference is.

    metrics: ir_metrics.csv of all frameworks. steps: the frameworks in an order in which each one is compared
    with the one before it.
    """
    known = metrics[(metrics.level == LEVEL) & (metrics.status == "ok")]
    cells = known.set_index(["workload", "framework"])
    lines = []
    for workload, name in titles(known[known.framework.isin(steps[1:-1])]).items():
        keys = [(workload, framework) for framework in frameworks]
        counts = [f"{cells.operations[key]:.0f}" if key in cells.index else "---" for key in keys]
        kinds = [_kinds(cells, workload, framework) for framework in steps]
        lines.append(row([escape(name), *counts, *map(_difference, kinds, kinds[1:])]))
    names = [f"{{{escape(title(name))}}}" for name in frameworks]
    dash = "A dash: no program. " if any(NO_VALUE in line for line in lines) else ""
    return table(
        Float(
            label="tab:successor_operations",
            caption="The Successor's Operations: From torch\\_xla's Program to JAX's",
            columns=f"l{'r' * len(frameworks)}{'l' * (len(steps) - 1)}",
            note="Operations of the normalised programs, constants excluded. Difference: the "
            f"{MOST_KINDS} kinds whose numbers differ most in the program of the column's name from the one "
            f"before it, which for the first is {escape(title(steps[0]))}'s. {dash}Origin: {origin}.",
            wide=True,
            size=r"\scriptsize",
        ),
        [
            row(["", span(len(frameworks), "Operations"), span(len(steps) - 1, "Difference")]),
            row(["Workload", *names, *(f"{{to {escape(title(name))}}}" for name in steps[1:])]),
        ],
        lines
        or [row([span(len(frameworks) + len(steps), "no program of the successor was read")])],
    )


def _kinds(cells: pandas.DataFrame, workload: str, framework: str) -> Counter | None:
    if (workload, framework) not in cells.index:
        return None
    counts = json.loads(cells.operations_by_kind[workload, framework])
    return Counter({kind.removeprefix("stablehlo."): count for kind, count in counts.items()})


def _difference(one: Counter | None, other: Counter | None) -> str:
    """The kinds that differ most from one program to the other, the largest difference first."""
    if one is None or other is None:
        return "---"
    by = {kind: other[kind] - one[kind] for kind in sorted(one | other) if other[kind] != one[kind]}
    most = sorted(by, key=lambda kind: -abs(by[kind]))[:MOST_KINDS]
    told = [f"{escape(kind)} {by[kind]:+d}".replace("-", r"\textminus{}") for kind in most]
    return ", ".join(told) or "none"
