"""The paper's tables from the frame: ``python -m stackwars.tables``.

Tables I-III are the original paper's, IV sets its ratios beside ours, V is the audit of every cell
and VI the shapes. Each row names the origin of its numbers; a cell without numbers shows why.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas

from stackwars import published
from stackwars.audit_tables import audit_table, shape_table
from stackwars.latex import escape, significant
from stackwars.sources import (
    read_frame,
    read_json,
    read_published,
    read_ratios,
    short_status,
    shown_cells,
)
from stackwars.table_rows import (
    ORIGIN_NOTE,
    STAGES,
    framework_cell,
    grouped,
    interval,
    origin_text,
)
from stackwars.tabular import GAP, Float, row, s_column, span, table

CAPTIONS = {
    "I": "Latency of Basic Operations (ms)",
    "II": "Latency of End-to-End Models (ms)",
    "III": "Large Models: Latency (ms) or Failure",
}


def latency_table(frame: pandas.DataFrame, number: str) -> str:
    """Table I, II or III: first run, second run and steady state in ms, or the status."""
    cells = shown_cells(frame[frame.table == number])
    ok = cells[cells.status == "ok"]
    shown = {s: [significant(v, 4) for v in ok[f"{s}_ms"]] for s in STAGES}
    columns = "ll" + "".join(s_column(shown[s]) for s in STAGES) + r">{\scriptsize}c>{\scriptsize}l"

    def line(cell: pandas.Series, first: bool) -> str:
        title = escape(cell.title) if first else ""
        if cell.status != "ok":
            values = [span(4, short_status(cell))]
        else:
            values = [significant(cell[f"{s}_ms"], 4) for s in STAGES]
            values.append(interval(cell.steady_low_ms, cell.steady_high_ms))
        return row([title, framework_cell(cell), *values, origin_text(cell)])

    heads = [f"{{{s}}}" for s in ("First", "Second", "Steady")]
    header = [row(["Workload", "Framework", *heads, r"{95\,\% interval}", "{Origin}"])]
    note = (
        r"PyTorch runs through torch\_xla. Steady: geometric mean over processes of the median "
        r"call; its interval is a $t$ interval on logarithms. "
    )
    if (cells.framework == "torch_xla_pending").any():
        note += "Pending: PyTorch with inputs still to be computed on the device at run~1. "
    return table(
        Float(
            label=f"tab:{number}",
            caption=CAPTIONS[number],
            columns=columns,
            note=note + ORIGIN_NOTE,
            separation="2.2pt",
        ),
        header,
        grouped(cells, line) or [row([span(7, "no cell of this table was asked for")])],
    )


def published_table(
    frame: pandas.DataFrame, ratios: pandas.DataFrame, there: pandas.DataFrame
) -> str:
    """Table IV: the ratio PyTorch/JAX as published and here, and whether directions agree."""
    lines: list[str] = []
    previous = None
    for pair in published.pairs(frame, ratios, there):
        if previous is not None and pair.workload != previous:
            lines.append(GAP)
        theirs = [significant(pair.published[s]) for s in STAGES if s in pair.published]
        ours = [significant(pair.ours[s]) for s in STAGES if s in pair.ours]
        lines.append(
            row(
                [
                    escape(pair.title) if pair.workload != previous else "",
                    framework_cell(pair),
                    *(theirs or [span(3, pair.published_status)]),
                    *([*ours, interval(pair.low, pair.high)] if ours else [span(4, pair.status)]),
                    escape(pair.origin or "---"),
                    escape(pair.agreement),
                ]
            )
        )
        previous = pair.workload
    header = [
        r"& & \multicolumn{3}{c}{There (origin: published)} & "
        r"\multicolumn{4}{c}{Here (origin in the next column)} & & \\",
        r"\cmidrule(lr){3-5}\cmidrule(lr){6-9}",
        row(
            [
                "Workload",
                "Framework",
                *("{First}", "{Second}", "{Steady}"),
                *("{First}", "{Second}", "{Steady}", r"{95\,\% interval}"),
                "Origin",
                "Direction of the steady ratio",
            ]
        ),
    ]
    return table(
        Float(
            label="tab:IV",
            caption="Ratio of Latencies, PyTorch over JAX: Published and Here",
            columns="llrrrrrrcll",
            note="Above 1: PyTorch takes longer. The original used a TPU v6e, this run "
            "the devices of Section~\\ref{sec:implementation}: only directions are set side by "
            "side. The interval belongs to our steady ratio. " + ORIGIN_NOTE,
            wide=True,
        ),
        header,
        lines or [row([span(11, "no published row is in this run's grid")])],
    )


def write_tables(
    frame_path: Path, ratios_path: Path, published_path: Path, context_path: Path, output: Path
) -> None:
    """Write table1.tex ... table6.tex into the folder ``output``."""
    frame = read_frame(frame_path)
    texts = [latency_table(frame, number) for number in ("I", "II", "III")]
    texts.append(published_table(frame, read_ratios(ratios_path), read_published(published_path)))
    texts.append(audit_table(frame))
    texts.append(shape_table(frame, read_json(context_path)))
    output.mkdir(parents=True, exist_ok=True)
    for position, text in enumerate(texts, start=1):
        (output / f"table{position}.tex").write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("frame", "ratios", "published", "context", "output-dir"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    a = parser.parse_args()
    write_tables(a.frame, a.ratios, a.published, a.context, a.output_dir)


if __name__ == "__main__":
    main()
