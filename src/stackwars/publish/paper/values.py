"""The numbers of the reference as LaTeX, by key: what \\val{...} prints in the prose, and links to.

steady/bert_base/torch_xla          a ratio (`comparison_key`); .../interval
n/tables/steady/torch_xla/slower    how many comparisons of a study have a verdict; .../compared, .../runs
n/tables/steady/torch_xla/slower/names  the titles of their workloads
ms/tables/bert_base/jax/steady      a time, as the tables of that study show it; with a compiler, of a replay; with the
                                    name of an accelerator, on that
unfenced/gemm                       the ratio of 16 calls with one fence, on each kind of machine; fenced/gemm: fenced
profile/matrix/mha/jax/COMPILER/CLASS  a profiled time
change/jaxlib/mha/jax/0.8.3         time in a release over that in the one before it, where it changed
released/jaxlib/mha/torch_xla/0.7.2 time of torch_xla's program over JAX's in a release; with jax, the inverse
claim/ID/for                        votes for a claim; .../against, .../open, .../total
setting/rounds                      a setting of the configuration
published/gemm/torch_xla/first      a time of the original
n/...                               a number that no single row has: the functions of `AGGREGATES`
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote, urlencode

import pandas as pd

from stackwars.core.launch import REPOSITORY
from stackwars.core.outcome import Status
from stackwars.explain.answer import CAUSE, LAYOUT, NO_GAP
from stackwars.measure.frameworks import title
from stackwars.publish.paper import latex
from stackwars.publish.paper.tables.compilers import PRODUCTS, predicted
from stackwars.setup.device import CPU, ONE_THREAD
from stackwars.study.audits import audit_entries
from stackwars.study.claims import compare, definitions
from stackwars.study.claims.decide import Confirmations
from stackwars.study.claims.votes import CLAIM_VERDICTS, NOT_TESTABLE
from stackwars.study.config import CONFIG
from stackwars.study.programs import native_compiler
from stackwars.study.results import causes, effects, published, runs, schema, variance
from stackwars.study.results.comparisons import EACH_KIND
from stackwars.study.results.dataset import SHORT_MS, Dataset, Sources
from stackwars.study.results.folder import MEASURED
from stackwars.study.results.programs import TARGET, compiler_title, of_newest_compiler
from stackwars.study.results.schema import is_missing
from stackwars.study.results.verdicts import (
    AGREES,
    COMPILER,
    DECIDED,
    DIFFERS,
    FITS,
    NO_DATA,
    NO_STEADY_STATE,
    OPPOSITE,
    PASSED,
)

Named = Iterator[tuple[str, object, str]]
"""Keys, each with a number, or None if there is none, and the address of its row."""
Counted = Iterator[tuple[str, object] | tuple[str, object, str]]
"""Likewise; a number without an address has its group's."""
SUBJECT, BASELINE = "torch_xla", "jax"
"""The comparison that the prose is about, whatever else a configuration compares first."""
_OPTIONAL = ("compiler", "device", "baseline_compiler", "variant", "baseline", "baseline_workload")
INTERVALS = {"interval": ("low", "high"), "next": ("predicted_low", "predicted_high")}
"""Suffixes of a ratio's key: the interval that decides, and where one more run of a kind is expected."""
VOTES = ("for", "against", "open")


class Value(NamedTuple):
    """A number as LaTeX, and the address of its row: a view of the report, or a file, from the folder of paper.pdf."""

    text: str
    address: str


def values(data: Dataset) -> dict[str, Value]:
    """Return every number that the prose may print. data: the tables of the reference."""
    rows = [row for group in GROUPS for row in group(data)]
    for group, usual in AGGREGATES.items():
        rows += [(f"n/{key}", text, *(address or [usual])) for key, text, *address in group(data)]
    return {key: Value(str(text), address) for key, text, address in rows if text is not None}


def view(*parts: str, **filters: str) -> str:
    """Return the address of a view of the report. filters: those without a value are left out.

    >>> view("comparisons", quantity="steady", compiler="")
    'report.html#comparisons?quantity=steady'
    """
    query = urlencode({name: value for name, value in filters.items() if value}, safe="@/")
    return f"report.html#{'/'.join(quote(part, safe='@') for part in parts)}{'?' * bool(query)}{query}"


