"""Tables of the split: both programs in both compilers, the two terms, and edited programs."""

from __future__ import annotations

import pandas

from stackwars.compiler_sources import compiler_title, compilers
from stackwars.latex import escape, is_missing, scientific, significant
from stackwars.split_findings import PAIR
from stackwars.table_rows import interval
from stackwars.tabular import GAP, Float, row, span, table
from stackwars.verdicts import NO_DIFFERENCE, NONE


def split_table(replay: pandas.DataFrame, split: pandas.DataFrame) -> str:
    """One row per workload and compiler: replays, IR effect, runtime effect (ms) and control."""
    runs = replay.set_index(["workload", "compiler", "framework"])
    order = compilers(split)
    lines: list[str] = []
    for workload, rows in split.groupby("workload", sort=False):
        if lines:
            lines.append(GAP)
        rows = rows.sort_values("compiler", key=lambda names: names.map(order.index))
        for first, (_, one) in zip([True] + [False] * len(rows), rows.iterrows(), strict=False):
            sides = [(workload, one.compiler, f) for f in PAIR]
            known = [runs.loc[side] for side in sides if side in runs.index]
            lines.append(_split_line(one, known, first))
    header = [
        r"& & \multicolumn{2}{c}{Replay (ms)} & \multicolumn{2}{c}{Native difference} & "
        r"\multicolumn{3}{c}{IR effect} & \multicolumn{2}{c}{Runtime effect} & "
        r"\multicolumn{2}{c}{Control} & \\",
        r"\cmidrule(lr){3-4}\cmidrule(lr){5-6}\cmidrule(lr){7-9}\cmidrule(lr){10-11}"
        r"\cmidrule(lr){12-13}",
        row(
            [
                *("Workload", "Compiler", "{JAX}", "{PyTorch}"),
                *("{ms}", r"{95\,\%}", "{ms}", r"{95\,\%}", r"{ratio}", "{ms}", r"{95\,\%}"),
                *("{ratio}", r"{95\,\%}", "{Rel. $L_2$}"),
            ]
        ),
    ]
    return table(
        Float(
            label="tab:split",
            caption="The Same Compiler for Both Programs: Replay, and the Difference Split",
            columns="llrrrcrcrrcrcr",
            note="Replay: both programs loaded into one client of that jaxlib and called in turn. "
            "Native difference: PyTorch's call less JAX's; IR effect: replay of PyTorch's program "
            "less that of JAX's, and their ratio. Runtime effect: difference "
            "of what a native call takes beyond the replay of its own program. "
            "\\emph{none}: the interval holds 0. Control: JAX's native call over the replay of "
            "JAX's program, good where the interval holds 1. A dash: not defined there (the native "
            "calls belong to one generation), or fewer than two repetitions. Rel.\\ $L_2$: largest "
            "disagreement of the outputs of the replayed programs. " + _origin(replay),
            separation="2.4pt",
            wide=True,
            size=r"\scriptsize",
        ),
        header,
        lines or [row([span(14, "no program was replayed")])],
    )


def _split_line(one: pandas.Series, known: list[pandas.Series], first: bool) -> str:
    head = [escape(one.title) if first else "", escape(compiler_title(one.compiler))]
    failed = [run for run in known if run.status != "ok"]
    if failed or len(known) < len(PAIR):
        return row([*head, span(12, _why(failed))])
    parity = [run.parity_rel_l2 for run in known if not is_missing(run.parity_rel_l2)]
    return row(
        [
            *head,
            *(_number(run.replay_ms) for run in known),
            *_term(one, "native_difference", _native_word(one)),
            *_term(one, "ir_effect", one.ir_verdict),
            _number(one.ir_ratio),
            *_term(one, "runtime_effect", one.runtime_verdict),
            _number(one.control_ratio),
            interval(one.control_low, one.control_high),
            scientific(max(parity)) if parity else "---",
        ]
    )


def _native_word(one: pandas.Series) -> str:
    """The native difference has no verdict of its own in split.csv: its interval decides."""
    low, high = one.native_difference_low_ms, one.native_difference_high_ms
    return NONE if low <= 0 <= high else ""


def _origin(replay: pandas.DataFrame) -> str:
    """One origin holds for a whole run."""
    origins = replay.origin[replay.origin != ""].drop_duplicates()
    return f"Origin: {', '.join(map(escape, origins)) or 'none'}."


def _why(failed: list[pandas.Series]) -> str:
    """Status and detail, once where both programs share them."""
    if not failed:
        return "not replayed"
    detail = (failed[0].status_detail.splitlines() or [""])[0]
    detail = detail if len(detail) <= 70 else detail[:68].rsplit(" ", 1)[0] + " ..."
    return f"{failed[0].status}: {detail}" if detail else failed[0].status


def _term(one: pandas.Series, name: str, verdict: str) -> list[str]:
    """A term in ms and its interval; ``none`` where that holds 0."""
    value = one[f"{name}_ms"]
    low, high = one[f"{name}_low_ms"], one[f"{name}_high_ms"]
    known = not is_missing(low) and not is_missing(high)
    ends = f"[{signed(low)}, {signed(high)}]" if known else "---"
    if verdict == NONE:
        return ["none", ends]
    return [signed(value), ends]


def signed(value: float) -> str:
    """Three digits with a sign, a dash where there is none."""
    if is_missing(value):
        return "---"
    return f"${'+' if value > 0 else '-' if value < 0 else ''}{significant(abs(value))}$"


def _number(value: float, digits: int = 3) -> str:
    return "---" if is_missing(value) else significant(value, digits)


def edit_table(replay: pandas.DataFrame, edits: list[dict]) -> str:
    """One row per edited program and compiler: what share of the difference the edit closes."""
    lines, previous = [], None
    for one in edits:
        if previous not in (None, one["workload"]):
            lines.append(GAP)
        lines.append(
            row(
                [
                    escape(one["title"]) if one["workload"] != previous else "",
                    escape(one["program"]),
                    escape(one["generation"]),
                    *(_number(one[f"{side}_ms"]) for side in ("own", "edited", "other")),
                    _share(one),
                ]
            )
        )
        previous = one["workload"]
    header = [
        r"& & & \multicolumn{3}{c}{Replay (ms)} & \\",
        r"\cmidrule(lr){4-6}",
        row(
            [
                *("Workload", "Program, edit", "Compiler"),
                *("{own}", "{edited}", "{other}", "{Share closed}"),
            ]
        ),
    ]
    return table(
        Float(
            label="tab:edits",
            caption="Edited Programs: Which Operations the Difference Belongs To",
            columns="lllrrrr",
            note="Own: the program as its front end emitted it; other: the other framework's. Share "
            "closed: (own $-$ edited) / (own $-$ other); \\emph{none}: the interval of edited/own, "
            "paired by repetition, holds 1; above 100\\,\\%: the edited program passed the other one; below 0: "
            "it moved away. " + _origin(replay),
            wide=True,
            size=r"\scriptsize",
        ),
        header,
        lines or [row([span(7, "no edited program was replayed")])],
    )


def _share(one: dict) -> str:
    if one["verdict"] == NO_DIFFERENCE:
        return "none"
    return "---" if one["share"] is None else rf"{100 * one['share']:.0f}\,\%"
