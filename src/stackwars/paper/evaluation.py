"""What an artifact evaluator ticks, from config/evaluation.yaml.

It is shown by the README's table of commands, docs/evaluation.md and a table of the appendix. ``python -m
stackwars.paper.evaluation`` brings the two pages up to date.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from stackwars.claims.pages import README, put_into
from stackwars.setup.environments import REPOSITORY

SOURCE = REPOSITORY / "config" / "evaluation.yaml"
PAGE = Path("docs", "evaluation.md")


def read() -> dict:
    """The file's content."""
    return yaml.safe_load(SOURCE.read_text(encoding="utf-8"))


def minutes(command: dict) -> str:
    """``40 s``, ``4 min``, ``estimated: 100 min``."""
    value = command["minutes"]
    shown = f"{round(60 * value)} s" if value < 1 else f"{value:g} min"
    return f"estimated: {shown}" if command.get("estimated") else shown


def commands(document: dict) -> str:
    """A Markdown table of the commands."""
    rows = [(f"`{one['command']}`", one["does"], minutes(one)) for one in document["commands"]]
    return markdown(("command", "what it does", "time"), rows)


def page(document: dict) -> str:
    """The generated part of docs/evaluation.md."""
    tyres = [(f"`{one['command']}`", one["see"], minutes(one)) for one in document["tyres"]]
    parts = [
        "## Ten minutes",
        markdown(("command", "what you see", "time"), tyres),
        "## What it needs",
        markdown(("what", "at least"), [(one["what"], one["least"]) for one in document["needs"]]),
        "## Badges",
    ]
    for badge in document["badges"]:
        rows = [
            (one["asks"], one["met"], _shown(document, one), f"{one['person']:g} min")
            for one in badge["criteria"]
        ]
        parts += [
            f"### {badge['badge']}",
            markdown(("criterion", "where it is met", "shown by", "your time"), rows),
        ]
    parts += [
        "## What changes the machine",
        markdown(
            ("command", "what it does", "else"),
            [
                (
                    f"`{one['command']}`" if one["command"].startswith("make") else one["command"],
                    one["does"],
                    one["without"],
                )
                for one in document["destructive"]
            ],
        ),
    ]
    warnings = [(one["says"], one["by"], one["why"]) for one in document["warnings"]]
    parts += ["## Warnings to expect", markdown(("it says", "who", "why"), warnings)]
    return "\n\n".join(parts)


def _shown(document: dict, criterion: dict) -> str:
    """The command that shows a criterion met, with the machine's time."""
    known = {one["command"]: one for one in document["commands"]}
    command = criterion.get("command")
    return f"`{command}` ({minutes(known[command])})" if command else "reading"


def markdown(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines
    )


def write(repository: Path = REPOSITORY) -> None:
    """Bring the README and docs/evaluation.md up to date."""
    document = read()
    put_into(repository / README, "commands", commands(document))
    put_into(repository / PAGE, "evaluation", page(document))


if __name__ == "__main__":
    write()