def _compared(row: dict, **others: str) -> str:
    """Return the view of a comparison. others: filters in place of the row's."""
    names = ("quantity", "workload", "subject", "baseline", "device", "compiler", "variant")
    return view("comparisons", **{name: row[name] for name in names} | others)


def _cell(study: str, row: dict) -> str:
    """Return the view of a native call or of a replay."""
    place = [study, row["device"], row["compiler"], row["framework"], row["workload"]]
    return view(row["mode"] if row["compiler"] else "cell", *filter(None, place))


def _ratios(data: Dataset) -> Named:
    table = data.comparisons()
    table = table[table["ratio"].notna()]
    for key, row in zip(keyed(table), table.to_dict("records"), strict=True):
        address, kinds = _compared(row), row[EACH_KIND]
        yield key, listed([latex.number(one["ratio"]) for one in kinds]), address
        for name, (low, high) in INTERVALS.items():
            ends = [(one[low], one[high]) for one in kinds if not is_missing(one[low])]
            texts = [f"[{latex.number(least)}, {latex.number(most)}]" for least, most in ends]
            yield f"{key}/{name}", listed(texts) if texts else None, address


def listed(texts: list[str]) -> str:
    """Return ``2.51 and 1.87``, or ``2.51, 2.03 and 1.87``: a text for each kind of machine."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _tallies(data: Dataset) -> Named:
    """Yield how many comparisons of a study have each verdict, and the largest, by the key without the workload."""
    for study in data.config.studies:
        table = data.comparisons(study)
        table = table[table["verdict"] != NO_DATA]
        group = keyed(table.assign(workload="*", baseline_workload="")).str.replace("/*", "")
        for name, rows in table.groupby(group):
            key, where = f"n/{study}/{name}", {"study": study, "workload": ""}
            first = rows.iloc[0].to_dict()
            address = _compared(first, **where)
            yield f"{key}/compared", str(len(rows)), address
            single = rows[rows[EACH_KIND].map(len) == 1]["title"].drop_duplicates()
            if len(single):
                yield f"{key}/one_kind/names", latex.series(single), address
            for word, decided in rows.groupby("verdict"):
                row = _compared(first, verdict=str(word), **where)
                yield f"{key}/{word}", str(len(decided)), row
                yield f"{key}/{word}/names", latex.series(decided["title"].drop_duplicates()), row
            most = rows["runs"].max()
            yield f"{key}/runs", None if is_missing(most) else f"{most:.0f}", address


def _times(data: Dataset) -> Named:
    for study in data.config.studies:
        for mode in (schema.NATIVE, schema.REPLAY):
            cells = data.rows("cells", study, mode)
            for row in _ok(cells[cells["device"] != ONE_THREAD]).to_dict("records"):
                device = "" if row["device"] == CPU else row["device"]
                where = filter(None, [study, row["workload"], row["framework"], row["compiler"], device])
                key, address = "/".join(where), _cell(study, row)
                for stage in schema.STAGES:
                    value = row[f"{stage}_ms"]
                    yield f"ms/{key}/{stage}", None if is_missing(value) else latex.duration(value), address


def _unfenced(data: Dataset) -> Named:
    tables = [run.table("cells").assign(run=run.identity, machine=run.machine) for run in runs.read()]
    cells = pd.concat(tables)
    cells = cells[cells["throughput_ms"].notna() & (cells["mode"] == schema.NATIVE) & (cells["device"] == CPU)]
    for name, column in (("unfenced", "throughput_ms"), ("fenced", "steady_ms")):
        times = cells.pivot(index=["workload", "machine", "run"], columns="framework", values=column)
        ratios = (times[SUBJECT] / times[BASELINE]).dropna()
        for workload, of_runs in ratios.groupby("workload"):
            means = of_runs.groupby("machine").agg(statistics.geometric_mean)
            text = listed([latex.number(means[one]) for one in runs.by_speed(means.index)])
            yield f"{name}/{workload}", text, view("cell", "tables", CPU, SUBJECT, workload)


def _profiles(data: Dataset) -> Named:
    for study in data.config.studies:
        for row in data.rows("profile", study).to_dict("records"):
            where = (row["workload"], row["framework"], row["compiler"], row["class"])
            address = view("timeline", row["workload"], study=study, compiler=row["compiler"])
            yield "/".join(["profile", study, *where]), latex.duration(row["ms"]), address


def _releases(data: Dataset) -> Named:
    table = data.table("releases")
    for row in table[table["change_ratio"].notna()].itertuples():
        key = f"change/{row.project}/{row.workload}/{row.framework}/{row.version}"
        yield key, latex.number(row.change_ratio), _released(row.project, row.workload, row.version)
    times = table.pivot_table("ms", ["project", "workload", "version"], "framework").reindex(
        columns=[SUBJECT, BASELINE]
    )
    for (project, workload, version), row in times.dropna().iterrows():
        ratio = row[SUBJECT] / row[BASELINE]
        for framework, value in ((SUBJECT, ratio), (BASELINE, 1 / ratio)):
            key = f"released/{project}/{workload}/{framework}/{version}"
            yield key, latex.number(value), _released(project, workload, version)


def _released(project: str, workload: str, version: str) -> str:
    return view("releases", shown="all", workload=workload, project=project, version=version)


def _votes(data: Dataset) -> Named:
    for row in data.table("claims").to_dict("records"):
        votes = [row[f"votes_{name}"] for name in VOTES]
        if not any(map(is_missing, votes)):
            counts = dict(zip(VOTES, votes, strict=True)) | {
                "total": sum(votes),
                "confirmed": row.get("confirmed"),
            }
            for name, count in counts.items():
                if not is_missing(count):
                    yield f"claim/{row['id']}/{name}", f"{count:.0f}", view("claim", row["id"])


def _settings(data: Dataset) -> Named:
    settings = data.config.settings.document()
    address = CONFIG.relative_to(REPOSITORY).as_posix()
    for name, value in settings.items():
        yield f"setting/{name}", latex.escape(value), address


def _published(data: Dataset) -> Named:
    for row in published.read_published().to_dict("records"):
        for stage, column in published.COLUMNS.items():
            value = row[column]
            key = f"published/{row['workload']}/{row['framework']}/{stage}"
            text = None if pd.isna(value) else rf"\qty{{{value}}}{{\milli\second}}"
            yield key, text, published.PUBLISHED.relative_to(REPOSITORY).as_posix()


def comparison_key(row: dict) -> str:
    """Return `quantity/workload/subject` and every unusual field of the row.

    The usual baseline is BASELINE and the usual device the CPU; a form is compared with the other form of the same
    framework.

    >>> comparison_key({"quantity": "form", "workload": "layernorm", "subject": "jax", "baseline": "jax"})
    'form/layernorm/jax'
    """
    usual = {"device": ("", CPU), "baseline": ("", BASELINE, row["subject"])}
    optional = {name: row.get(name, "") for name in _OPTIONAL}
    unusual = [value for name, value in optional.items() if value not in usual.get(name, ("",))]
    return "/".join([row["quantity"], row["workload"], row["subject"], *unusual])


def keyed(table: pd.DataFrame) -> pd.Series:
    """Return the key of each of some rows of comparisons.csv."""
    rows = table[["quantity", "workload", "subject", *_OPTIONAL]].to_dict("records")
    return pd.Series(map(comparison_key, rows), index=table.index, dtype=str)


def verdicts(data: Dataset) -> dict[str, str]:
    """Return the verdict of every claim by its id, of every comparison by its key, and of every check."""
    table, claims = data.comparisons(), data.table("claims")
    compared = dict(zip(keyed(table), table["verdict"], strict=True))
    checked = {
        f"check/{name}": PASSED if passed.all() else "failed" for name, (_, passed) in checks(data).items()
    }
    return compared | checked | dict(zip(claims["id"], claims["verdict"], strict=True))


def checks(data: Dataset) -> dict[str, tuple[str, pd.Series]]:
    """Return the statement of each check, and whether each row passes it; a check without rows is left out."""

    def cells(study: str, mode: str = schema.NATIVE) -> pd.DataFrame:
        is_known = study in data.config.studies
        rows = data.rows("cells", study, mode) if is_known else schema.empty("cells")
        return rows[rows["device"] == CPU]

    native, trained = cells("tables"), cells("beyond")
    errors = pd.concat([native, cells("tables", schema.REPLAY)])["parity_rel_l2"].dropna()
    losses = trained[(trained["framework"] == SUBJECT) & trained["losses"].isin((AGREES, DIFFERS))]["losses"]
    divided = cells("sharding", schema.SHARDED)["status"]
    divided = divided[divided.isin((Status.OK, Status.INVALID, Status.WRONG))]
    compilations = _ok(native)["compiles_steady"].dropna()
    result: dict[str, tuple[str, pd.Series]] = {
        "outputs": ("outputs have a relative error of at most 1e-5", errors <= 1e-5),
        "compilations": ("cells compile nothing after the second call", compilations == 0),
        "losses": ("trainings have the losses of JAX, to rounding", losses == AGREES),
        "divisions": ("divided programs keep their output", divided == Status.OK),
    }
    return {name: check for name, check in result.items() if len(check[1])}


def format_checks(data: Dataset) -> str:
    """Return one sentence: how many rows pass each check."""
    parts = [f"{passed.sum()} of {len(passed)} {text}" for text, passed in checks(data).values()]
    return f"Checks: {'; '.join(parts) or 'none'}."


def _tables(data: Dataset) -> Counted:
    """Yield the largest errors of the original's tables, and the line of checks."""
    cells = _ok(data.rows("cells", "tables"))
    replays = _ok(data.rows("cells", "tables", schema.REPLAY))
    tabled = cells[cells["framework"].isin([SUBJECT, BASELINE]) & (cells["device"] == CPU)]
    unsettled = tabled[tabled["steady_class"] == NO_STEADY_STATE]
    yield "unsettled/count", len(unsettled)
    yield "unsettled/total", len(tabled)
    yield "unsettled/workloads", latex.series(unsettled["title"].drop_duplicates())
    yield "parity/native", latex.scientific(cells["parity_rel_l2"].max())
    yield "parity/replay", latex.scientific(replays["parity_rel_l2"].max())
    yield "checks", latex.escape(format_checks(data))


