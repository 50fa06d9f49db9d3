"""Tables of the replays: both programs in one compiler, in every compiler, and after an edit."""

from __future__ import annotations

import pandas as pd

from stackwars.compilers import XLA
from stackwars.frameworks import title
from stackwars.measure.log_ratio import Estimate, direction
from stackwars.paper.latex import Latex, scientific
from stackwars.paper.tables.formats import mark, percentage
from stackwars.paper.tables.spec import (
    Column,
    Range,
    Ratio,
    Struck,
    Table,
    frame,
    indexed,
    main,
    pooled_over,
    ratio,
    short_status,
    spanning,
)
from stackwars.results import effects, schema
from stackwars.results.dataset import Sources
from stackwars.results.names import compiler_title
from stackwars.results.schema import is_missing
from stackwars.results.verdicts import (
    CLOSES_SOME,
    DUE_TO_PROGRAM,
    DUE_TO_RUNTIME,
    EQUIVALENT,
    FASTER,
    INCONCLUSIVE,
    NO_DATA,
    NOT_SEPARATED,
    SLOWER,
)
from stackwars.setup.device import CPU
from stackwars.study.programs import native_compiler

STUDY, MATRIX = "tables", effects.STUDY
_NATIVE = (schema.RUNTIME, schema.STEADY, schema.MARGIN, schema.CONTROL)
"""Columns that only the native compiler has."""
_REASONS = {DUE_TO_PROGRAM: "program", DUE_TO_RUNTIME: "runtime", NOT_SEPARATED: "not separated"}


def split_rows(sources: Sources) -> pd.DataFrame:
    """Return a row for each workload and compiler: both replays, and the factors of the native ratio."""
    data, pair = sources.of(STUDY), main(sources)
    study = data.study(STUDY)
    replays = indexed(data.rows("cells", STUDY, schema.REPLAY), "workload", "compiler", "framework")
    table = data.comparisons(STUDY, device=CPU, baseline=pair.baseline)
    table = table[table["subject"].isin([pair.subject, pair.baseline])]
    by_key = indexed(table, "quantity", "workload", "compiler")
    result = []
    for workload, compiler in ((w, c) for w in study.workloads for c in study.compilers):
        cells = [replays.get((workload, compiler, side)) for side in pair.sides]
        if not all(cells):
            continue
        row = {"workload": cells[0]["title"], "compiler": compiler_title(compiler)}
        result.append(row | _factors(by_key, workload, compiler, sources.run.config) | _replays(cells))
    return frame(result, _worst(replays) + pooled_over(data, table))


def _worst(replays: dict[tuple, dict]) -> str:
    """Return how far the outputs of the replayed programs are apart at most."""
    worst = pd.Series([cell["parity_rel_l2"] for cell in replays.values()], dtype=float).max()
    if is_missing(float(worst)):
        return ""
    return rf"Outputs of both programs differ by a relative $L_2$ of at most {scientific(worst)}. "


def _replays(cells: list[dict]) -> dict:
    """Return the times of both sides; in place of their ratio why one of them has no time, or a wrong result."""
    result, failed = {}, None
    for side, cell in zip(("base", "own"), cells, strict=True):
        result[side] = Struck(cell["struck_ms"]) if cell["status"] == "wrong" else cell["steady_ms"]
        result[f"{side}_range"] = Range(cell["steady_min_ms"], cell["steady_max_ms"])
        failed = failed or (cell if cell["status"] != "ok" else None)
    if failed:
        reason = f"{title(failed['framework'])}: {short_status(failed)}"
        result |= spanning(reason, schema.REPLAY, *_NATIVE)
    return result


def _factors(by_key: dict[tuple, dict], workload: str, compiler: str, config: dict) -> dict:
    """Return the ratios of a row; the native calls are those of one compiler."""
    result: dict[str, object] = dict.fromkeys(_NATIVE, "")
    result[schema.REPLAY] = ratio(by_key.get((schema.REPLAY, workload, compiler)))
    if compiler != native_compiler(config):
        return result
    for quantity in _NATIVE:
        result[quantity] = ratio(
            by_key.get((quantity, workload, "" if quantity == schema.STEADY else compiler))
        )
    margin = by_key.get((schema.MARGIN, workload, compiler), {})
    return result | {schema.MARGIN: _REASONS.get(margin.get("verdict"))}


def split_columns(sources: Sources) -> tuple[Column, ...]:
    """Return the columns of the split, named by what is compared."""
    base, own = map(title, main(sources).sides)
    return (
        *(Column("Workload", "workload"), Column("Compiler", "compiler")),
        Column("mean", "base", "ms", f"{base} (ms)"),
        Column("range", "base_range", "range", f"{base} (ms)"),
        Column("mean", "own", "ms", f"{own} (ms)"),
        Column("range", "own_range", "range", f"{own} (ms)"),
        *(Column("Program", schema.REPLAY, "ratio"), Column("Runtime", schema.RUNTIME, "ratio")),
        *(Column("Native", schema.STEADY, "ratio"), Column("Reason", schema.MARGIN)),
        Column("Control", schema.CONTROL, "ratio"),
    )


def compiler_rows(sources: Sources) -> pd.DataFrame:
    """Return the replay ratio of the main comparison, a row a workload, a column a compiler."""
    data, pair = sources.of(MATRIX), main(sources)
    table = data.comparisons(MATRIX, quantity=schema.REPLAY, subject=pair.subject, baseline=pair.baseline)
    result = [
        {"workload": name, **{row["compiler"]: ratio(row) for row in rows.to_dict("records")}}
        for name, rows in table.groupby("title", sort=False)
    ]
    result = [dict.fromkeys(data.study(MATRIX).compilers) | row for row in result]
    return frame(result, pooled_over(data, table))


