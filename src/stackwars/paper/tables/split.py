"""Tables of the split: both programs in both compilers, the two terms, and edited programs."""

from __future__ import annotations

import pandas

from stackwars import frameworks
from stackwars.paper.latex import escape, scientific, significant
from stackwars.paper.tables.ratios import SIGNS, SIGNS_NOTE
from stackwars.paper.tables.rows import interval, origins, over
from stackwars.paper.tables.spread import SPREAD_NOTE, Spread, spread_text
from stackwars.paper.tables.tabular import GAP, Float, row, span, table
from stackwars.results.compiler_verdicts import (
    CLOSES_SOME,
    DUE_TO_IR,
    DUE_TO_RUNTIME,
    NOT_SEPARATED,
    OFF,
)
from stackwars.results.read_compilers import compiler_title, compilers
from stackwars.results.values import is_missing
from stackwars.results.verdicts import HOLDS, NO_DIFFERENCE, UNRESOLVED
from stackwars.study.comparisons import Comparison

_SIGNS = {**SIGNS, HOLDS: SIGNS[NO_DIFFERENCE], OFF: r"$\ne$"}
_REASONS = {DUE_TO_IR: "program", DUE_TO_RUNTIME: "runtime", NOT_SEPARATED: "?"}
INTERVALS = r"{\tiny range, interval}"
"""What stands in the second cell of a row of intervals, which is below a row of numbers."""


def split_table(
    replay: pandas.DataFrame,
    split: pandas.DataFrame,
    spread: Spread,
    pair: Comparison,
    label: str,
) -> str:
    """Replays (ms), native ratio, IR effect, runtime effect and control by workload and compiler.

    spread: of the replays, by REPLAY.
    """
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
            ends = [spread_text(spread, side) for side in sides]
            lines += _split_lines(one, known, ends, first)
    header = [
        r"& & & \multicolumn{2}{c}{Replay (ms)} & {Native} & {IR} & {Runtime} & & {Control} & \\",
        r"\cmidrule(lr){4-5}",
        row(
            [
                *("Workload", "Compiler", "{Rounds}", f"{{{base}}}", f"{{{own}}}"),
                *("{ratio}", "{effect}", "{effect}", "{Reason}", "{ratio}", "{Rel. $L_2$}"),
            ]
        ),
    ]
    return table(
        Float(
            label=label,
            caption="Both Programs in the Same Compiler: Replays, and the Factors of the Native Ratio",
            columns="llrrrrrrlrr",
            note=f"Below each time: {SPREAD_NOTE}; below each ratio: its 95\\,\\% interval, without correction "
            f"for their number, {over(split, 'ir')}. "
            "Replay: both programs loaded into one client of that jaxlib, with interleaved blocks. "
            f"Native ratio: {own}'s call over {base}'s, the steady ratio of Table~\\ref{{tab:ratios}}. "
            f"IR effect: replay of {own}'s program over that of {base}'s. "
            "Runtime effect: native ratio over IR effect. "
            + SIGNS_NOTE
            + "Reason: which effect is the larger factor of the native ratio, where the interval of the two "
            f"effects' ratio decides. Control: {base}'s native call over the replay of {base}'s program; "
            "$=$ where the whole interval is within 10\\,\\% of 1. A dash: not defined for that generation "
            "(the native calls use one only), or fewer than two rounds. Rel.\\ $L_2$: maximum "
            "error of the outputs of the replayed programs. " + origins(replay),
            separation="3.4pt",
            wide=True,
            size=r"\scriptsize",
        ),
        header,
        lines or [row([span(11, "no program was replayed")])],
    )