def _values(data: Dataset) -> Counted:
    """Yield how many programs were compared with expected values, and how many have each outcome."""
    status = data.table("values")["status"]
    yield "values/checked", len(status)
    outcomes: dict[str, tuple[Status, ...]] = {
        **{one: (one,) for one in (Status.OK, Status.WRONG, Status.CRASH)},
        **{"refused": (Status.UNSUPPORTED, Status.OOM), "unfinished": (Status.TIMEOUT, Status.ERROR)},
    }
    for name, statuses in outcomes.items():
        yield f"values/{name}", status.isin(statuses).sum()


def _overhead(data: Dataset) -> Counted:
    """Yield how much longer a native call takes than the replay of its program, in the run of the tables."""
    native, replays = (_ok(data.rows("cells", "tables", mode)) for mode in (schema.NATIVE, schema.REPLAY))
    native = native[native["device"] == CPU].set_index(["workload", "framework"])["steady_ms"]
    replays = replays[replays["compiler"] == native_compiler(data.config)]
    replayed = replays.set_index(["workload", "framework"])["steady_ms"]
    for (workload, framework), value in (native - replayed).dropna().items():
        yield f"overhead/{framework}/{workload}", latex.duration(value), view("why", workload)


def _machines(data: Dataset) -> Counted:
    """Yield the processors and rates of the kinds of machine that the original's study ran on, the fastest first."""
    of: dict[str, list[float]] = {}
    processors = set()
    for run in runs.read():
        if "tables" in run.context["studies"]:
            of.setdefault(run.machine, []).append(run.context["peaks"][CPU]["gflop_per_s"])
            maker, family = run.context["machine"]["cpu_model"].replace("(R)", "").split()[:2]
            processors.add(f"{maker} {family}")
    rates = sorted((f"{statistics.median(some):.0f}" for some in of.values()), key=int, reverse=True)
    yield "machines/rates", listed(rates)
    yield "machines/count", len(rates)
    yield "machines/processors", listed(sorted(processors))


