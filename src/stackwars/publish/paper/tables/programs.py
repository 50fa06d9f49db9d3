"""The programs: their form, their size, and the shapes of their workloads."""

from __future__ import annotations

import pandas as pd

from stackwars.measure import workloads
from stackwars.measure.frameworks import title
from stackwars.measure.workloads import sized
from stackwars.publish.paper.latex import series
from stackwars.publish.paper.tables.spec import Column, Table, frame, indexed, main
from stackwars.study import cells
from stackwars.study.results import schema
from stackwars.study.results.dataset import Sources

STUDY = "tables"
MIB = 2**20
FORMS = {
    "flattening": "Batch, sequence",
    "layernorm": "LayerNorm",
    "qkv": "Q, K, V",
    "contraction": "Contraction",
}
DASH = "\u2014"
_NO_FORM = ("not applicable", "no program", "")


def _normalised(sources: Sources) -> dict[tuple, dict]:
    """Return the normalised programs by workload and framework."""
    programs = sources.dataset_for(STUDY).rows("programs", STUDY)
    return indexed(programs[programs["level"] == schema.NORMALISED], "workload", "framework")


def structure_rows(sources: Sources) -> pd.DataFrame:
    """Return the forms of both programs of each workload: ``preserved / flattened``, or one word for both."""
    by_key, sides = _normalised(sources), main(sources).sides
    result = []
    for workload in dict.fromkeys(workload for workload, _ in by_key):
        rows = [by_key.get((workload, side), {}) for side in sides]
        row = {"workload": next(row["title"] for row in rows if row)}
        for form in FORMS:
            words = [DASH if row.get(form, "") in _NO_FORM else row[form] for row in rows]
            row[form] = None if set(words) == {DASH} else " / ".join(dict.fromkeys(words))
        result.append(row)
    without = [row["workload"] for row in result if not any(row[form] for form in FORMS)]
    shown = [row for row in result if row["workload"] not in without]
    return frame(shown, f"None applies to {series(without)}." if without else "")


def metric_rows(sources: Sources) -> pd.DataFrame:
    """Return what both normalised programs of each workload consist of, and whether they are the same."""
    by_key, sides = _normalised(sources), main(sources).sides
    result = []
    for workload in dict.fromkeys(workload for workload, _ in by_key):
        rows = [by_key.get((workload, side)) for side in sides]
        if not all(row and row["status"] == "ok" for row in rows):
            continue
        row = {"workload": rows[0]["title"]}
        for side, one in zip(("base", "own"), rows, strict=True):
            row[f"{side}_layout"] = one["reshapes"] + one["transposes"] + one["broadcasts"]
            row[f"{side}_mib"] = one["layout_bytes"] / MIB
            row |= {f"{side}_{name}": one[name] for name in ("operations", "depth")}
        row["same"] = "yes" if len({one["canonical_hash"] for one in rows}) == 1 else "no"
        result.append(row)
    return frame(result)


def metric_columns(sources: Sources) -> tuple[Column, ...]:
    """Return two columns for each number, one a program."""
    titles = [title(side) for side in main(sources).sides]
    return (
        Column("Workload", "workload"),
        *(
            Column(name, f"{side}_{value}", kind, head)
            for head, value, kind in (
                ("Operations", "operations", "count"),
                ("Layout", "layout", "count"),
                ("Layout (MiB)", "mib", "number"),
                ("Depth", "depth", "count"),
            )
            for side, name in zip(("base", "own"), titles, strict=True)
        ),
        Column("Same", "same"),
    )


def shape_rows(sources: Sources) -> pd.DataFrame:
    """Return the sizes of every workload in the preset of the run, and what they amount to."""
    config, result = sources.run.config, []
    for name in (name for name in config["workloads"] if sized.AT not in name):
        module, sizes = workloads.load(name), cells.sizes(config, name)
        result.append(
            {
                "workload": module.TITLE,
                "sizes": ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in sizes.items()),
                "gflop": module.flops(sizes) / 1e9,
                "weights": 4 * module.parameter_count(sizes) / MIB,
            }
        )
    return frame(result)


TABLES = (
    Table(
        name="structure",
        caption="The Published Claims about Form, Decided by Rule",
        rows=structure_rows,
        columns=(
            Column("Workload", "workload"),
            *(Column(head, form) for form, head in FORMS.items()),
        ),
        study=STUDY,
        note=r"""JAX / torch\_xla, or one word if both programs have the same form; each decided by a rule over
        the normalised program. A dash: the claim does not apply to the program.""",
        wide=False,
        separation="2pt",
    ),
    Table(
        name="metrics",
        caption="Normalised Programs",
        rows=metric_rows,
        columns=metric_columns,
        study=STUDY,
        note=r"""Normalised: calls inlined, CHLO legalised, operations canonicalised, common subexpressions
        merged, unused arguments dropped. Operations: without constants. Layout: reshapes, transposes
        and broadcasts among them; MiB: what operations that only change the layout write. Depth:
        longest chain. Same: the canonical hashes of both programs are equal.""",
        wide=False,
        separation="2.8pt",
    ),
    Table(
        name="shapes",
        caption="Shapes of the Workloads",
        rows=shape_rows,
        columns=(
            Column("Workload", "workload"),
            Column("Sizes", "sizes", align=r">{\raggedright\arraybackslash}p{0.7\linewidth}"),
            *(
                Column("GFLOP per call", "gflop", "number"),
                Column("Weights (MiB)", "weights", "number"),
            ),
        ),
        note=r"""FLOPs count a multiply-add as two, in matrix products and convolutions only, and not in a loop
        whose length depends on its values.""",
    ),
)
