"""Findings about the run: outcomes, parity, the machine, memory, and the original's directions."""

from __future__ import annotations

from collections import Counter

import pandas

from stackwars.frameworks import title
from stackwars.measure import parity
from stackwars.results import published, verdicts
from stackwars.results.read_cells import on_cpu, short_status
from stackwars.results.values import is_missing
from stackwars.results.verdicts import Finding, finding
from stackwars.setup.device import CPU


def run_findings(frame: pandas.DataFrame, context: dict) -> list[Finding]:
    """The run itself: outcome of the cells, absent devices, parity, the machine's peak, time."""
    cpu = on_cpu(frame)
    tally = Counter(cpu.status)
    ok = tally["ok"]
    absent = [name for name, d in context["devices"].items() if not d.get("present")]
    # A baseline's row repeats the largest error of its subjects: it is no pair of its own.
    pairs = cpu[(cpu.status == "ok") & (cpu.baseline != "")]
    known = pairs.dropna(subset=["parity_rel_l2"])
    common = context["settings"]["parity_rel_l2"]
    limits = known.workload.map(
        {w: parity.limit(w, context["sizes"][w], common) for w in known.workload.unique()}
    )
    usual = known[limits <= common]
    # An output that is off makes its cell invalid, and is the worst all the same.
    compared = cpu[cpu.status.isin(["ok", "invalid"]) & (cpu.baseline != "")]
    wider = [w for w, s in context["sizes"].items() if parity.limit(w, s, common) > common]
    of_any = compared[~compared.workload.isin(wider)].parity_rel_l2.dropna()
    worst = usual.loc[usual.parity_rel_l2.idxmax()] if len(usual) else None
    invalid = cpu[cpu.status == "invalid"]
    refused = [f"{c.title} under {title(c.framework)}" for _, c in invalid.iterrows()]
    peak = context.get("peak") or {}
    return [
        finding(
            "cells",
            _outcome(ok, len(cpu)),
            ok=ok,
            total=len(cpu),
            count_list=[f"{n} {status}" for status, n in tally.items()],
            workloads=cpu.workload.nunique(),
            framework_ids=list(cpu.framework.drop_duplicates()),
            not_on_cpu=int((frame[frame.device != CPU].status != "not run").sum()),
        ),
        finding("absent_devices", verdicts.SOME if absent else verdicts.NONE, devices=absent),
        finding(
            "parity",
            verdicts.MEASURED if worst is not None else verdicts.NO_DATA,
            worst=worst.parity_rel_l2 if worst is not None else None,
            of_any=of_any.max() if len(of_any) else None,
            title=worst.title if worst is not None else None,
            pairs=len(known),
            # Workloads whose correct results may differ by more.
            wider=[
                {
                    "title": rows.title.iloc[0],
                    "worst": rows.parity_rel_l2.max(),
                    "limit": limits[rows.index[0]],
                }
                for _, rows in known[limits > common].groupby("workload", sort=False)
            ],
        ),
        finding(
            "invalid",
            verdicts.SOME if len(invalid) else verdicts.NONE,
            cells=refused,
        ),
        finding(
            "peak",
            verdicts.NO_DATA if is_missing(peak.get("gflop_per_s")) else verdicts.MEASURED,
            gflop_per_s=peak.get("gflop_per_s"),
            copy_gb_per_s=peak.get("copy_gb_per_s"),
        ),
        finding(
            "time",
            verdicts.NO_DATA if not context.get("wall_s") else verdicts.MEASURED,
            wall_s=context.get("wall_s"),
            overhead_ratio=context.get("overhead_ratio"),
        ),
    ]


def _outcome(ok: int, total: int) -> str:
    if not ok:
        return verdicts.NONE_OK
    return verdicts.ALL_OK if ok == total else verdicts.SOME_OK


def shape_findings(frame: pandas.DataFrame) -> list[Finding]:
    """``shape/<workload>``: the workloads of this run, whatever became of their cells."""
    rows = frame.drop_duplicates("workload")
    return [
        finding(f"shape/{w.workload}", verdicts.NONE, title=w.title, kind=w.kind)
        for _, w in rows.iterrows()
    ]


def precision_finding(frame: pandas.DataFrame) -> Finding:
    """``ir/precision``: what matrix products and convolutions ask for in any program of an ok cell."""
    found = set(frame[frame.status == "ok"].precision.dropna()) - {""}
    verdict = verdicts.NO_DATA if not found else verdicts.MEASURED
    return finding("ir/precision", verdict, precisions=sorted(found))


def memory_findings(frame: pandas.DataFrame, there: pandas.DataFrame) -> list[Finding]:
    """``memory/<workload>/<framework>``: peak RSS over the baseline's, and the outcome there and here."""
    cells = on_cpu(frame).set_index(["workload", "framework"])
    outcome_there = there.set_index(["workload", "framework"]).status.to_dict()
    found = []
    for (workload, framework), cell in cells.iterrows():
        key = (workload, cell.baseline)
        base = cells.loc[key] if key in cells.index else None
        both = base is not None and cell.status == "ok" and base.status == "ok"
        found.append(
            finding(
                f"memory/{workload}/{framework}",
                verdicts.memory_outcome(outcome_there.get((workload, framework), ""), cell.status),
                title=cell.title,
                framework=framework,
                status=short_status(cell),
                peak_rss_bytes=cell.peak_rss_bytes,
                rss_ratio=cell.peak_rss_bytes / base.peak_rss_bytes if both else None,
                parameter_bytes=cell.parameter_bytes,
            )
        )
    return found


def agreement_findings(frame, ratios, there) -> list[Finding]:
    """``agreement/<workload>/<framework>``: the steady direction beside the published one; ``headline``."""
    found = []
    for pair in published.pairs(frame, ratios, there):
        if pair.framework in set(there.framework):
            found.append(
                finding(
                    f"agreement/{pair.workload}/{pair.framework}",
                    pair.agreement,
                    framework=pair.framework,
                    title=pair.title,
                    published_ratio=pair.published.get("steady"),
                    ratio=pair.ours.get("steady"),
                    low=pair.ends.get("steady", (None, None))[0],
                    high=pair.ends.get("steady", (None, None))[1],
                    ours=pair.verdict,
                )
            )
    tally = Counter(f["verdict"] for f in found)
    agrees, differs = tally[verdicts.AGREES], tally[verdicts.DIFFERS]
    open_words = (verdicts.NO_DIFFERENCE, verdicts.UNRESOLVED, verdicts.NOT_DECIDED)
    unresolved = sum(tally[word] for word in open_words)
    verdict = verdicts.headline(agrees, differs, unresolved)
    summary = finding(
        "headline",
        verdict,
        agrees=agrees,
        differs=differs,
        unresolved=unresolved,
        comparable=agrees + differs + unresolved,
    )
    return [*found, summary]
