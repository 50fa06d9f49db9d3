"""Tables of the programs: their size at three levels, and the published claims about their form."""

from __future__ import annotations

import pandas

from stackwars.findings.programs import CLAIMS, UNDECIDED, same_program
from stackwars.frameworks import title
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.rows import origins
from stackwars.paper.tables.tabular import GAP, Float, row, span, table
from stackwars.results.read_cells import titles
from stackwars.results.read_compilers import OPTIMISED, TARGET, target_title
from stackwars.results.values import is_missing
from stackwars.study.comparisons import Comparison

LEVELS = ["raw", "normalised", OPTIMISED]
LAYOUT = ["reshapes", "transposes", "broadcasts"]
SAME_WORDS = {"same": "yes", "different": "no"}


def metrics_table(metrics: pandas.DataFrame, pairs: list[Comparison]) -> str:
    """Two rows per workload: operations, layout operations and bytes, depth; the same program?"""
    cells = metrics.set_index(["workload", "level", "framework"])
    lines: list[str] = []
    for workload, name in titles(metrics).items():
        if lines:
            lines.append(GAP)
        frameworks = dict.fromkeys(side for pair in pairs for side in pair.sides)
        for place, framework in enumerate(frameworks):
            own = [pair for pair in pairs if framework in pair.sides]
            groups = [_level(cells, workload, level, framework, own) for level in LEVELS]
            head = [escape(name) if place == 0 else "", escape(title(framework))]
            lines.append(row([*head, *(cell for g in groups for cell in g)]))
    header = [
        r"& & \multicolumn{5}{c}{Raw} & \multicolumn{5}{c}{Normalised} & "
        r"\multicolumn{4}{c}{Optimised} \\",
        r"\cmidrule(lr){3-7}\cmidrule(lr){8-12}\cmidrule(lr){13-16}",
        row(
            [
                *("Workload", "Framework"),
                *(["{Ops}", "{Layout}", "{MiB}", "{Depth}", "{Same}"] * 2),
                *("{Ops}", "{Layout}", "{MiB}", "{Depth}"),
            ]
        ),
    ]
    return table(
        Float(
            label="tab:metrics",
            caption="Every Program at Three Levels",
            columns="ll" + "rrrrc" * 2 + "rrrr",
            note="Raw: as the frontend emitted it. Normalised: calls inlined, CHLO legalised, operations "
            "canonicalised, common subexpressions merged, unused arguments dropped. Optimised: the "
            f"compiler's HLO for a {target_title(TARGET)}. Ops: operations, constants excluded. "
            "Layout: reshapes, transposes and broadcasts among them; MiB: written by layout-only "
            "operations. Depth: longest chain. Same: whether the canonical hashes of both programs "
            "are equal (HLO has none). A dash: not counted at that level. " + origins(metrics),
            wide=True,
            size=r"\scriptsize",
            separation="2.6pt",
        ),
        header,
        lines or [row([span(16, "no program was read")])],
    )


def _level(
    cells: pandas.DataFrame, workload: str, level: str, framework: str, pairs: list[Comparison]
) -> list[str]:
    """The cells of one level; HLO has no canonical hash, so the last level has one cell less.

    A baseline has a dash for the hash where its subjects differ in whether their program is the same.
    """
    key = (workload, level, framework)
    width = 4 if level == OPTIMISED else 5
    if key not in cells.index:
        return [span(width, "not made")]
    one = cells.loc[key]
    if one.status != "ok":
        return [span(width, one.status or "no status")]
    parts = [one[name] for name in LAYOUT]
    layout = sum(parts) if not any(is_missing(p) for p in parts) else None
    counts = [
        _whole(one.operations),
        _whole(layout),
        "---" if is_missing(one.layout_bytes) else significant(one.layout_bytes / 2**20),
        _whole(one.depth),
    ]
    if level == OPTIMISED:
        return counts
    same = {same_program(cells, workload, level, pair) for pair in pairs}
    return [*counts, SAME_WORDS.get(same.pop(), "---") if len(same) == 1 else "---"]


def _whole(value: float | None) -> str:
    return "---" if is_missing(value) else f"{value:.0f}"


def structure_table(
    structure: pandas.DataFrame,
    frameworks: list[str],
    origin: str,
    label: str = "tab:structure",
    caption: str = "The Published Claims About the Programs' Form, Decided by Rule",
) -> str:
    """A row per workload, a column per published claim: the rule's verdict on each program.

    origin: of the programs, for the note.
    """
    cells = structure.set_index(["workload", "claim", "framework"]).verdict
    order, lines = escape(" / ".join(map(title, frameworks))), []
    for workload, name in titles(structure).items():
        words = [
            _words([cells.get((workload, claim, f), "") for f in frameworks]) for claim in CLAIMS
        ]
        lines.append(row([escape(name), *words]))
    return table(
        Float(
            label=label,
            caption=caption,
            columns="l" + "l" * len(CLAIMS),
            note=f"{order}, or one word where all programs have the same form; each decided by a rule "
            "over the normalised program, not by reading. "
            + ("\\emph{both}: a program has both forms. " if "both" in "".join(lines) else "")
            + f"A dash: the claim does not apply to the program, or there is none. Origin: {origin}.",
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Workload", *(claim.title for claim in CLAIMS.values())])],
        lines or [row([span(1 + len(CLAIMS), "no program was read")])],
    )


def _words(sides: list[str]) -> str:
    """``preserved / flattened``, once where all are the same."""
    words = ["---" if word in UNDECIDED else escape(word) for word in sides]
    return words[0] if len(set(words)) == 1 else " / ".join(words)
