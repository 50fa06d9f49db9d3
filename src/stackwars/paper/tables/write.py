"""The paper's tables from the frame: ``python -m stackwars.paper.tables.write``.

Tables I-III are the original paper's, IV sets its ratios beside ours, then come the basic operations on
one core, every comparison, the audit and the rounds of every cell; those of the split, of what fits, and
of the programs; and the shapes. Each table names the origin of its numbers; a cell without numbers shows why.
"""

from __future__ import annotations

import pandas

from stackwars import frameworks
from stackwars.audits import audit_entries, fault_entries
from stackwars.claims import definitions
from stackwars.claims.output import read_claims
from stackwars.findings.beyond import beyond_findings
from stackwars.findings.collect import READ
from stackwars.findings.edits import replayed_edits
from stackwars.findings.growth import growth_findings
from stackwars.findings.lecture import lecture_findings
from stackwars.findings.matrix import subset_findings
from stackwars.findings.precision import precision_findings
from stackwars.findings.sharding import sharding_findings
from stackwars.findings.stacks import stack_findings
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables import claims
from stackwars.paper.tables.audit_summary import audits_table, brief_audits_table
from stackwars.paper.tables.audits import audit_table, round_table, shape_table
from stackwars.paper.tables.beyond import forms_table, training_table
from stackwars.paper.tables.faults import faults_table
from stackwars.paper.tables.growth import series_table, shapes_table
from stackwars.paper.tables.lecture import lecture_table
from stackwars.paper.tables.matrix import effects_table, matrix_table, subsets_table, ynn_table
from stackwars.paper.tables.memory import bytes_table, fit_table
from stackwars.paper.tables.nodes import nodes_table
from stackwars.paper.tables.precision import precision_table
from stackwars.paper.tables.programs import metrics_table, structure_table
from stackwars.paper.tables.ratios import comparison_table, published_table
from stackwars.paper.tables.rows import (
    STAGES,
    framework_cell,
    grouped,
    mark_notes,
    origin,
    origins,
    steady_mark,
    whole,
)
from stackwars.paper.tables.sharding import sharded_table, slice_table
from stackwars.paper.tables.split import edit_table, split_table
from stackwars.paper.tables.spread import (
    CELL,
    REPLAY,
    SPREAD_NOTE,
    Spread,
    of_call,
    spread_text,
    steady,
    ungated,
)
from stackwars.paper.tables.stacks import beside_table, explained_table, returned_table
from stackwars.paper.tables.successor import successor_tables
from stackwars.paper.tables.tabular import Float, row, s_column, span, table
from stackwars.paper.tables.targets import largest_batch_table, target_table
from stackwars.paper.tables.unexplained import unexplained_table
from stackwars.paper.tables.variance import variance_table
from stackwars.results import published
from stackwars.results.folder import Folder, command
from stackwars.results.read_cells import (
    of_study,
    one_core_cells,
    read_calls,
    read_json,
    read_published,
    short_status,
    shown_cells,
)
from stackwars.results.read_compilers import read_default_precision, read_gap_causes
from stackwars.results.whole_study import of_workloads, read_whole
from stackwars.setup.device import CPU
from stackwars.study.comparisons import PROGRAMS, comparisons, told, with_programs

CAPTIONS = {
    "I": "Latency of Basic Operations (ms)",
    "II": "Latency of End-to-End Models (ms)",
    "III": "Large Models: Latency (ms) or Failure",
}


def numbered_table(
    frame: pandas.DataFrame, spreads: dict[str, Spread], there: pandas.DataFrame, number: str
) -> str:
    """Table I, II or III, with the published numbers below those of this run."""
    cells = shown_cells(frame[frame.table == number])
    return latency_table(cells, spreads, f"tab:{number}", CAPTIONS[number], there)


def one_core_table(frame: pandas.DataFrame, spreads: dict[str, Spread]) -> str:
    """The same for what was measured on one pinned core."""
    caption = "Latency on One Pinned Core (ms)"
    return latency_table(one_core_cells(frame), spreads, "tab:one-core", caption)