def compiler_columns(sources: Sources) -> tuple[Column, ...]:
    """Return a column for each compiler of the matrix."""
    names = sources.of(MATRIX).study(MATRIX).compilers
    return (
        Column("Workload", "workload"),
        *(Column(compiler_title(name), name, "ratio") for name in names),
    )


def _edits(sources: Sources) -> pd.DataFrame:
    """Return the edits of both programs of the main comparison, by compilers that are XLA."""
    compilers, sides = sources.run.config["compilers"], main(sources).sides
    edits = sources.of(STUDY).comparisons(quantity=schema.EDIT, device=CPU)
    is_xla = edits["compiler"].map(lambda name: compilers.get(name, {}).get("module", XLA) == XLA)
    return edits[is_xla.astype(bool) & edits["baseline"].isin(sides) & edits["detail"].isin(sides)]


def edit_rows(sources: Sources) -> pd.DataFrame:
    """Return a row for each edited program of the main comparison, with three columns for each XLA."""
    edits, pair = _edits(sources), main(sources)
    replays = sources.of(STUDY).comparisons(
        quantity=schema.REPLAY, subject=pair.subject, baseline=pair.baseline
    )
    before, result = indexed(replays, "workload", "compiler"), []
    for (workload, subject), rows in edits.groupby(["workload", "subject"], sort=False):
        row = dict.fromkeys(column.value for column in edit_columns(sources))
        row |= {"workload": rows["title"].iloc[0], "program": title(subject)}
        for one in rows.to_dict("records"):
            name, gap = one["compiler"], before.get((workload, one["compiler"]))
            row[f"{name}_gap"] = _towards(gap, one["baseline"] == pair.baseline) if gap else None
            row |= {f"{name}_edited": _decided(one), f"{name}_closed": _closed(one)}
        result.append(row)
    return frame(result, pooled_over(sources.of(STUDY), edits))


def _towards(row: dict, is_inverse: bool) -> Ratio:
    """Return a replay ratio without its interval, of the baseline's program over the subject's if inverse."""
    if not is_inverse:
        return Ratio(row["ratio"], verdict=row["verdict"])
    turned = {SLOWER: FASTER, FASTER: SLOWER}
    return Ratio(1 / row["ratio"], verdict=turned.get(row["verdict"], row["verdict"]))


def _decided(edit: dict) -> Ratio:
    """Return edited over unedited with the verdict on this ratio: that of the edit says what it closes."""
    if is_missing(edit["low"]):
        return ratio(edit | {"verdict": ""})
    return ratio(edit | {"verdict": direction(Estimate(edit["ratio"], edit["low"], edit["high"]))})


def _closed(edit: dict) -> str | None:
    """Return the share of the gap that an edit closes, as far as it is decided."""
    if edit["verdict"] == EQUIVALENT:
        return "none"
    if edit["verdict"] == NO_DATA or is_missing(edit["share"]):
        return None
    if edit["verdict"] == INCONCLUSIVE:
        return Latex(mark(INCONCLUSIVE))
    return Latex(percentage(edit["share"]) + ("?" if edit["verdict"] == CLOSES_SOME else ""))


def edit_columns(sources: Sources) -> tuple[Column, ...]:
    """Return three columns for each XLA in which a program was edited."""
    edited = set(_edits(sources)["compiler"])
    return (
        *(Column("Workload", "workload"), Column("Program, edit", "program")),
        *(
            Column(head, f"{name}_{value}", kind, compiler_title(name), align)
            for name in sources.run.config["compilers"]
            if name in edited
            for head, value, kind, align in (
                ("gap", "gap", "ratio", "l"),
                ("edited / own", "edited", "ratio", "l"),
                ("closed", "closed", "text", "r"),
            )
        ),
    )


TABLES = (
    Table(
        name="split",
        caption="Both Programs in the Same Compiler: Replays, and the Factors of the Native Ratio",
        rows=split_rows,
        columns=split_columns,
        study=STUDY,
        group_by="workload",
        note=r"""Replay: both programs, loaded into one client of that jaxlib, with interleaved blocks; mean and
        range are over fresh processes; struck out: the time of a wrong result. Program: replay of
        torch\_xla's program over that of JAX's.
        Native: torch\_xla's call over JAX's, as in Table~\ref{tab:published}. Runtime: native over
        program ratio; native calls use one compiler. Reason: which of the two is the larger factor of
        the native ratio, if the interval of their quotient decides. Control: JAX's native call over the
        replay of its program. In brackets: 95\,\% intervals, not corrected for their number.""",
        empty="no program was replayed",
    ),
    Table(
        name="compilers",
        caption="Replayed Program of torch_xla over That of JAX, by Compiler",
        rows=compiler_rows,
        columns=compiler_columns,
        study=MATRIX,
        note=r"""Both programs in the same process, with interleaved blocks. In brackets: 95\,\% intervals, not
        corrected for their number.""",
        empty="no program was replayed",
    ),
    Table(
        name="edits",
        caption="Edited Programs: Which Operations Cause the Difference",
        rows=edit_rows,
        columns=edit_columns,
        study=STUDY,
        group_by="workload",
        note=r"""Gap: replay of the unedited program over that of the other framework. Edited / own: replay of
        the edited program over that of the unedited one, with its 95\,\% interval. Closed: share of the
        gap that the edit closes, on logarithms; \emph{none}: edited / own is equivalent to 1; ?: it is
        open whether more than half is closed; above 100\,\%: the edited program passed the other one.""",
        empty="no edited program was replayed",
    ),
)