def _removals(data: Dataset) -> Counted:
    """Yield what share of a replay ratio YNN removes on each kind of machine, both sides from the same runs."""
    rows = data.comparisons(quantity=schema.REMOVAL, device=CPU, subject=SUBJECT, baseline=BASELINE)
    for workload, kinds in rows.set_index("workload")[EACH_KIND].items():
        shares = [latex.percent(one["share"]) for one in kinds if not is_missing(one["share"])]
        yield f"removes/{workload}", listed(shares) if shares else None, view("why", workload)


def _reasons(data: Dataset) -> Counted:
    """Yield the workloads of each larger factor, and the least and largest ratio of two programs in single runs."""
    steady = data.comparisons("tables", quantity=schema.STEADY, subject=SUBJECT, device=CPU)
    differ = steady[steady["verdict"].isin(DECIDED)]["workload"]
    margins = data.comparisons("tables", quantity=schema.MARGIN, subject=SUBJECT, device=CPU)
    for word, rows in margins[margins["workload"].isin(differ)].groupby("verdict"):
        yield f"reasons/{word}", latex.series(rows["title"].drop_duplicates())
    replays = pd.concat(run.table("comparisons") for run in runs.read())
    replays = replays.query("quantity == @schema.REPLAY and subject == @SUBJECT and baseline == @BASELINE")
    replays = replays[(replays["compiler"] == native_compiler(data.config)) & (replays["device"] == CPU)]
    for workload, ratios in replays.dropna(subset=["ratio"]).groupby("workload")["ratio"]:
        for name, ratio in (("least", ratios.min()), ("most", ratios.max())):
            yield f"runs/replay/{workload}/{name}", latex.number(ratio), view("why", workload)


