"""Findings about programs for several devices: their output, their collectives, and what a chip holds."""

from __future__ import annotations

import pandas

from stackwars.compilers.collectives import KINDS
from stackwars.results import verdicts
from stackwars.results.values import is_missing
from stackwars.results.verdicts import Finding, finding
from stackwars.setup.device import CPU
from stackwars.study.comparisons import Comparison

ABOUT = (
    *("title", "frontend", "frontend_title", "framework", "way", "devices", "status"),
    *("run", "here"),
)


def sharding_findings(sharding: pandas.DataFrame, pairs: list[Comparison]) -> list[Finding]:
    """Every finding of sharding.csv; pairs: the comparisons of programs."""
    here, slices = (
        sharding[which] for which in (sharding["target"] == CPU, sharding["target"] != CPU)
    )
    return [
        *_outputs(here),
        *_collectives(here, pairs, "collectives"),
        *_slices(slices),
        *_collectives(slices, pairs, "slice_collectives"),
    ]


def _outputs(rows: pandas.DataFrame) -> list[Finding]:
    """``sharded/<workload>/<frontend>/<way>/<devices>``: whether the output is that of one device."""
    words = {"ok": verdicts.AGREES, "invalid": verdicts.DIFFERS}
    return [
        finding(
            f"sharded/{row['workload']}/{row['frontend']}/{row['way']}/{row['devices']}",
            words.get(row["status"], verdicts.NO_DATA),
            **{key: row[key] for key in (*ABOUT, "rel_l2", "emitted", *KINDS, "bytes")},
        )
        for _, row in rows.iterrows()
    ]


def _collectives(rows: pandas.DataFrame, pairs: list[Comparison], name: str) -> list[Finding]:
    """``<name>/<workload>/<way>/<devices>/<subject>``: whether the subject's program, annotated and divided by
    XLA, has as many collectives of each kind as the baseline's; name: of the devices here, or of slices."""
    found = []
    ok = rows[rows["status"].isin(["ok", "invalid"]) & (rows["devices"] > 1)]
    ok = ok.dropna(subset=list(KINDS))  # of a program that could not be read
    for (workload, way, devices), group in ok.groupby(["workload", "way", "devices"], sort=False):
        annotated = group[group["frontend"] == group["framework"]].set_index("framework")
        for pair in pairs:
            if not {pair.subject, pair.baseline} <= set(annotated.index):
                continue
            subject, baseline = (annotated.loc[side] for side in (pair.subject, pair.baseline))
            same = all(subject[kind] == baseline[kind] for kind in KINDS)
            found.append(
                finding(
                    f"{name}/{workload}/{way}/{devices}/{pair.subject}",
                    verdicts.AGREES if same else verdicts.DIFFERS,
                    title=subject["title"],
                    framework=pair.subject,
                    way=way,
                    devices=devices,
                    count=sum(subject[kind] for kind in KINDS),
                    baseline_count=sum(baseline[kind] for kind in KINDS),
                    ratio=None if not baseline["bytes"] else subject["bytes"] / baseline["bytes"],
                    here=bool(subject["here"]),
                )
            )
    return found


def _slices(rows: pandas.DataFrame) -> list[Finding]:
    """``slice/<workload>/<framework>/<chips>``: whether a program fits each chip of a slice."""
    return [
        finding(
            f"slice/{row['workload']}/{row['framework']}/{row['devices']}",
            verdicts.NO_DATA if is_missing(row["verdict"]) else row["verdict"],
            target=row["target"],
            **{key: row[key] for key in (*ABOUT, "device_bytes", "usable_bytes", *KINDS, "bytes")},
        )
        for _, row in rows.iterrows()
    ]
