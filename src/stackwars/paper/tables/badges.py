"""The criteria of artifact badges, and where they are met."""

from __future__ import annotations

from stackwars.paper.latex import escape
from stackwars.paper.tables.tabular import Float, row, table


def badge_table(document: dict) -> str:
    """The appendix's table: a row for each criterion of each badge."""
    known = {one["command"]: one for one in document["commands"]}
    lines, previous = [], None
    for badge in document["badges"]:
        for one in badge["criteria"]:
            command = one.get("command")
            head = badge["badge"] if badge["badge"] != previous else ""
            machine = "---" if command is None else f"{known[command]['minutes']:g}"
            cells = [head, one["asks"], one["met"], f"{one['person']:g}", machine]
            lines.append(row([escape(cell) if cell != "---" else cell for cell in cells]))
            previous = badge["badge"]
    ragged = r">{\raggedright\arraybackslash}p"
    return table(
        Float(
            label="tab:badges",
            caption="Criteria of Artifact Badges, and Where They Are Met",
            columns=f"l{ragged}{{0.3\\textwidth}}{ragged}{{0.45\\textwidth}}rr",
            note="Criteria in our words, by the checklists of ATC 2026 and EuroSys 2026. Minutes of a person, "
            "and of the machine for the command that docs/evaluation.md names; a dash: by reading alone.",
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Badge", "Criterion", "Where it is met", "{Person}", "{Machine}"])],
        lines,
    )
