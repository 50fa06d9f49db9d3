"""Findings across compilers and targets: generations that disagree, who refuses, the largest batch."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pandas

from stackwars.findings.fit import program_name
from stackwars.results import compiler_verdicts as words
from stackwars.results import verdicts
from stackwars.results.read_cells import titles
from stackwars.results.read_compilers import TARGET, compilers, target_title
from stackwars.results.verdicts import Finding, finding
from stackwars.study.comparisons import Comparison


def target_findings(
    ahead: pandas.DataFrame, largest_batch: pandas.DataFrame, pairs: list[Comparison]
) -> list[Finding]:
    """Findings from every target, and from the largest batches of the original's device."""
    here = ahead[ahead.target == TARGET]
    order = compilers(here)
    return [
        _generations(here, order),
        *_deciders(here, order),
        *_largest_batches(largest_batch[largest_batch.target == TARGET], pairs),
        *_others(ahead[ahead.target != TARGET]),
    ]


def _generations(here: pandas.DataFrame, order: list[str]) -> Finding:
    """``fit_generations``: programs on which the oldest and the newest compiler disagree."""
    if len(order) < 2:
        return finding("fit_generations", verdicts.NO_DATA)
    keys = ["workload", "variant", "framework"]
    older, newer = (
        here[here.compiler == name].set_index(keys, drop=False) for name in (order[0], order[-1])
    )
    both = [key for key in newer.index if key in older.index]
    judged = [
        key
        for key in both
        if {older.verdict[key], newer.verdict[key]} <= {words.FITS, words.TOO_LARGE}
    ]
    differ = [key for key in judged if older.verdict[key] != newer.verdict[key]]
    unrefused = [
        key
        for key in judged
        if older.verdict[key] == newer.verdict[key] == words.TOO_LARGE
        and (older.decided_by[key], newer.decided_by[key]) == ("bytes", "compiler")
        and pandas.notna(older.compile_s[key])
    ]
    verdict = verdicts.SOME if differ else verdicts.NONE
    ratios = (newer.hbm_bytes / older.hbm_bytes).dropna()
    return finding(
        "fit_generations",
        verdict if judged else verdicts.NO_DATA,
        judged=len(judged),
        differ=[program_name(newer.loc[key]) for key in differ],
        unrefused=[program_name(newer.loc[key]) for key in unrefused],
        ratio_low=ratios.min() if len(ratios) else None,
        ratio_high=ratios.max() if len(ratios) else None,
    )


def _deciders(here: pandas.DataFrame, order: list[str]) -> list[Finding]:
    """``decided/<compiler>``: who said oom, the compiler or the count of bytes.

    By bytes it is either accepted, compiled to the end, or stopped, once its buffers were assigned.
    """
    found = []
    for name in order:
        over = here[(here.compiler == name) & (here.verdict == words.TOO_LARGE)]
        by_bytes = over[over.decided_by == "bytes"]
        accepted = int(by_bytes.compile_s.notna().sum())
        found.append(
            finding(
                f"decided/{name}",
                verdicts.SOME if len(over) else verdicts.NONE,
                compiler=name,
                total=len(over),
                by_compiler=int((over.decided_by == "compiler").sum()),
                accepted=accepted,
                stopped=len(by_bytes) - accepted,
            )
        )
    return found


def _largest_batches(largest_batch: pandas.DataFrame, pairs: list[Comparison]) -> list[Finding]:
    """``largest_batch/<workload>/<framework>``: its largest batch against the baseline's, newest XLA."""
    order = compilers(largest_batch)
    newest = largest_batch[largest_batch.compiler == order[-1]] if order else largest_batch
    table = newest.set_index(["workload", "framework"])[["fits_batch", "oom_batch"]]
    found = []
    for (workload, title), pair in product(titles(newest).items(), pairs):
        sides = [(workload, pair.subject), (workload, pair.baseline)]
        if all(side in table.index for side in sides):
            one, base = (tuple(table.loc[side]) for side in sides)
            found.append(
                finding(
                    f"largest_batch/{workload}/{pair.subject}",
                    words.largest_batch(one, base),
                    workload=workload,
                    framework=pair.subject,
                    title=title,
                    compiler=order[-1],
                    batch=one[0],
                    baseline_batch=base[0],
                )
            )
    return found


def _others(ahead: pandas.DataFrame) -> list[Finding]:
    """``target/<target>/<compiler>``: how many programs fit the other devices."""
    found = []
    for (target, compiler), rows in ahead.groupby(["target", "compiler"], sort=False):
        tally = Counter(rows.verdict)
        judged = tally[words.FITS] + tally[words.TOO_LARGE]
        found.append(
            finding(
                f"target/{target}/{compiler}",
                verdicts.MEASURED if judged else verdicts.NO_DATA,
                target=target_title(target),
                compiler=compiler,
                judged=judged,
                total=len(rows),
                fits=tally[words.FITS],
                oom=tally[words.TOO_LARGE],
            )
        )
    return found