def spreads_of(
    frame: pandas.DataFrame, calls: pandas.DataFrame, processes: pandas.DataFrame
) -> dict[str, Spread]:
    """{stage: the spread of its latency over the processes of each cell}."""
    first, second = (of_call(calls, number) for number in (1, 2))
    return {"first": first, "second": second, "steady": steady(frame, processes, CELL)}


def latency_table(
    cells: pandas.DataFrame,
    spreads: dict[str, Spread],
    label: str,
    caption: str,
    there: pandas.DataFrame | None = None,
) -> str:
    """First run, second run and steady state in ms, each with its spread, and throughput; or the status.

    there: the published table, whose row stands below that of each framework that has one. A framework that
    has no form of any of these workloads is a sentence of the note and no row.
    """
    formless = [
        name
        for name, own in cells.groupby("framework", sort=False)
        if own.status.eq("unsupported").all()
    ]
    cells = cells[~cells.framework.isin(formless)]
    beside = {} if there is None else _published(there)
    ok = cells[cells.status == "ok"]
    shown = {s: [significant(v, 4) for v in ok[f"{s}_ms"]] for s in STAGES}
    for numbers in beside.values():
        for stage, value in zip(STAGES, numbers, strict=False):
            shown[stage].append(value)
    throughput = s_column([significant(v, 3) for v in ok.items_per_s])
    numbers = "".join(s_column(shown[s]) + r">{\scriptsize}l" for s in STAGES)

    def line(cell: pandas.Series, first: bool) -> str:
        values: list[str] = []
        for stage in STAGES if cell.status == "ok" else []:
            ends = spread_text(spreads[stage], tuple(cell[CELL]))
            mark = steady_mark(cell.gated, cell.steady_class) if stage == "steady" else ""
            values += [significant(cell[f"{stage}_ms"], 4), ends + mark]
        if values:
            values.append(significant(cell.items_per_s, 3))
        head = [escape(cell.title) if first else "", framework_cell(cell)]
        ours = row([*head, *(values or [span(7, short_status(cell))]), whole(cell.rounds)])
        theirs = beside.get((cell.workload, cell.framework)) if cell.device == CPU else None
        return ours if theirs is None else f"{ours}\n{_published_line(theirs)}"

    heads = [span(2, s) for s in ("First run", "Second run", "Steady state")]
    header = [
        row(["Workload", "Framework", *heads, "{Items/s}", "{Rounds}"]),
    ]
    note = (
        f"After each number: {SPREAD_NOTE}. Numbers are geometric means over the processes; a process's "
        "steady state is the median of its uncontended blocks. Items: rows, elements, sequences or images, at "
        "the steady state. "
    )
    if beside:
        note += r"\textit{Published}: the original's number, of one run on a TPU v6e. "
    lines = grouped(cells, line)
    note += mark_notes(lines)
    for name in cells.framework.drop_duplicates():
        if frameworks.variant(name):
            base = escape(frameworks.title(frameworks.program_of(name)))
            note += f"{frameworks.variant(name).capitalize()}: {base} with {frameworks.load(name).NOTE}. "
    for name in formless:
        note += f"{escape(frameworks.title(name))} has no form of these workloads. "
    return table(
        Float(
            label=label,
            caption=caption,
            columns=f"ll{numbers}{throughput}r",
            note=note + origins(cells),
            wide=True,
            separation="4pt",
            size=r"\scriptsize",
        ),
        header,
        lines or [row([span(10, "no cell of this table is configured")])],
    )


def _published(there: pandas.DataFrame) -> dict[tuple[str, str], list[str]]:
    """{(workload, framework): first, second and steady ms as text, or the status alone}."""
    columns = list(published.PUBLISHED_COLUMNS.values())
    return {
        (row_.workload, row_.framework): [significant(row_[name], 4) for name in columns]
        if row_.status == "ok"
        else [row_.status]
        for _, row_ in there.iterrows()
    }


def _published_line(numbers: list[str]) -> str:
    head = ["", r"\quad\textit{published}"]
    if len(numbers) == 1:
        return row([*head, span(7, numbers[0]), ""])
    return row([*head, *(cell for number in numbers for cell in (number, "")), "{---}", ""])


