"""The successor's programs beside those of the two frontends, on the original's device."""

from __future__ import annotations

import pandas

from stackwars.findings.collect import READ
from stackwars.findings.successor import STUDY
from stackwars.frameworks import title
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.programs import structure_table
from stackwars.paper.tables.tabular import Float, row, span, table
from stackwars.paper.tables.targets import BRACKET, bracket
from stackwars.results.folder import Folder
from stackwars.results.read_compilers import BASE, TARGET, compilers, target_title, variant_title
from stackwars.results.values import is_missing
from stackwars.results.whole_study import of_programs
from stackwars.study.comparisons import with_programs

MIB = 2**20


def successor_tables(
    files: Folder,
    context: dict,
    ahead: pandas.DataFrame,
    batches: pandas.DataFrame,
    structure: pandas.DataFrame,
) -> dict[str, str]:
    """The tables of the study of the successor's programs, beside the frontends' of these tables."""
    own = [
        of_programs(files, name, READ[name], context, STUDY)
        for name in ("ahead", "largest_batch", "structure")
    ]
    runs = [run for run in own[0].run.unique() if run]
    origin = "this build" if not runs else f"the successor's of the accepted run {', '.join(runs)}"
    of_all = [
        pandas.concat([there[there.workload.isin(mine.workload)], mine])
        for there, mine in zip((ahead, batches, structure), own, strict=True)
    ]
    programs = context["studies"].get(STUDY, {}).get("programs", ())
    frameworks = [*with_programs(context), *programs]
    return {
        "successor": successor_table(*of_all[:2], frameworks, origin),
        "successor_structure": structure_table(
            of_all[2],
            frameworks,
            label="tab:successor_structure",
            caption="The Successor's Programs by the Published Claims About Form",
            origin=origin,
        ),
    }


def successor_table(
    ahead: pandas.DataFrame, batches: pandas.DataFrame, frameworks: list[str], origin: str
) -> str:
    """A row per workload and size that the successor's programs have: temporaries, and the largest batch.

    ahead, batches: of all frameworks. The successor's are the last ones of `frameworks`.
    """
    here = ahead[(ahead.target == TARGET) & ahead.framework.isin(frameworks)]
    order = compilers(here)
    newest = here[here.compiler.isin(order[-1:])]
    cells = newest.set_index(["workload", "variant", "framework"])
    limits = batches.set_index(["workload", "compiler", "framework"])
    lines, previous = [], None
    for one in newest[newest.framework == frameworks[-1]].itertuples():
        needs = [
            cells.temp_bytes.get((one.workload, one.variant, framework)) for framework in frameworks
        ]
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
    names = [f"{{{escape(title(name))}}}" for name in frameworks]
    return table(
        Float(
            label="tab:successor",
            caption=f"The Successor of torch\\_xla on a {target_title(TARGET)}",
            columns=f"ll{'r' * count}@{{\\hspace{{8pt}}}}{'r' * count}",
            note="Batch: batch$\\times$sequence, or batch alone. Temporaries: what a program holds beside its "
            f"arguments and results. Largest batch: searched for once a workload. {BRACKET} A dash: not "
            f"searched for. By {escape(order[-1]) if order else 'no compiler'}. Origin: {origin}.",
            wide=True,
            size=r"\scriptsize",
        ),
        [
            row(["", "", span(count, "Temporaries (MiB)"), span(count, "Largest batch")]),
            row(["Workload", "Batch", *names, *names]),
        ],
        lines or [row([span(2 + 2 * count, "no program of the successor was compiled")])],
    )
