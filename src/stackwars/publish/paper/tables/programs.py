"""The programs: form, size and shapes; on the original's device their memory, largest batch and slices of chips."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pandas as pd

from stackwars.core.hlo import COLLECTIVES
from stackwars.core.outcome import Status
from stackwars.measure import workloads
from stackwars.measure.frameworks import title
from stackwars.measure.workloads import sized
from stackwars.publish.paper.latex import series
from stackwars.publish.paper.tables.table import (
    GIB,
    MIB,
    RAGGED,
    Column,
    Table,
    columns_as,
    frame,
    main,
    paired,
)
from stackwars.study import cells
from stackwars.study.programs import BASE
from stackwars.study.results import schema
from stackwars.study.results.dataset import Sources, in_order, newest_runs
from stackwars.study.results.programs import TARGET, compiler_title, of_newest_compiler, variant_title
from stackwars.study.results.schema import is_missing
from stackwars.study.results.verdicts import FITS, TOO_LARGE

STUDY, TARGETS, SHARDING, LLAMA = "tables", "targets", "sharding", "llama3_8b"
FORMS = dict(zip(schema.FORMS, ("Batch, sequence", "LayerNorm", "Q, K, V", "Contraction"), strict=True))
DASH = "\u2014"
_NO_FORM = ("not applicable", "no program", "")
SHORT_COLLECTIVES = dict(zip(COLLECTIVES, ("AR", "AG", "RS", "A2A", "CP"), strict=True))


def _normalised(sources: Sources) -> Iterator[list[dict]]:
    """Yield for each workload the normalised programs of both sides; an empty row if a side has none."""
    programs = sources.dataset_for(STUDY).rows("programs", STUDY)
    programs = programs[programs["level"] == schema.NORMALISED]
    return (rows for _, rows in paired(programs, main(sources).sides, "workload"))


def structure_rows(sources: Sources) -> pd.DataFrame:
    """Return the forms of both programs of each workload: ``preserved / flattened``, or one word for both."""
    result = []
    for rows in _normalised(sources):
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
    result = []
    for rows in _normalised(sources):
        if not all(row and row["status"] == Status.OK for row in rows):
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
    for name in (name for name in config.workloads if sized.AT not in name):
        module, sizes = workloads.load(name), cells.sizes(config, name)
        text = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in sizes.items())
        row = {"workload": module.TITLE, "sizes": text, "gflop": module.flops(sizes) / 1e9}
        result.append(row | {"weights": 4 * module.parameter_count(sizes) / MIB})
    return frame(result)


def fit_rows(sources: Sources) -> pd.DataFrame:
    """Return the bytes that both programs of each model and size need, and the largest batch of both."""
    data, sides = sources.dataset_for(TARGETS), main(sources).sides
    programs = data.rows("programs", TARGETS)
    here = programs[(programs["target"] == TARGET) & programs["framework"].isin(sides)]
    models = [name for name in data.study(TARGETS).workloads if workloads.load(name).KIND == "model"]
    here = here[here["workload"].isin(models)]
    here = in_order(models, of_newest_compiler(here).sort_values(["batch", "sequence"], kind="stable"))
    result = [_need(rows) for _, rows in paired(here, sides, "workload", "variant") if all(rows)]
    usable = here["usable_bytes"].max()
    limit = "" if is_missing(usable) else f"A program may use {usable / GIB:.2f} GiB. "
    compilers = ", ".join(map(compiler_title, here["compiler"].unique()))
    return frame(result, f"{limit}Compiled by {compilers or 'nothing'}.")


def _need(rows: list[dict]) -> dict:
    base, subject = rows
    variant = variant_title(pd.Series(subject))
    result = {"workload": subject["title"], "batch": variant, "ratio": None, "code": None}
    for side, one in zip(("base", "own"), rows, strict=True):
        result[side] = _memory(one)
        result[f"{side}_batch"] = _bracket(one) if one["variant"] == BASE else ""
    if result["base"] and result["own"]:
        result["ratio"] = subject["hbm_bytes"] / base["hbm_bytes"]
        if subject["variant"] == BASE:  # the code of other sizes is not generated
            result["code"] = subject["code_bytes"] / base["code_bytes"]
    statuses = [one["published_status"] or DASH for one in rows]
    return result | {"published": " / ".join(statuses)}


def _memory(row: dict) -> tuple[float, bool] | None:
    """Return the bytes that a program needs and whether it fits; None if it was not compiled."""
    return (row["hbm_bytes"], row["verdict"] == FITS) if row["verdict"] in (FITS, TOO_LARGE) else None


def _bracket(row: dict) -> str | None:
    """Return ``37`` if it fits and 38 does not, ``5080-5400`` for a range, ``>= 70`` if all tried fit."""
    fits, refused = row["largest_batch"], row["smallest_refused_batch"]
    if is_missing(fits):
        return None
    if is_missing(refused):
        return f"\u2265{fits:.0f}"
    return f"{fits:.0f}" if refused == fits + 1 else f"{fits:.0f}\u2013{refused - 1:.0f}"


def fit_columns(sources: Sources) -> tuple[Column, ...]:
    base, subject = (title(side) for side in main(sources).sides)
    return (
        *columns_as("text", workload="Workload", batch="Batch"),
        Column(base, "base", "bytes", "Memory (GiB)"),
        Column(subject, "own", "bytes", "Memory (GiB)"),
        Column("Ratio", "ratio", "number", "Memory (GiB)"),
        Column("Code", "code", "number"),
        Column("Published", "published"),
        Column(base, "base_batch", "text", "Largest batch", "r"),
        Column(subject, "own_batch", "text", "Largest batch", r"@{\hspace{5pt}}r"),
    )


def slice_rows(sources: Sources) -> pd.DataFrame:
    """Return LLaMA's programs for slices of the original's device, by framework and number of chips."""
    data, result = sources.dataset_for(SHARDING), []
    programs = data.table("programs")
    programs = programs[(programs["workload"] == LLAMA) & programs["variant"].str.startswith("tensor")]
    programs = programs[programs["run"] == newest_runs(data, programs, SHARDING).get(LLAMA)]
    order = list(data.config.frameworks)
    for row in sorted(
        programs.to_dict("records"), key=lambda row: (order.index(row["framework"]), row["devices"])
    ):
        counts = json.loads(row["collectives"] or "{}")
        result.append(
            {
                "framework": title(row["framework"]),
                "chips": row["devices"],
                "memory": _memory(row),
                **{kind: float(counts[kind]) if kind in counts else None for kind in SHORT_COLLECTIVES},
                "moved": counts["bytes"] / MIB if counts.get("bytes") else 0.0,
            }
        )
    return frame(result)


TABLES = (
    Table(
        name="structure",
        caption="The Published Claims about Form, Decided by Rule",
        rows=structure_rows,
        columns=columns_as("text", workload="Workload", **FORMS),
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
            Column("Sizes", "sizes", align=rf"{RAGGED}p{{0.7\linewidth}}"),
            *columns_as("number", gflop="GFLOP per call", weights="Weights (MiB)"),
        ),
        note=r"""FLOPs count a multiply-add as two, in matrix products and convolutions only, and not in a loop
        whose length depends on its values.""",
    ),
    Table(
        name="fits",
        caption="Memory of the Models on a TPU v6e, and Largest Batch",
        rows=fit_rows,
        columns=fit_columns,
        study=TARGETS,
        group_by="workload",
        note=r"""Batch: batch$\times$sequence, or batch alone. \textbf{Bold}: does not fit. Ratio, Code:
        torch\_xla over JAX, of memory and of the bytes of generated code. Published: the original's
        outcome under JAX / PyTorch. Largest batch, by bisection: one number: it fits and the next does
        not; a range: it lies there.""",
        wide=False,
        separation="2.6pt",
    ),
    Table(
        name="slices",
        caption="LLaMA-3.1 8B Compiled for Slices of TPU v6e",
        rows=slice_rows,
        columns=(
            Column("Framework", "framework"),
            Column("Chips", "chips", "count"),
            Column("GiB", "memory", "bytes"),
            *(Column(SHORT_COLLECTIVES[kind], kind, "count", "Collectives") for kind in SHORT_COLLECTIVES),
            Column("MiB", "moved", "number", "Collectives"),
        ),
        study=SHARDING,
        group_by="framework",
        note=r"""Tensors divided among the chips. GiB: what each chip needs, its code left out. Collectives that
        the TPU's compiler chose: all-reduces (AR), all-gathers (AG), reduce-scatters (RS), all-to-alls
        (A2A) and permutes (CP); MiB: of their results, on one chip.""",
        wide=False,
    ),
)
