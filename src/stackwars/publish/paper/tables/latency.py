"""Tables of native calls: the original's I to III with ours, the ratios of both, how much ours vary, and the stacks."""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd

from stackwars.core.outcome import Status
from stackwars.measure import frameworks, workloads
from stackwars.publish.paper.latex import Latex, escape
from stackwars.publish.paper.tables.table import (
    GIB,
    Column,
    Range,
    StruckOut,
    Table,
    columns_as,
    frame,
    indexed,
    main,
    pooled_over,
    ratio,
    ratios_by,
    set_marks,
    short_status,
    spanning,
)
from stackwars.setup.device import CPU, CPUS, ONE_THREAD
from stackwars.study.results import published, runs, schema, variance
from stackwars.study.results.dataset import Sources
from stackwars.study.results.schema import is_missing
from stackwars.study.results.verdicts import NO_STEADY_STATE

STUDY, STACKS, BEYOND = "tables", "stacks", "beyond"
FORMS_OF = ("jax", "torch_xla", "torch_inductor")
TITLES = {schema.FIRST: "First run", schema.SECOND: "Second run", schema.STEADY: "Steady state"}
_TIMES = [f"{stage}{what}" for stage in schema.STAGES for what in ("", "_range")]
_COUNTS = ("items", "peak", "rounds")
"""Behind the times. A row without times has a text over the times and the first of these."""
_NOTE = r"""Mean: geometric mean over fresh processes; a process's steady state is the median of its
    loops. Range: the smallest and the largest process. Items: rows, elements,
    sequences or images a second, of 16 calls with one fence where a call takes less than 50 ms. Peak: the
    largest resident memory of a process in GiB, with its framework, compiler and weights.
    \textit{Published}: the original's number, of one run on a TPU v6e."""
_AS_IN_I = r"Columns as in Table~\ref{tab:I}."


def latency(number: str) -> Callable[[Sources], pd.DataFrame]:
    """Return what makes the rows of Table I, II or III: each cell, and below it the published one."""

    def rows(sources: Sources) -> pd.DataFrame:
        cells = sources.dataset_for(STUDY).rows("cells", STUDY)
        ran = ~cells["device"].isin(CPUS) & (cells["status"] != Status.NOT_RUN)
        cells = cells[(cells["table"] == number) & ((cells["device"] == CPU) | ran)]
        has_form = cells["status"].ne(Status.UNSUPPORTED).groupby(cells["framework"]).transform("any")
        published_rows, result = _published(), []
        for cell in cells[has_form].to_dict("records"):
            result.append({"workload": cell["title"], "framework": framework_cell(cell), **_times(cell)})
            key = cell["workload"], cell["framework"]
            if cell["device"] == CPU and key in published_rows.index:
                result.append({"workload": cell["title"], **_verbatim(published_rows.loc[key])})
        return frame(result, _remarks(cells[has_form], cells[~has_form]))

    return rows


def framework_cell(cell: dict) -> str:
    """Return the framework, indented if it varies another, with the device unless it is all of the CPU."""
    variant = frameworks.variant(cell["framework"])
    name = variant or frameworks.title(cell["framework"])
    shown = escape(name if cell["device"] == CPU else f"{name}, {cell['device']}")
    return Latex(rf"\quad {shown}") if variant else shown


def _times(cell: dict) -> dict:
    """Return the cells of a row: three times with their ranges, or the status in their place."""
    if cell["status"] == Status.WRONG:
        *before, steady, steady_range = _TIMES
        struck = {steady: StruckOut(cell["struck_ms"]), **dict.fromkeys((steady_range, *_COUNTS), "")}
        return spanning(short_status(cell), *before) | struck | {"rounds": cell["rounds"], "peak": _peak(cell)}
    if cell["status"] != Status.OK:
        counts = dict.fromkeys(_COUNTS, "") | {"rounds": cell["rounds"]}
        return counts | spanning(short_status(cell), *_TIMES, _COUNTS[0])
    marks = set_marks(unsettled=cell["steady_class"] == NO_STEADY_STATE, ungated=not cell["gated"])
    unfenced = 1.0 if is_missing(cell["throughput_ms"]) else cell["steady_ms"] / cell["throughput_ms"]
    result = {"items": cell["items_per_s"] * unfenced, "rounds": cell["rounds"], "peak": _peak(cell)}
    for stage in schema.STAGES:
        ends = cell[f"{stage}_min_ms"], cell[f"{stage}_max_ms"]
        result[stage] = cell[f"{stage}_ms"]
        result[f"{stage}_range"] = Range(*ends, marks if stage == schema.STEADY else ())
    return result


def _peak(cell: dict) -> float:
    return cell["peak_rss_bytes"] / GIB


def _published() -> pd.DataFrame:
    """Return the original's tables, every number as it was printed."""
    published_rows = pd.read_csv(published.PUBLISHED, dtype=str, keep_default_na=False)
    return published_rows.set_index(["workload", "framework"])