def write_tables(files: Folder) -> None:
    """Write every table but those of claims into the folder's ``tables``."""
    there, context = read_published(files["published"]), read_json(files["context"])
    frame, ratios, replay, split, ahead, batches, metrics, structure = (
        of_study(read(files[name]), context) for name, read in READ.items()
    )
    processes, replayed = (pandas.read_csv(files[name]) for name in ("processes", "replayed"))
    spreads = spreads_of(frame, read_calls(files["calls"]), processes)
    replays = steady(replay, replayed, REPLAY)
    default = of_study(read_default_precision(files["ahead"]), context)
    matrix = read_whole(files["matrix"], context)
    beyond = read_whole(files["beyond"], context)
    sharding = sharding_findings(of_workloads(files, "sharding", context), told(context))
    growth, shapes = (of_workloads(files, name, context) for name in ("growth", "shapes"))
    stacks = stack_findings(read_whole(files["stacks"], context), context["beside"])
    pairs, (main, *others) = comparisons(context, PROGRAMS), told(context)
    models = frame.loc[frame.kind == "model", "workload"]
    audits, audited = audit_entries.read(files["audits"]), audit_entries.run_of(files["audits"])
    of_audits = f"the accepted run {audited}" if audited else context["origin"]
    texts = {
        "table1": numbered_table(frame, spreads, there, "I"),
        "table2": numbered_table(frame, spreads, there, "II"),
        "table3": numbered_table(frame, spreads, there, "III"),
        "table4": published_table(frame, ratios, there),
        "one_core": one_core_table(frame, spreads),
        "ratios": comparison_table(frame, ratios),
        "audit": audit_table(frame),
        "rounds": round_table(frame, ungated(processes)),
        "split": split_table(replay, split, replays, main, "tab:split")
        + "".join(split_table(replay, split, replays, p, f"tab:split-{p.subject}") for p in others),
        "edits": edit_table(replay, replays, replayed_edits(replay, split)),
        "effects": effects_table(
            read_whole(files["matrix_effects"], context),
            dict(zip(matrix.workload, matrix.title, strict=True)),
        ),
        "subsets": subsets_table(subset_findings(read_whole(files["matrix_subsets"], context))),
        "matrix": matrix_table(matrix),
        "ynn": ynn_table(matrix),
        "explained": explained_table(context["studies"]),
        "beside": beside_table([f for f in stacks if f["id"].startswith("versus/")]),
        "returned": returned_table(stacks),
        "lecture": lecture_table(
            lecture_findings(stacks, published.read_lecture(files["lecture"]))
        ),
        "forms": forms_table(beyond_findings(beyond), beyond, context["origin"]),
        "training": training_table(beyond, context["origin"]),
        "series": series_table(growth),
        "distinct_shapes": shapes_table(growth_findings(growth, shapes)),
        "sharded": sharded_table(sharding),
        "slices": slice_table(sharding),
        "unexplained": unexplained_table(read_gap_causes(files["gap_causes"])),
        "fits": fit_table(ahead, there, pairs),
        "bytes": bytes_table(ahead[ahead.workload.isin(models)], there, main),
        "largest_batch": largest_batch_table(batches, with_programs(context)),
        "targets": target_table(ahead, pairs),
        "precision": precision_table(precision_findings(ahead, default), context["origin"]),
        "metrics": metrics_table(metrics, pairs),
        "structure": structure_table(structure, with_programs(context), origin(metrics)),
        "audits": audits_table(audits, of_audits),
        "audits_brief": brief_audits_table(audits, of_audits),
        "faults": faults_table(fault_entries.read(files["faults"])),
        "nodes": nodes_table(context["nodes"]),
        "shapes": shape_table(frame, context),
        "variance": variance_table(pandas.read_csv(files["variance"])),
    }
    texts |= successor_tables(files, context, ahead, batches, structure, metrics)
    files["tables"].mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (files["tables"] / f"{name}.tex").write_text(text, encoding="utf-8")


def write(config: dict, files: Folder) -> None:
    """Write every table."""
    write_tables(files)
    rows = read_claims(files["claims"])
    claims.write_tables(definitions.load(), rows, config, files["claim_tables"])


if __name__ == "__main__":
    command(write)
