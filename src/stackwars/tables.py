"""The paper's tables from the frame: ``python -m stackwars.tables``.

Tables I-III are the original paper's, IV sets its ratios beside ours, V is the audit of every cell;
then those of the split, of what fits, and of the programs, and the shapes. Each row names the
origin of its numbers; a cell without numbers shows why.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas

from stackwars import published
from stackwars.audit_tables import audit_table, shape_table
from stackwars.compiler_sources import (
    read_ahead,
    read_frontier,
    read_metrics,
    read_replay,
    read_split,
    read_structure,
)
from stackwars.edit_findings import replayed_edits
from stackwars.latex import escape, significant
from stackwars.memory_tables import fit_table
from stackwars.program_tables import metrics_table, structure_table
from stackwars.sources import (
    read_frame,
    read_json,
    read_published,
    read_ratios,
    short_status,
    shown_cells,
)
from stackwars.split_tables import edit_table, split_table
from stackwars.table_rows import (
    ORIGIN_NOTE,
    STAGES,
    framework_cell,
    grouped,
    interval,
    origin_text,
)
from stackwars.tabular import GAP, Float, row, s_column, span, table
from stackwars.target_tables import frontier_table, target_table

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


FILES = ("frame", "ratios", "published", "context", "replay", "split", "ahead", "frontier")
FILES += ("metrics", "structure")


def write_tables(files: dict[str, Path], output: Path) -> None:
    """Write every table into the folder ``output``; ``files`` has a path for each of FILES."""
    frame, there = read_frame(files["frame"]), read_published(files["published"])
    replay, split = read_replay(files["replay"]), read_split(files["split"])
    ahead = read_ahead(files["ahead"])
    texts = {
        "table1": latency_table(frame, "I"),
        "table2": latency_table(frame, "II"),
        "table3": latency_table(frame, "III"),
        "table4": published_table(frame, read_ratios(files["ratios"]), there),
        "audit": audit_table(frame),
        "split": split_table(replay, split),
        "edits": edit_table(replay, replayed_edits(replay)),
        "fits": fit_table(ahead, there),
        "frontier": frontier_table(read_frontier(files["frontier"])),
        "targets": target_table(ahead),
        "metrics": metrics_table(read_metrics(files["metrics"])),
        "structure": structure_table(read_structure(files["structure"])),
        "shapes": shape_table(frame, read_json(files["context"])),
    }
    output.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (output / f"{name}.tex").write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in (*FILES, "output-dir"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    a = vars(parser.parse_args())
    write_tables(a, a["output_dir"])


if __name__ == "__main__":
    main()