def _verbatim(row: pd.Series) -> dict:
    head = {"framework": Latex(r"\quad\textit{published}"), **dict.fromkeys((*_TIMES, *_COUNTS), "")}
    if row["status"] != Status.OK:
        return head | spanning(row["status"], *_TIMES, _COUNTS[0])
    return head | {stage: row[column] for stage, column in published.COLUMNS.items()}


def _remarks(shown: pd.DataFrame, formless: pd.DataFrame) -> str:
    """Return what the variants of the table are, and which frameworks have no row."""
    remarks = []
    for name in shown["framework"].drop_duplicates():
        if variant := frameworks.variant(name):
            base = frameworks.title(frameworks.program_of(name))
            remarks.append(f"{variant.capitalize()}: {base} with {frameworks.load(name).NOTE}.")
    names = [frameworks.title(name) for name in formless["framework"].drop_duplicates()]
    remarks += [f"{name} has no form of these workloads." for name in names]
    newest = [run for run in shown["run"].drop_duplicates() if run]
    remarks += [f"A workload's times are of one run ({', '.join(newest)})."] if newest else []
    return escape(" ".join(remarks))


def _latency_table(number: str, caption: str, note: str) -> Table:
    times = [
        column
        for stage, title in TITLES.items()
        for column in (Column("mean", stage, "ms", title), Column("range", f"{stage}_range", "range", title))
    ]
    return Table(
        name=number,
        caption=caption,
        rows=latency(number),
        columns=(
            *columns_as("text", workload="Workload", framework="Framework"),
            *times,
            *columns_as("number", items="Items/s", peak="Peak"),
            Column("Rounds", "rounds", "count"),
        ),
        study=STUDY,
        group_by="workload",
        note=note,
        separation="4pt",
    )


def ratio_rows(sources: Sources) -> pd.DataFrame:
    """Return the ratios of the main comparison and its variants, a row for each workload."""
    data, pair = sources.dataset_for(STUDY), main(sources)
    table = data.comparisons(STUDY, baseline=pair.baseline)
    by_key = indexed(table, "workload", "subject", "device", "quantity")
    cells = data.rows("cells", STUDY)
    is_subject = cells["framework"].map(frameworks.program_of) == pair.subject
    result = []
    for cell in cells[is_subject & (cells["device"] == CPU)].to_dict("records"):
        keys = [(cell["workload"], cell["framework"], CPU, stage) for stage in schema.STAGES]
        ours = [by_key.get(key) for key in keys]
        row = {"workload": cell["title"], "framework": framework_cell(cell)}
        sides = cell["workload"], cell["framework"]
        row |= _ours(ours, cell, sides in data.short_calls) | _theirs(ours, cell["workload"])
        others = {"one_core": (ONE_THREAD, schema.STEADY), "cpu_time": (CPU, schema.STEADY_CPU)}
        result.append(row | {name: ratio(by_key.get((*sides, *where))) for name, where in others.items()})
    return frame(result, pooled_over(data, table[table["quantity"].isin(schema.STAGES)]))


def _ours(ours: list[dict | None], cell: dict, is_short: bool) -> dict:
    *_, steady = ours
    if steady is None or is_missing(steady["ratio"]):
        reason = "no time of the baseline" if cell["status"] == Status.OK else short_status(cell)
        return spanning(reason, *schema.STAGES, "detectable")
    marks = set_marks(apart=not steady["interleaved"], contended=steady["contended"], short=is_short)
    return {
        **{stage: ratio(row) for stage, row in zip(schema.STAGES, ours, strict=True)},
        schema.STEADY: ratio(steady, marks),
        "detectable": steady["detectable"],
    }


def _theirs(ours: list[dict | None], workload: str) -> dict:
    columns = [f"published_{stage}" for stage in schema.STAGES]
    published_rows = _published()
    failed = published_rows[
        (published_rows.index.get_level_values(0) == workload) & (published_rows["status"] != Status.OK)
    ]
    if len(failed):
        where = "both" if len(failed) > 1 else failed["title"].iloc[0]
        return spanning(f"{failed['status'].iloc[0]} in {where}", *columns)
    values = [row["published_ratio"] if row else None for row in ours]
    return dict(zip(columns, values, strict=True))


def variance_rows(sources: Sources) -> pd.DataFrame:
    """Return a row for each quantity and device, with the deviation at each level."""
    data = sources.dataset_for(STUDY)
    this_run = runs.Run("this run", data.folder, runs.kind(data.context))
    deviations = variance.table(runs.read() if data.is_reference else [this_run])
    titles = {CPU: "all cores", ONE_THREAD: "one core"}
    result = []
    for (quantity, device), rows in deviations.groupby(["quantity", "device"], sort=False):
        levels = dict(zip(rows["level"], rows["deviation"], strict=True))
        result.append({"number": f"Steady {quantity}, {titles[device]}", **levels})
    return frame(result)


