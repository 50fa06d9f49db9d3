"""Findings about the announced successor of torch_xla: whose form its programs have, and what a TPU holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pandas

from stackwars.findings.programs import UNDECIDED
from stackwars.results import compiler_verdicts as words
from stackwars.results import verdicts
from stackwars.results.read_compilers import compilers
from stackwars.results.values import is_missing
from stackwars.results.verdicts import Finding, finding
from stackwars.study.comparisons import Comparison

CLAIMS = ("flattening", "contraction")
"""The published claims about form that tell the two frontends apart by what they do to products."""
OTHERS = ("layernorm", "qkv")
"""Those about anything else."""


class Programs(NamedTuple):
    """structure.csv and largest_batch.csv, of the successor or of the frontends that it stands beside."""

    structure: pandas.DataFrame
    batches: pandas.DataFrame


def successor_findings(own: Programs, there: Programs, pair: Comparison) -> list[Finding]:
    """``successor_form/<workload>/<claim>/<framework>``: whether its program has the subject's form or the
    baseline's, for each claim of CLAIMS about which these two differ. `here` is as in `read_whole`.

    ``successor_like/<workload>/<claim>/<framework>``: whether it has the baseline's, for each of OTHERS.

    ``successor_batch/<workload>``: the largest batch of the second form over the first's, from the batches that
    were tried with the newest compiler: `times` is how many times as large it is at least.
    """
    forms = [name for name in dict.fromkeys(own.structure["framework"]) if name not in pair.sides]
    found = [f for name in forms for f in _forms(name, own.structure, there.structure, pair)]
    found += [f for name in forms for f in _like(name, own.structure, there.structure, pair)]
    return [*found, *(_batches(own.batches, *forms) if len(forms) == 2 else [])]


def _forms(
    name: str, own: pandas.DataFrame, there: pandas.DataFrame, pair: Comparison
) -> Iterator[Finding]:
    keys = ["workload", "claim"]
    sides = {
        side: there[there["framework"] == framework].set_index(keys)["verdict"].to_dict()
        for side, framework in (("subject", pair.subject), ("baseline", pair.baseline))
    }
    for row in own[(own["framework"] == name) & own["claim"].isin(CLAIMS)].itertuples():
        key = (row.workload, row.claim)
        subject, baseline = (known.get(key, "") for known in sides.values())
        if subject == baseline or UNDECIDED & {row.verdict, subject, baseline}:
            continue
        alike = {subject: words.LIKE_SUBJECT, baseline: words.LIKE_BASELINE}
        yield finding(
            f"successor_form/{row.workload}/{row.claim}/{name}",
            alike.get(row.verdict, words.LIKE_NEITHER),
            framework=name, workload=row.workload, title=row.title, here=bool(row.here),
        )  # fmt: skip


def _like(
    name: str, own: pandas.DataFrame, there: pandas.DataFrame, pair: Comparison
) -> Iterator[Finding]:
    known = there[there["framework"] == pair.baseline].set_index(["workload", "claim"])["verdict"]
    for row in own[(own["framework"] == name) & own["claim"].isin(OTHERS)].itertuples():
        baseline = known.get((row.workload, row.claim), "")
        if UNDECIDED & {row.verdict, baseline}:
            continue
        yield finding(
            f"successor_like/{row.workload}/{row.claim}/{name}",
            words.SAME if row.verdict == baseline else words.DIFFERENT,
            framework=name, workload=row.workload, title=row.title, here=bool(row.here),
        )  # fmt: skip


def _batches(table: pandas.DataFrame, one: str, other: str) -> list[Finding]:
    found = []
    newest = table[table["compiler"].isin(compilers(table)[-1:])]
    for workload, rows in newest.groupby("workload", sort=False):
        sides = rows.set_index("framework")
        if not {one, other} <= set(sides.index):
            continue
        first, second = sides.loc[one], sides.loc[other]
        low, high = (
            _over(second.fits_batch, first.oom_batch),
            _over(first.fits_batch, second.oom_batch),
        )
        verdict = verdicts.UNRESOLVED
        if low is None or high is None:
            verdict = verdicts.NO_DATA
        elif low > 1:
            verdict = words.MORE
        elif high > 1:
            verdict = words.LESS
        times = {words.MORE: low, words.LESS: high}.get(verdict)
        found.append(
            finding(
                f"successor_batch/{workload}", verdict,
                workload=workload, title=first.title, times=times,
            )
        )  # fmt: skip
    return found


def _over(fits: float, too_large: float) -> float | None:
    """A batch that fits over the largest that another program may hold, from one that it does not."""
    return None if is_missing(fits) or is_missing(too_large) else fits / (too_large - 1)
