"""Findings about where the difference comes from: replay.csv and split.csv.

A term is claimed only where its interval leaves 1 outside; the words are split.csv's own.
"""

from __future__ import annotations

import math

import pandas

from stackwars.measure import parity
from stackwars.results import compiler_verdicts as words
from stackwars.results import verdicts
from stackwars.results.read_cells import titles
from stackwars.results.read_compilers import compilers
from stackwars.results.values import is_missing
from stackwars.results.verdicts import Finding, finding


def split_findings(
    replay: pandas.DataFrame, split: pandas.DataFrame, context: dict
) -> list[Finding]:
    """Every finding of the section on the split but those of edited programs."""
    pinned = context["native_compiler"]
    return [
        _compilers(split, pinned),
        _replays(replay),
        _parity(replay, context),
        *effect_findings(split),
        *_generations(split),
        *_sources(split, pinned),
        *_controls(split, pinned),
    ]


def _compilers(split: pandas.DataFrame, pinned: str) -> Finding:
    """The generations of XLA, which of them the frameworks themselves use, and what one was not given."""
    there = compilers(split)
    given = {name: set(split[split.compiler == name].workload) for name in there}
    others = [name for name in there if name != pinned]
    return finding(
        "compilers",
        verdicts.SOME if there else verdicts.NONE,
        names=there,
        pinned=pinned,
        has_pinned=pinned in there,
        newest=others[-1] if others else None,
        left_out=[
            {"name": name, "titles": left}
            for name in there
            if (left := [title for w, title in titles(split).items() if w not in given[name]])
        ],
    )


def _replays(replay: pandas.DataFrame) -> Finding:
    """How many (workload, compiler) gave a replay, and why the others did not."""
    cells = replay[~replay.framework.str.contains("+", regex=False)].drop_duplicates(
        ["workload", "compiler"]
    )
    failed = cells[cells.status != "ok"].drop_duplicates("workload")
    ok = int((cells.status == "ok").sum())
    outcome = verdicts.SOME_OK if ok else verdicts.NONE_OK
    return finding(
        "replay",
        verdicts.ALL_OK if ok and ok == len(cells) else outcome,
        ok=ok,
        total=len(cells),
        failed=[
            f"{', '.join(rows.title)} ({status})"
            for status, rows in failed.groupby("status", sort=False)
        ],
    )


def _parity(replay: pandas.DataFrame, context: dict) -> Finding:
    """The largest disagreement of two programs on one client, or of a program with its cell.

    Without the workloads whose correct results may differ by more: of those, `parity` tells.
    """
    common = context["settings"]["parity_rel_l2"]
    wider = [w for w, s in context["sizes"].items() if parity.limit(w, s, common) > common]
    known = replay[~replay.workload.isin(wider)].dropna(subset=["parity_rel_l2"])
    if known.empty:
        return finding("replay_parity", verdicts.NO_DATA)
    worst = known.loc[known.parity_rel_l2.idxmax()]
    return finding(
        "replay_parity",
        verdicts.MEASURED,
        worst=worst.parity_rel_l2,
        of_any=worst.parity_rel_l2,
        title=worst.title,
        native=known.native_rel_l2.max(),
    )


def effect_findings(split: pandas.DataFrame) -> list[Finding]:
    """``effect/<workload>/<framework>/<compiler>``: its program against the baseline's in one compiler."""
    return [
        finding(
            f"effect/{row.workload}/{row.framework}/{row.compiler}",
            row.ir_verdict,
            workload=row.workload,
            framework=row.framework,
            title=row.title,
            kind=row.kind,
            compiler=row.compiler,
            ratio=row.ir_ratio,
            low=row.ir_ratio_low,
            high=row.ir_ratio_high,
        )
        for _, row in split.iterrows()
    ]


def _generations(split: pandas.DataFrame) -> list[Finding]:
    """``generations/<workload>/<framework>``: the IR effect in the oldest and in the newest compiler."""
    order = compilers(split)
    if len(order) < 2:
        return []
    table = split.set_index(["workload", "framework", "compiler"])
    found = []
    for _, row in split.drop_duplicates(["workload", "framework"]).iterrows():
        ends = [(row.workload, row.framework, end) for end in (order[0], order[-1])]
        if all(end in table.index for end in ends):
            older, newer = (table.loc[end] for end in ends)
            found.append(
                finding(
                    f"generations/{row.workload}/{row.framework}",
                    words.generations(older.ir_verdict, newer.ir_verdict),
                    workload=row.workload,
                    framework=row.framework,
                    title=row.title,
                    older=older.ir_ratio,
                    newer=newer.ir_ratio,
                    older_verdict=older.ir_verdict,
                    newer_verdict=newer.ir_verdict,
                )
            )
    return found


def sources_elsewhere(
    split: pandas.DataFrame, own: pandas.DataFrame, context: dict
) -> list[Finding]:
    """``source_elsewhere/<workload>/<framework>``: as ``source``, of the workloads of other studies.

    split: of all studies; own: of the first.
    """
    others = split[~split.workload.isin(own.workload)]
    return [
        found | {"id": found["id"].replace("source", "source_elsewhere", 1)}
        for found in _sources(others, context["native_compiler"])
    ]


def _sources(split: pandas.DataFrame, pinned: str) -> list[Finding]:
    """``source/<workload>/<framework>``: which term does more of the native ratio.

    ``share`` is the IR effect's share of the native ratio, both as logarithms.
    """
    found = []
    for _, row in split[split.compiler == pinned].iterrows():
        known = not is_missing(row.ir_ratio) and not is_missing(row.native_ratio)
        native = math.log(row.native_ratio) if known else 0.0
        found.append(
            finding(
                f"source/{row.workload}/{row.framework}",
                row.source_verdict,
                workload=row.workload,
                framework=row.framework,
                title=row.title,
                kind=row.kind,
                native_verdict=row.native_verdict,
                ir_verdict=row.ir_verdict,
                runtime_verdict=row.runtime_verdict,
                share=math.log(row.ir_ratio) / native if native else None,
                **_ends(row, "native", ""),
                **_ends(row, "ir", "ir_"),
                **_ends(row, "runtime", "runtime_"),
                **_ends(row, "lead", "lead_"),
            )
        )
    return found


def _ends(row: pandas.Series, term: str, prefix: str) -> dict[str, float]:
    """A term's ratio and the ends of its interval, as fields of a finding."""
    ends = {"ratio": "ratio", "low": "ratio_low", "high": "ratio_high"}
    return {prefix + name: row[f"{term}_{column}"] for name, column in ends.items()}


def _controls(split: pandas.DataFrame, pinned: str) -> list[Finding]:
    """``control/<workload>/<baseline>``: the baseline's native call over the replay of its own program."""
    natively = split[split.compiler == pinned]
    return [
        finding(
            f"control/{row.workload}/{row.baseline}",
            row.control_verdict,
            title=row.title,
            **_ends(row, "control", ""),
        )
        for _, row in natively.drop_duplicates(["workload", "baseline"]).iterrows()
    ]
