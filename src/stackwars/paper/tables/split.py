"""Tables of the split: both programs in both compilers, the two terms, and edited programs."""

from __future__ import annotations

import pandas

from stackwars import frameworks
from stackwars.paper.latex import escape, scientific, significant
from stackwars.paper.tables.rows import UNGATED_NOTE, interval, origins, steady_mark
from stackwars.paper.tables.tabular import GAP, Float, row, span, table
from stackwars.results.read_compilers import compiler_title, compilers
from stackwars.results.values import is_missing
from stackwars.results.verdicts import NO_DIFFERENCE, NONE
from stackwars.study.comparisons import Comparison

INTERVALS = r"{\tiny 95\,\% interval}"
"""What stands in the second cell of a row of intervals, which is below a row of numbers."""


def split_table(
    replay: pandas.DataFrame, split: pandas.DataFrame, pair: Comparison, label: str
) -> str:
    """Replays, native difference, IR effect, runtime effect (ms) and control by workload and compiler."""
    split = split[(split.framework == pair.subject) & (split.baseline == pair.baseline)]
    base, own = (escape(frameworks.title(side)) for side in pair.sides)
    runs = replay.set_index(["workload", "compiler", "framework"])
    order = compilers(split)
    lines: list[str] = []
    for workload, rows in split.groupby("workload", sort=False):
        if lines:
            lines.append(GAP)
        rows = rows.sort_values("compiler", key=lambda names: names.map(order.index))
        for first, (_, one) in zip([True] + [False] * len(rows), rows.iterrows(), strict=False):
            sides = [(workload, one.compiler, side) for side in pair.sides]
            known = [runs.loc[side] for side in sides if side in runs.index]
            lines += _split_lines(one, known, first)
    header = [
        r"& & & \multicolumn{2}{c}{Replay (ms)} & {Native diff.} & \multicolumn{2}{c}{IR effect} & "
        r"{Runtime effect} & {Control} & \\",
        r"\cmidrule(lr){4-5}\cmidrule(lr){7-8}",
        row(
            [
                *("Workload", "Compiler", "{Rounds}", f"{{{base}}}", f"{{{own}}}"),
                *("{(ms)}", "{(ms)}"),
                *("{(ratio)}", "{(ms)}", "{(ratio)}", "{Rel. $L_2$}"),
            ]
        ),
    ]
    return table(
        Float(
            label=label,
            caption="Both Programs in the Same Compiler: Replays, and the Terms of the Difference",
            columns="llrrrrrrrrr",
            note="Below each number: its 95\\,\\% interval across rounds, not corrected for their number. "
            "Replay: both programs loaded into one client of that jaxlib, with interleaved blocks. "
            f"Native difference: {own}'s call $-$ {base}'s; IR effect: replay of {own}'s program "
            f"$-$ that of {base}'s, and their ratio. Runtime effect: the same difference "
            "of what a native call takes beyond the replay of its own program. "
            f"\\emph{{none}}: the interval contains 0. Control: {base}'s native call over the replay of "
            f"{base}'s program, passed where the interval contains 1. A dash: not defined for that generation "
            "(the native calls use one only), or fewer than two rounds. Rel.\\ $L_2$: maximum "
            "error of the outputs of the replayed programs. " + UNGATED_NOTE + origins(replay),
            separation="3.4pt",
            wide=True,
            size=r"\scriptsize",
        ),
        header,
        lines or [row([span(11, "no program was replayed")])],
    )


def _split_lines(one: pandas.Series, known: list[pandas.Series], first: bool) -> list[str]:
    """A row of numbers and one of their intervals; a single row for programs that have none."""
    head = [escape(one.title) if first else "", escape(compiler_title(one.compiler))]
    failed = [run for run in known if run.status != "ok"]
    if failed or len(known) < 2:
        return [row([*head, span(9, _why(failed))])]
    parity = [run.parity_rel_l2 for run in known if not is_missing(run.parity_rel_l2)]
    cells = [
        *(
            (_number(run.replay_ms), interval(run.replay_low_ms, run.replay_high_ms))
            for run in known
        ),
        _term(one, "native_difference", _native_word(one)),
        _term(one, "ir_effect", one.ir_verdict),
        (_number(one.ir_ratio), interval(one.ir_ratio_low, one.ir_ratio_high)),
        _term(one, "runtime_effect", one.runtime_verdict),
        (_number(one.control_ratio), interval(one.control_low, one.control_high)),
    ]
    numbers = [number for number, _ in cells]
    mark = steady_mark(one.gated) if one.rounds else ""
    worst = scientific(max(parity)) if parity else "---"
    return [
        row([*head, f"{one.rounds:.0f}{mark}", *numbers, worst]),
        row(["", INTERVALS, "", *(small(ends) for _, ends in cells), ""]),
    ]