def _cpu_time(data: Dataset) -> Counted:
    """Yield a sentence on which workloads time and CPU time of the same loops differ; empty if no run has both."""
    rows = data.comparisons("tables", subject=SUBJECT, baseline=BASELINE, device=CPU)
    timed = rows[rows["quantity"] == schema.STEADY].set_index("workload")[EACH_KIND]
    compared = rows[rows["quantity"] == schema.STEADY_CPU]
    differ, partly, overlapping = [], [], 0
    for row in compared.to_dict("records"):
        known = {one["machine"]: one for one in timed[row["workload"]] if not is_missing(one["low"])}
        others = [one for one in row[EACH_KIND] if one["machine"] in known and not is_missing(one["low"])]
        if not others:
            continue
        pairs = [(known[one["machine"]], one) for one in others]
        apart = [max(one["low"], other["low"]) > min(one["high"], other["high"]) for one, other in pairs]
        if any(apart):
            (differ if all(apart) else partly).append((row, *zip(*pairs, strict=True)))
        else:
            overlapping += 1
    words = []
    if differ:
        apart = latex.series(_with_ratios(*one) for one in differ)
        words.append(f"disjoint on {apart}, where one framework keeps more cores busy")
    if partly:
        titles = latex.series(row["title"] for row, *_ in partly)
        words.append(f"disjoint on some kinds of machine alone on {titles}")
    total = len(differ) + len(partly) + overlapping
    words += [f"overlapping on {overlapping} of {total} workloads"] if overlapping else []
    number = compared["runs"].max()
    runs_of_a_kind = "one run" if number == 1 else f"up to {number:.0f} runs"
    sentence = f"The intervals of time and CPU time of the same loops are {'; '.join(words)}"
    yield "cpu_time", f"{sentence} (CPU time: {runs_of_a_kind} of a kind of machine)." if words else ""


def _short_calls(data: Dataset) -> Counted:
    """Yield a sentence with the verdicts on one core of workloads with calls under SHORT_MS; empty without any."""
    short = {name for name, framework in data.short_calls if framework in (SUBJECT, BASELINE)}
    where = {"quantity": schema.STEADY, "subject": SUBJECT, "baseline": BASELINE, "device": ONE_THREAD}
    alone = data.comparisons("tables", **where)
    alone = alone[alone["workload"].isin(short)]
    words = [
        f"{word} on {latex.series(_with_ratios(row, row[EACH_KIND]) for row in rows.to_dict('records'))}"
        for word, rows in alone[alone["ratio"].notna()].groupby("verdict")
    ]
    sentence = rf"We infer that other cores fall asleep between calls under {SHORT_MS:g}\,ms"
    yield "short_calls", f"{sentence}, so the ratios on one core decide: {'; '.join(words)}." if words else ""


