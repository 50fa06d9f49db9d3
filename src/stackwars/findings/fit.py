"""Findings about what fits the original's device: compile_ahead.csv at :data:`TARGET`.

Every number is the compiler's, for a device that is not there; none is a latency.
"""

from __future__ import annotations

from collections import Counter

import pandas

from stackwars.frameworks import title
from stackwars.results import compiler_verdicts as words
from stackwars.results import verdicts
from stackwars.results.read_cells import on_cpu
from stackwars.results.read_compilers import BASE, TARGET, compilers, variant_title
from stackwars.results.values import is_missing
from stackwars.results.verdicts import Finding, finding
from stackwars.study.comparisons import Comparison

AMOUNTS = {"hbm": "hbm_bytes", "temporaries": "temp_bytes", "cycles": "estimated_cycles"}
"""What is compared of two compiled programs, by the finding's kind: columns of compile_ahead.csv."""


def fit_findings(
    ahead: pandas.DataFrame,
    frame: pandas.DataFrame,
    there: pandas.DataFrame,
    pairs: list[Comparison],
) -> list[Finding]:
    """Findings from the compilations for the original's device."""
    here = ahead[ahead.target == TARGET]
    order = compilers(here)
    newest = here[here.compiler == order[-1]] if order else here
    return [
        _coverage(newest, here, order),
        *_pairs(newest, pairs),
        *_published(newest, frame, there),
        _contradicts(newest, there),
    ]


def _coverage(newest: pandas.DataFrame, here: pandas.DataFrame, order: list[str]) -> Finding:
    """``ahead``: how many programs the newest compiler judged; what became of the others."""
    judged = newest[newest.verdict.isin([words.FITS, words.TOO_LARGE])]
    failed = here[~here.verdict.isin([words.FITS, words.TOO_LARGE])]
    some = verdicts.SOME_OK if len(judged) else verdicts.NONE_OK
    usable = newest.usable_bytes.dropna()
    costs = here.dropna(subset=["compile_s", "peak_rss_bytes"])
    tally = Counter(judged.verdict)
    return finding(
        "ahead",
        verdicts.ALL_OK if len(judged) and len(judged) == len(newest) else some,
        compiler=order[-1] if order else None,
        older=order[0] if len(order) > 1 else None,
        judged=len(judged),
        total=len(newest),
        fits=tally[words.FITS],
        oom=tally[words.TOO_LARGE],
        usable_bytes=usable.max() if len(usable) else None,
        compile_s=costs.compile_s.max() if len(costs) else None,
        peak_rss_bytes=costs.peak_rss_bytes.max() if len(costs) else None,
        stopped=int((judged.compile_s.isna() & (judged.decided_by == "bytes")).sum()),
        failed=_failures(failed),
    )


def _failures(failed: pandas.DataFrame) -> list[str]:
    """``3 timeout (GEMM at 128 under JAX, ...)``: names only where a reader can use them."""
    told = []
    for status, rows in failed.groupby("status", sort=False):
        names = list(dict.fromkeys(program_name(row) for _, row in rows.iterrows()))
        few = f" ({', '.join(names)})" if len(names) <= 4 else ""
        told.append(f"{len(rows)} {status}{few}")
    return told


def program_name(row: pandas.Series) -> str:
    """``LLaMA-3.1 8B at 8x512 under JAX``."""
    return f"{row.title} at {variant_title(row)} under {title(row.framework)}"


def _pairs(newest: pandas.DataFrame, pairs: list[Comparison]) -> list[Finding]:
    """``hbm/...``, ``temporaries/...`` and ``cycles/<workload>/<framework>/<variant>``: its program over the
    baseline's."""
    table = newest.set_index(["workload", "variant", "framework"])
    baselines = {pair.subject: pair.baseline for pair in pairs}
    found = []
    for _, row in newest[newest.framework.isin(baselines)].iterrows():
        key = (row.workload, row.variant, baselines[row.framework])
        if key not in table.index:
            continue
        base = table.loc[key]
        for name, column in AMOUNTS.items():
            one, other = row[column], base[column]
            verdict = words.amount(one, other)
            found.append(
                finding(
                    f"{name}/{row.workload}/{row.framework}/{row.variant}",
                    verdict,
                    workload=row.workload,
                    framework=row.framework,
                    title=f"{row.title} at {variant_title(row)}",
                    variant=row.variant,
                    ratio=None if verdict == verdicts.NO_DATA else one / other,
                    low=None,
                    high=None,
                )
            )
    return found


def _published(
    newest: pandas.DataFrame, frame: pandas.DataFrame, there: pandas.DataFrame
) -> list[Finding]:
    """``oom_published/<workload>/<framework>``: a published OOM against the bytes, and ``load/...``:
    the peak of this framework's own process here against the same memory."""
    cells = on_cpu(frame).set_index(["workload", "framework"])
    found = []
    for _, row in there[there.status == "oom"].iterrows():
        key = (row.workload, row.framework)
        if key not in cells.index:
            continue
        cell = cells.loc[key]
        sizes = newest[(newest.workload == key[0]) & (newest.framework == key[1])]
        fits = sizes[sizes.verdict == words.FITS]
        over = sizes[sizes.verdict == words.TOO_LARGE]
        spare = (fits.usable_bytes - fits.hbm_bytes).dropna()
        usable = sizes.usable_bytes.dropna()
        names = {"workload": key[0], "framework": key[1], "title": cell.title}
        found.append(
            finding(
                f"oom_published/{key[0]}/{key[1]}",
                words.explains(list(sizes.verdict)),
                **names,
                fits=[variant_title(size) for _, size in fits.iterrows()],
                over=[variant_title(size) for _, size in over.iterrows()],
                spare_bytes=spare.min() if len(spare) else None,
                hbm_bytes=over.hbm_bytes.min() if over.hbm_bytes.notna().any() else None,
            )
        )
        found.append(_load(cell, names, usable.max() if len(usable) else None))
    return found


def _load(cell: pandas.Series, names: dict, usable: float | None) -> Finding:
    """The peak resident memory of load-and-run here, over the weights and beside the HBM."""
    peak = cell.peak_rss_bytes if cell.status == "ok" else None
    verdict = verdicts.NO_DATA
    if not is_missing(peak) and not is_missing(usable):
        verdict = words.BELOW if peak < usable else words.ABOVE
    known = not is_missing(peak) and not is_missing(cell.parameter_bytes) and cell.parameter_bytes
    return finding(
        f"load/{names['workload']}/{names['framework']}",
        verdict,
        **names,
        status=cell.status,
        peak_rss_bytes=peak,
        copies=peak / cell.parameter_bytes if known else None,
        usable_bytes=usable,
    )


def _contradicts(newest: pandas.DataFrame, there: pandas.DataFrame) -> Finding:
    """``fit_contradicts``: programs that ran there and that the compiler says cannot fit."""
    ran = set(zip(there.workload, there.framework, strict=True))
    ran -= {(r.workload, r.framework) for _, r in there[there.status == "oom"].iterrows()}
    base = newest[(newest.variant == BASE) & (newest.verdict == words.TOO_LARGE)]
    rows = [row for _, row in base.iterrows() if (row.workload, row.framework) in ran]
    verdict = verdicts.SOME if rows else verdicts.NONE
    if not newest.verdict.isin([words.FITS, words.TOO_LARGE]).any():
        verdict = verdicts.NO_DATA
    return finding("fit_contradicts", verdict, programs=[program_name(row) for row in rows])