def explained_rows(sources: Sources) -> pd.DataFrame:
    """Return what each framework of the studies is."""
    studies = sources.run.config.studies.values()
    names = dict.fromkeys(name for row in studies for name in (*row.frameworks, *row.programs))
    return frame([{"stack": frameworks.title(name), "text": explained(name)} for name in names])


def explained(name: str) -> Latex:
    """Return the note of a framework's module, or its docstring's first line; `code` is set as code."""
    module = frameworks.load(name)
    line = module.__doc__.partition("\n")[0].removeprefix(f"{module.TITLE}: ").partition(";")[0]
    text = getattr(module, "NOTE", line).rstrip(".")
    parts = re.split("`([^`]*)`", text[0].upper() + text[1:])
    return Latex(
        "".join(rf"\texttt{{{escape(one)}}}" if code % 2 else escape(one) for code, one in enumerate(parts))
    )


def pairwise_rows(sources: Sources) -> pd.DataFrame:
    data = sources.dataset_for(STACKS)
    table = data.comparisons(STACKS, quantity=schema.PAIRWISE, device=CPU).dropna(subset="ratio")
    pairs = map("/".join, sources.run.config.paper.pairwise)
    named = table.assign(pair=table["subject"] + "/" + table["baseline"])
    return frame(ratios_by("pair", list(pairs), named), pooled_over(data, table))


def pairwise_columns(sources: Sources) -> tuple[Column, ...]:
    columns = [Column("Workload", "workload")]
    for pair in sources.run.config.paper.pairwise:
        subject, baseline = (escape(frameworks.title(name)) for name in pair)
        head = Latex(rf"\shortstack[l]{{{subject} /\\{baseline}}}")
        columns.append(Column(head, "/".join(pair), "ratio"))
    return tuple(columns)


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
            row = {"forms": _forms(workload, plain), "framework": frameworks.title(name)}
            result.append(row | {stage: ratio(one) for stage, one in stages.items()})
    return frame(result, pooled_over(data, table))


def _forms(one: str, plain: str) -> str:
    """Return ``RNN, unrolled / scan``."""
    special, other = (workloads.load(name).TITLE for name in (one, plain))
    return f"{special} / {other.removeprefix(special.partition(',')[0]).strip(' ,') or 'plain'}"


TABLES = (
    _latency_table("I", "Latency of Basic Operations (ms)", _NOTE),
    _latency_table("II", "Latency of End-to-End Models (ms)", _AS_IN_I),
    _latency_table("III", "Large Models: Latency (ms) or Failure", _AS_IN_I),
    Table(
        name="published",
        caption="Ratios of Latencies, torch_xla over JAX: Published and Ours",
        rows=ratio_rows,
        columns=(
            *columns_as("text", workload="Workload", framework="Framework"),
            *(Column(stage, f"published_{stage}", "number", "Published") for stage in schema.STAGES),
            *(Column(stage, stage, "ratio", "Ours") for stage in schema.STAGES),
            Column("detect.", "detectable", "percent", "Ours"),
            *columns_as("ratio", one_core="Steady, one core", cpu_time="CPU time"),
        ),
        study=STUDY,
        group_by="workload",
        note=r"""Ours: from rounds of native calls alone; Table~\ref{tab:split} has those between replays. In
        brackets: the interval, which decides; its level is such that of all intervals of a stage and
        device that decide 5\,\% may miss the ratio. Detect.: smallest difference of the steady state found in 4 of
        5 such experiments. CPU time: of all threads in the loops of the steady ratio, in the runs that have it. The
        original's device is another, so only directions can be compared.""",
        separation="2.2pt",
    ),
    Table(
        name="variance",
        caption="Standard Deviation of a Number at Each Level",
        rows=variance_rows,
        columns=(
            Column("", "number"),
            *(Column(level.capitalize(), level, "percent") for level in variance.LEVELS),
        ),
        study=STUDY,
        note=r"""Standard deviations of logarithms, shown as percentages; moments of the nested design, pooled
        over workloads. Process: within a round; round: within a run, and of a ratio with a process of each side;
        run: on one kind of machine; machine: between kinds (processor, cores, cache, class of peak).""",
        wide=False,
    ),
    Table(
        name="explained",
        caption="What Each Stack Is",
        rows=explained_rows,
        columns=columns_as("text", stack="Stack", text="How it runs a workload, or makes its program"),
    ),
    Table(
        name="pairwise",
        caption="Stacks in Pairs: Steady State of One over the Other",
        rows=pairwise_rows,
        columns=pairwise_columns,
        study=STACKS,
        note=r"""In brackets: the intervals that decide, from the ratios of both to the same baseline, which are
        independent.""",
    ),
    Table(
        name="forms",
        caption="One Function in Two Forms: Time of One over the Other",
        rows=form_rows,
        columns=(
            *columns_as("text", forms="Forms", framework="Framework"),
            *columns_as("ratio", steady="Steady state", first="First run"),
        ),
        study=BEYOND,
        group_by="forms",
        note=r"""In brackets: 95\,\% intervals. A framework without a row does not have both forms.""",
        wide=False,
    ),
)