def _with_ratios(row: dict, *sides: Iterable[dict]) -> latex.Latex:
    """Return ``MHA (2.50 against 1.97)``: a workload with the ratios of each side, of all kinds of machine."""
    ratios = " against ".join(listed([latex.number(one["ratio"]) for one in side]) for side in sides)
    return latex.Latex(f"{latex.escape(row['title'])} ({ratios})")


def _disagreeing(data: Dataset) -> Counted:
    """Yield the workloads that kinds of machine decide for different sides."""
    rows = data.comparisons("stacks", quantity=schema.PAIRWISE, subject="torch_inductor", baseline=SUBJECT)
    rows = rows[rows["verdict"] == OPPOSITE]
    if len(rows):
        yield "disagree/torch_inductor", latex.series(rows["title"].drop_duplicates())


def _peaks(data: Dataset) -> Counted:
    """Yield the peak memory of the processes of the original's study, and how many of torch_xla's need more."""
    cells = _ok(data.rows("cells", "tables", schema.NATIVE))
    cells = cells[(cells["device"] == CPU) & cells["peak_rss_bytes"].notna()]
    peaks = cells.pivot_table("peak_rss_bytes", "workload", "framework")[[SUBJECT, BASELINE]].dropna()
    ratios = peaks[SUBJECT] / peaks[BASELINE]
    yield "peak/compared", len(ratios)
    yield "peak/more", (ratios > 1).sum()
    yield "peak/least", latex.number(ratios.min())
    yield "peak/most", latex.number(ratios.max())
    for framework in (SUBJECT, BASELINE):
        address = view("cell", "tables", CPU, framework, "bert_base")
        yield f"peak/{framework}/bert_base", latex.gibibytes(peaks.loc["bert_base", framework]), address


def _causes(data: Dataset) -> Counted:
    """Yield how many gaps between the main programs were searched and explained, and what each explanation closes."""
    main_gaps = causes.main_gaps(data, effects.STUDY)
    known = [row for row in main_gaps if row["verdict"] == CAUSE]
    yield "causes/gaps", len(main_gaps)
    yield "causes/searched", sum(row["verdict"] != "" for row in main_gaps)
    yield "causes/found", len(known)
    yield "causes/layouts", sum(row["what"] == LAYOUT for row in known)
    for row in known:
        key = f"causes/{row['workload']}/{row['compiler']}"
        address = view("causes", workload=row["workload"], compiler=row["compiler"])
        yield f"{key}/closed", latex.significant_percent(row["closed"]), address
        yield from ((f"{key}/{name}", f"{row[name]:.0f}", address) for name in ("kinds", "count"))
    # Gaps that were searched on several kinds of machine: how many have one kind of cause on all.
    keys = ["workload", "compiler", "subject", "baseline"]
    searched = pd.concat([run.table("causes").assign(machine=run.machine) for run in runs.read()])
    gaps = searched.merge(pd.DataFrame(main_gaps)[keys], on=keys).groupby(keys)
    again = [rows for _, rows in gaps if rows["machine"].nunique() > 1]
    yield "causes/again", len(again)
    agree = [set(rows["verdict"]) == {CAUSE} and rows["what"].nunique() == 1 for rows in again]
    yield "causes/agree", sum(agree)


def _products(data: Dataset) -> Counted:
    """Yield the cores that each linear layer uses, and the share of a model's difference that its layers make up."""
    replays = _ok(data.rows("cells", PRODUCTS, schema.REPLAY)).dropna(subset=["cores"])
    for row in replays.to_dict("records"):
        key = f"cores/{row['workload']}/{row['framework']}/{row['compiler']}"
        yield key, f"{row['cores']:.1f}", _cell(PRODUCTS, row)
    for row in predicted(Sources(data, data, [])):
        key = f"predicted/{row['model']}/{row['compiler']}"
        yield key, latex.percent(row["share"]), view("why", row["model"])


def _matrix(data: Dataset) -> Counted:
    cells = data.rows("cells", "matrix", schema.REPLAY)
    yield "matrix/total", len(cells)
    yield "matrix/ok", len(_ok(cells))