def _split_lines(
    one: pandas.Series, known: list[pandas.Series], spreads: list[str], first: bool
) -> list[str]:
    """A row of numbers and one of their spreads or intervals; a single row where there are none."""
    head = [escape(one.title) if first else "", escape(compiler_title(one.compiler))]
    failed = [run for run in known if run.status != "ok"]
    if failed or len(known) < 2:
        return [row([*head, span(9, _why(failed))])]
    parity = [run.parity_rel_l2 for run in known if not is_missing(run.parity_rel_l2)]
    cells = [
        *((_number(run.replay_ms), ends) for run, ends in zip(known, spreads, strict=True)),
        *(_term(one, name) for name in ("native", "ir", "runtime")),
        (_REASONS.get(one.source_verdict, "---"), ""),
        _term(one, "control"),
    ]
    numbers = [number for number, _ in cells]
    worst = scientific(max(parity)) if parity else "---"
    return [
        row([*head, f"{one.rounds:.0f}", *numbers, worst]),
        *_below([ends for _, ends in cells]),
    ]


def _below(ends: list[str]) -> list[str]:
    """The row of intervals below a row of numbers; none where no number has one."""
    shown = [small(one) for one in ends]
    return [row(["", INTERVALS, "", *shown, ""])] if any(shown) else []


def small(ends: str) -> str:
    """An interval in the type that fits below its number; nothing where there is none."""
    return "" if ends in ("", "---") else rf"{{\tiny {ends}}}"


def _why(failed: list[pandas.Series]) -> str:
    """Status and detail, once where both programs share them."""
    if not failed:
        return "not replayed"
    detail = (failed[0].status_detail.splitlines() or [""])[0]
    detail = detail if len(detail) <= 70 else detail[:68].rsplit(" ", 1)[0] + " ..."
    return f"{failed[0].status}: {detail}" if detail else failed[0].status


def _term(one: pandas.Series, name: str) -> tuple[str, str]:
    """A ratio with the sign of its verdict, and its interval."""
    value, verdict = one[f"{name}_ratio"], one[f"{name}_verdict"]
    if is_missing(value):
        return "---", "---"
    return f"{_SIGNS.get(verdict, '')}\\,{significant(value)}", interval(
        one[f"{name}_ratio_low"], one[f"{name}_ratio_high"]
    )


def _number(value: float, digits: int = 3) -> str:
    return "---" if is_missing(value) else significant(value, digits)


def edit_table(replay: pandas.DataFrame, spread: Spread, edits: list[dict]) -> str:
    """One row per edited program and compiler: what share of the difference the edit closes."""
    runs = replay.set_index(["workload", "compiler", "framework"])
    lines, previous = [], None
    for one in edits:
        if previous not in (None, one["workload"]):
            lines.append(GAP)
        own = one["framework"].partition("+")[0]
        keys = [
            (one["workload"], one["compiler"], f) for f in (own, one["framework"], one["other"])
        ]
        edited = runs.loc[keys[1]]
        cells = [(_number(runs.loc[key].replay_ms), spread_text(spread, key)) for key in keys]
        cells.append(
            (
                _number(edited.edited_ratio),
                interval(edited.edited_ratio_low, edited.edited_ratio_high),
            )
        )
        head = [escape(one["title"]) if one["workload"] != previous else "", escape(one["program"])]
        numbers = [number for number, _ in cells]
        lines.append(row([*head, escape(one["generation"]), *numbers, _share(one)]))
        lines += _below([ends for _, ends in cells])
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
            f"time: {SPREAD_NOTE}; below a ratio: its 95\\,\\% interval. Edited / own: of interleaved blocks, "
            "combined over the runs that replayed both, while the times are of one run, so it need not be "
            "their quotient. "
            "Share closed: log(edited/own) / log(other/own); \\emph{none}: the whole interval of edited/own is "
            "within 5\\,\\% of 1; ?: that interval decides nothing, or leaves open whether more than half is "
            "closed; above 100\\,\\%: the edited program passed the other one; below 0: it moved away from it. "
            + origins(replay),
            wide=True,
            size=r"\scriptsize",
        ),
        header,
        lines or [row([span(8, "no edited program was replayed")])],
    )


def _share(one: dict) -> str:
    if one["verdict"] == NO_DIFFERENCE:
        return "none"
    if one["verdict"] == UNRESOLVED or one["share"] is None:
        return "?" if one["share"] is not None else "---"
    mark = "?" if one["verdict"] == CLOSES_SOME else ""
    return rf"{100 * one['share']:.0f}\,\%{mark}"
