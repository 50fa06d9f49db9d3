"""What an artifact evaluator needs in the appendix: the criteria of badges and where they are met, the first
ten minutes, requirements, what changes the machine, warnings. document: the content of config/evaluation.yaml.
"""

from __future__ import annotations

from stackwars.paper import evaluation
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
            note="Criteria in our words, by the checklists of EuroSys 2027 and SOSP 2026 and the ACM's "
            "definitions. Minutes of a person, and of the machine for the command that docs/evaluation.md "
            "names; a dash: by reading alone.",
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Badge", "Criterion", "Where it is met", "{Person}", "{Machine}"])],
        lines,
    )


def evaluator_tables(document: dict) -> str:
    """The other tables of docs/evaluation.md, one after the other."""
    tyres = [(one["command"], one["see"], evaluation.minutes(one)) for one in document["tyres"]]
    needs = [(one["what"], one["least"]) for one in document["needs"]]
    changes = [(one["command"], one["does"], one["without"]) for one in document["destructive"]]
    warnings = [(one["says"], one["by"], one["why"]) for one in document["warnings"]]
    return "\n".join(
        [
            _texts("tyres", "The First Ten Minutes", ("Command", "What you see", "Time"), tyres),
            _texts("needs", "What the Artifact Needs", ("What", "At least"), needs),
            _texts(
                "changes", "What Changes the Machine", ("Command", "What it does", "Else"), changes
            ),
            _texts("warnings", "Warnings to Expect", ("It says", "Who", "Why"), warnings),
        ]
    )


def _texts(name: str, caption: str, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table of texts, its columns as wide as what stands in them on average."""
    lengths = [sum(len(one[n]) for one in rows) ** 0.5 for n in range(len(head))]
    widths = [0.94 * length / sum(lengths) for length in lengths]
    columns = "".join(
        rf">{{\raggedright\arraybackslash}}p{{{width:.2f}\textwidth}}" for width in widths
    )
    return table(
        Float(
            label=f"tab:{name}", caption=caption, columns=columns, wide=True, size=r"\scriptsize"
        ),
        [row(head)],
        [row(escape(text) for text in one) for one in rows],
    )