def _effects(data: Dataset) -> Counted:
    """Yield on how many workloads the compiler is the largest part but moves little."""
    table = data.table("effects")
    is_largest = (table["effect"] == COMPILER) & (table["largest"] == COMPILER)
    largest = table[is_largest & (table["subset"] == effects.ALL)]
    yield "effects/compiler/small", (largest["factor"] < 1.2).sum()


def _stacks(data: Dataset) -> Counted:
    """Yield how far the stacks are apart, and how many are fastest."""
    all_cells = data.rows("cells", "stacks")
    all_cells = all_cells[all_cells["device"] == CPU]
    cells = _ok(all_cells)
    yield "stacks/total", len(all_cells)
    yield "stacks/ok", len(cells)
    times = cells.pivot_table(index="title", columns="framework", values="steady_ms")
    yield "stacks/fastest", times.idxmin(axis=1).nunique()
    spread = times.max(axis=1) / times.min(axis=1)
    yield "stacks/spread/most", latex.number(spread.max(), 2)
    yield "stacks/spread/most/workload", latex.escape(spread.idxmax())


def _memory(data: Dataset) -> Counted:
    """Yield how many of torch_xla's programs need more, less or the same memory, and temporaries, on the
    original's device, and which models that failed there under PyTorch fit at every size."""
    for name, quantity in (("memory", schema.HBM), ("temporaries", schema.TEMPORARIES)):
        rows = data.comparisons("targets", quantity=quantity, subject="torch_xla", device=TARGET)
        newest = of_newest_compiler(rows)
        yield from ((f"{name}/{verdict}", count) for verdict, count in newest["verdict"].value_counts().items())
        yield f"{name}/compared", (newest["verdict"] != NO_DATA).sum()
    failed = data.rows("programs", "targets")
    failed = failed[(failed["framework"] == SUBJECT) & (failed["published_status"] == Status.OOM)]
    failed = failed[(failed["target"] == TARGET) & (failed["verdict"] != "")]
    failed = of_newest_compiler(failed)
    fits = (failed["verdict"] == FITS).groupby(failed["title"], sort=False).all()
    yield "memory/fits/names", latex.series(fits.index[fits])


def _memory_causes(data: Dataset) -> Counted:
    """Yield which operations make up each difference in memory that is explained on the original's device, the
    largest difference on the CPU, and the models of which no pair differs.
    """
    rows = data.table("causes")
    rows = rows[rows["subject_bytes"].notna()]
    found = rows[(rows["verdict"] == CAUSE) & (rows["what"] != "")]
    target = found[found["device"] == TARGET].to_dict("records")
    yield "memory/causes", latex.series(map(_operations, target)) if target else "none"
    cpu = found[found["device"] == CPU].nlargest(1, "ratio").to_dict("records")
    for row in cpu:
        yield "memory/cpu", latex.number(row["ratio"])
        yield "memory/cpu/compiler", latex.escape(compiler_title(row["compiler"]))
        yield "memory/cpu/cause", latex.escape(_operations(row))
    same = (rows["verdict"] == NO_GAP).groupby(rows["title"], sort=False).all()
    yield "memory/same/names", latex.series(map(_model, same.index[same])) or "none"


_COMMON = {
    "add", "broadcast_in_dim", "constant", "convert", "divide", "maximum", "multiply", "reshape", "transpose",
}  # fmt: skip
"""Operations of which every program has many: another of a region tells more about it."""


def _operations(row: dict) -> str:
    """Return ``4 batch_norm_inference of torch_xla on ResNet-50 (100 %)``: what the larger program has of a cause."""
    last = {}
    for part in row["subject_operations"].split("; "):
        operations = [text.split()[0] for text in part.split(", ")]
        last[next((name for name in reversed(operations) if name not in _COMMON), operations[-1])] = None
    what = f"{row['count']:.0f} {' and '.join(last)} of {title(row['subject'])}"
    return f"{what} on {_model(row['title'])} ({100 * row['closed']:.0f} %)"


def _model(title: str) -> str:
    """Return the title of a workload without its sizes."""
    return title.partition(" (")[0]


