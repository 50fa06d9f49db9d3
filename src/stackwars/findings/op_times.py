"""What the profiles of the replays say: op_times.csv and gap_causes.csv, in the pinned XLA."""

from __future__ import annotations

from collections import Counter

import pandas

from stackwars.compilers.op_classes import CLASSES, PRODUCTS
from stackwars.results import verdicts
from stackwars.results.values import is_true
from stackwars.results.verdicts import FASTER, SLOWER, Finding, finding
from stackwars.study.comparisons import Comparison


def op_time_finding(
    op_times: pandas.DataFrame, gap_causes: pandas.DataFrame, pair: Comparison, context: dict
) -> Finding:
    """``op_times``: in how many programs of the pair products take most of a call, and which class of
    operations carries most of each decided gap between the two, on the workloads of op_times.

    Of this run's own profiles; of the reference, whose workloads are of several runs, of all. `carried` has the
    name of each class that carries a gap with how many gaps it carries, the most first. A gap that the profiles
    do not show counts in none. `marked`: gaps of which a profile does not add up to its timed call.
    """
    pinned = context["native_compiler"]
    profiles, gaps = (
        table[(table.compiler == pinned) & ((table.run == "") | (context["origin"] == "reference"))]
        for table in (op_times, gap_causes)
    )
    shares = profiles[profiles.framework.isin([pair.subject, pair.baseline])]
    programs = shares.groupby(["workload", "framework"]).ngroups
    products = shares[shares["class"] == PRODUCTS]
    own = gaps[(gaps.subject == pair.subject) & (gaps.baseline == pair.baseline)]
    own = own[own.workload.isin(shares.workload) & own.verdict.isin([SLOWER, FASTER])]
    shown = own[own["where"] != ""].drop_duplicates("workload")
    carried = Counter(shown["where"])
    return finding(
        "op_times",
        verdicts.MEASURED if programs else verdicts.NO_DATA,
        compiler=pinned,
        programs=programs,
        mostly_products=int((products.share > 0.5).sum()),
        gaps=carried.total(),
        marked=int((~shown.adds_up.map(is_true)).sum()),
        carried=[{"name": CLASSES[one], "gaps": number} for one, number in carried.most_common()],
    )
