"""Programs compiled for the original's device: memory, the largest batch, and slices of several chips."""

from __future__ import annotations

import json

import pandas as pd

from stackwars.core.hlo import COLLECTIVES
from stackwars.measure import workloads
from stackwars.measure.frameworks import title
from stackwars.publish.paper.tables.programs import DASH
from stackwars.publish.paper.tables.spec import Column, Table, frame, indexed, main
from stackwars.study.programs import BASE
from stackwars.study.results.dataset import Sources, newest_runs
from stackwars.study.results.names import TARGET, by_age, compiler_title, variant_title
from stackwars.study.results.schema import is_missing
from stackwars.study.results.verdicts import FITS, TOO_LARGE

STUDY, SHARDING, LLAMA = "targets", "sharding", "llama3_8b"
MIB, GIB = 2**20, 2**30
COLLECTIVES = dict(zip(COLLECTIVES, ("AR", "AG", "RS", "A2A", "CP"), strict=True))


def fit_rows(sources: Sources) -> pd.DataFrame:
    """Return the bytes that both programs of each model and size need, and the largest batch of both."""
    data, sides = sources.dataset_for(STUDY), main(sources).sides
    programs = data.rows("programs", STUDY)
    here = programs[(programs["target"] == TARGET) & programs["framework"].isin(sides)]
    models = [name for name in data.study(STUDY).workloads if workloads.load(name).KIND == "model"]
    here = here[here["workload"].isin(models)]
    newest = by_age(here["compiler"])[-1:]
    here = here[here["compiler"].isin(newest)].sort_values(["batch", "sequence"], kind="stable")
    by_key = indexed(here, "workload", "variant", "framework")
    result = []
    for workload in models:
        for variant in dict.fromkeys(one for name, one, _ in by_key if name == workload):
            rows = [by_key.get((workload, variant, side)) for side in sides]
            if all(rows):
                result.append(_need(rows))
    usable = here["usable_bytes"].max()
    limit = "" if is_missing(usable) else f"A program may use {usable / GIB:.2f} GiB. "
    return frame(result, f"{limit}Compiled by {', '.join(map(compiler_title, newest)) or 'nothing'}.")


def _need(rows: list[dict]) -> dict:
    base, own = rows
    result = {"workload": own["title"], "batch": variant_title(pd.Series(own)), "ratio": None, "code": None}
    for side, one in zip(("base", "own"), rows, strict=True):
        result[side] = _memory(one)
        result[f"{side}_batch"] = _bracket(one) if one["variant"] == BASE else ""
    if result["base"] and result["own"]:
        result["ratio"] = own["hbm_bytes"] / base["hbm_bytes"]
        if own["variant"] == BASE:  # the code of other sizes is not generated
            result["code"] = own["code_bytes"] / base["code_bytes"]
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
    """Return the columns of the table of fits, named by what is compared."""
    base, own = (title(side) for side in main(sources).sides)
    return (
        *(Column("Workload", "workload"), Column("Batch", "batch")),
        *(
            Column(base, "base", "bytes", "Memory (GiB)"),
            Column(own, "own", "bytes", "Memory (GiB)"),
        ),
        Column("Ratio", "ratio", "number", "Memory (GiB)"),
        *(Column("Code", "code", "number"), Column("Published", "published")),
        Column(base, "base_batch", "text", "Largest batch", "r"),
        Column(own, "own_batch", "text", "Largest batch", r"@{\hspace{5pt}}r"),
    )


def slice_rows(sources: Sources) -> pd.DataFrame:
    """Return LLaMA's programs for slices of the original's device, by framework and number of chips."""
    data, result = sources.dataset_for(SHARDING), []
    programs = data.table("programs")
    programs = programs[(programs["workload"] == LLAMA) & programs["variant"].str.startswith("tensor")]
    programs = programs[programs["run"] == newest_runs(data, programs, SHARDING).get(LLAMA)]
    order = list(data.config["frameworks"])
    for row in sorted(
        programs.to_dict("records"), key=lambda row: (order.index(row["framework"]), row["devices"])
    ):
        counts = json.loads(row["collectives"] or "{}")
        result.append(
            {
                **{"framework": title(row["framework"]), "chips": row["devices"]},
                "memory": _memory(row),
                **{kind: float(counts[kind]) if kind in counts else None for kind in COLLECTIVES},
                "moved": counts["bytes"] / MIB if counts.get("bytes") else 0.0,
            }
        )
    return frame(result)


TABLES = (
    Table(
        name="fits",
        caption="Memory of the Models on a TPU v6e, and Largest Batch",
        rows=fit_rows,
        columns=fit_columns,
        study=STUDY,
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
            *(Column("Framework", "framework"), Column("Chips", "chips", "count")),
            Column("GiB", "memory", "bytes"),
            *(Column(COLLECTIVES[kind], kind, "count", "Collectives") for kind in COLLECTIVES),
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