def _audits(data: Dataset) -> Counted:
    """Yield the figures of the reference's audits."""
    audits = audit_entries.read(runs.REFERENCE / MEASURED["audits"])
    judged = [one for one in audits.entries if one["verdict"] != audit_entries.NOT_RUN]
    yield "audits/total", len(judged)
    yield "audits/passed", sum(one["verdict"] == audit_entries.PASS for one in judged)
    figures = {one["id"]: one["figures"] for one in judged}
    if "aa" in figures:
        total = figures["aa"]["groups"]["all"]
        yield "audits/aa/claimed", total["claims"]["count"]
        yield "audits/aa/intervals", total["intervals"]["count"]
        yield "audits/aa/trials", total["claims"]["trials"]
    if "power" in figures:
        shares = figures["power"]["found"]["all"]
        yield "audits/power/found", shares["count"]
        yield "audits/power/trials", shares["trials"]
        medians = pd.DataFrame(figures["power"]["trials"]).groupby("workload")["detectable"].median()
        yield "audits/power/workload", latex.escape(medians.idxmax())
        # Rounded up, as the table of audits rounds it.
        yield "audits/power/largest", latex.percent(math.ceil(100 * medians.max()) / 100)
    if "mixed" in figures:
        worst = max(figures["mixed"]["quotients"], key=lambda one: one["off"])
        yield "audits/mixed/worst", latex.number(worst["ratio"])
        yield "audits/mixed/interval", f"[{latex.number(worst['low'])}, {latex.number(worst['high'])}]"
        yield "audits/mixed/workload", latex.escape(worst["workload"])


def _held_out(data: Dataset) -> Counted:
    """Yield how many ratios of a run lie in the prediction interval of the other runs."""
    coverage = variance.held_out(runs.read())
    yield from ((f"held_out/{name}", coverage[name].sum()) for name in ("inside", "total"))


def _claims(data: Dataset) -> Counted:
    """Yield how many claims have each verdict, what runs confirm, and how often two runs decide a claim differently."""
    claims = data.table("claims")
    for origin, rows in claims.groupby("origin"):
        counts = {verdict: (rows["verdict"] == verdict).sum() for verdict in CLAIM_VERDICTS}
        yield from ((f"claims/{origin}/{verdict}", count) for verdict, count in counts.items())
        yield f"claims/{origin}/testable", len(rows) - counts[NOT_TESTABLE]
    all_claims, accepted = definitions.load().claims, runs.read()
    yield "claims/confirmed", latex.escape(Confirmations(accepted).summary(all_claims))
    result = compare.between_runs(data.config, all_claims, accepted)
    yield from ((f"claims/stability/{name}", count) for name, count in result._asdict().items())


def _ok(cells: pd.DataFrame) -> pd.DataFrame:
    return cells[cells["status"] == Status.OK]


AGGREGATES: dict[Callable[[Dataset], Counted], str] = {
    _tables: view("cells", study="tables"),
    _values: view("values"),
    _overhead: view("cells", study="tables"),
    _machines: view("start"),
    _removals: view("comparisons", quantity=schema.REMOVAL),
    _reasons: view("comparisons", quantity=schema.MARGIN),
    _cpu_time: view("comparisons", quantity=schema.STEADY_CPU),
    _short_calls: view("comparisons", quantity=schema.STEADY, device=ONE_THREAD),
    _disagreeing: view("comparisons", quantity=schema.PAIRWISE, subject="torch_inductor", baseline=SUBJECT),
    _peaks: view("cells", study="tables"),
    _causes: view("causes"),
    _products: view("cells", study=PRODUCTS, mode=schema.REPLAY),
    _matrix: view("cells", study="matrix", mode=schema.REPLAY),
    _effects: view("start"),
    _stacks: view("cells", study="stacks"),
    _memory: view("compiled", study="targets"),
    _memory_causes: view("causes"),
    _audits: view("audits"),
    _held_out: view("comparisons", quantity=schema.STEADY),
    _claims: view("claims"),
}
"""Numbers of the prose that no single row has, with the views that count them. Their keys begin with n/."""
GROUPS: tuple[Callable[[Dataset], Named], ...] = (
    *(_ratios, _tallies, _times, _unfenced, _profiles, _releases, _votes, _settings, _published),
)