def small(ends: str) -> str:
    """An interval in the type that fits below its number; nothing where there is none."""
    return "" if ends == "---" else rf"{{\tiny {ends}}}"


def _native_word(one: pandas.Series) -> str:
    """The native difference has no verdict of its own in split.csv: its interval decides."""
    low, high = one.native_difference_low_ms, one.native_difference_high_ms
    return NONE if low <= 0 <= high else ""


def _why(failed: list[pandas.Series]) -> str:
    """Status and detail, once where both programs share them."""
    if not failed:
        return "not replayed"
    detail = (failed[0].status_detail.splitlines() or [""])[0]
    detail = detail if len(detail) <= 70 else detail[:68].rsplit(" ", 1)[0] + " ..."
    return f"{failed[0].status}: {detail}" if detail else failed[0].status


def _term(one: pandas.Series, name: str, verdict: str) -> tuple[str, str]:
    """A term in ms and its interval; ``none`` where that contains 0."""
    value = one[f"{name}_ms"]
    low, high = one[f"{name}_low_ms"], one[f"{name}_high_ms"]
    known = not is_missing(low) and not is_missing(high)
    ends = f"[{signed(low)}, {signed(high)}]" if known else "---"
    return ("none" if verdict == NONE else signed(value)), ends


def signed(value: float) -> str:
    """Three digits with a sign, a dash where there is none."""
    if is_missing(value):
        return "---"
    return f"${'+' if value > 0 else '-' if value < 0 else ''}{significant(abs(value))}$"


def _number(value: float, digits: int = 3) -> str:
    return "---" if is_missing(value) else significant(value, digits)


def edit_table(replay: pandas.DataFrame, edits: list[dict]) -> str:
    """One row per edited program and compiler: what share of the difference the edit closes."""
    runs = replay.set_index(["workload", "compiler", "framework"])
    lines, previous = [], None
    for one in edits:
        if previous not in (None, one["workload"]):
            lines.append(GAP)
        own = one["framework"].partition("+")[0]
        sides = [
            runs.loc[(one["workload"], one["compiler"], f)]
            for f in (own, one["framework"], one["other"])
        ]
        edited = sides[1]
        cells = [(_number(s.replay_ms), interval(s.replay_low_ms, s.replay_high_ms)) for s in sides]
        cells.append(
            (_number(edited.edited_ratio), interval(edited.edited_low, edited.edited_high))
        )
        head = [escape(one["title"]) if one["workload"] != previous else "", escape(one["program"])]
        numbers = [number for number, _ in cells]
        lines.append(row([*head, escape(one["generation"]), *numbers, _share(one)]))
        lines.append(row(["", INTERVALS, "", *(small(ends) for _, ends in cells), ""]))
        previous = one["workload"]
    header = [
        r"& & & \multicolumn{3}{c}{Replay (ms)} & {Edited} & \\",
        r"\cmidrule(lr){4-6}",
        row(
            [
                *("Workload", "Program, edit", "Compiler"),
                *("{own}", "{edited}", "{other}", "{/ own}", "{Share closed}"),
            ]
        ),
    ]
    return table(
        Float(
            label="tab:edits",
            caption="Edited Programs: Which Operations Cause the Difference",
            columns="lllrrrrr",
            note="Own: the program as its frontend emitted it; other: the other framework's. Below each "
            "number: its 95\\,\\% interval across rounds. Share "
            "closed: (1 $-$ edited/own) / (1 $-$ other/own), computed from interleaved blocks as edited/own "
            "is, and not from the numbers in this row; it has no interval of its own but rests on that of "
            "edited/own; \\emph{none}: that interval contains 1; above 100\\,\\%: the edited program passed "
            "the other one; below 0: it moved away from it. " + origins(replay),
            wide=True,
            size=r"\scriptsize",
        ),
        header,
        lines or [row([span(8, "no edited program was replayed")])],
    )


def _share(one: dict) -> str:
    if one["verdict"] == NO_DIFFERENCE:
        return "none"
    return "---" if one["share"] is None else rf"{100 * one['share']:.0f}\,\%"
