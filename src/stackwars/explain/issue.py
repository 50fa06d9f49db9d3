"""explain.md: the question, the table, the causes and how to repeat it, short enough to paste into an issue."""

from __future__ import annotations

from typing import Any

from stackwars.explain import console
from stackwars.measure import machine

MOST_LINES = 60
MOST_REGIONS = 2
MOST_CHARACTERS = 180
"""Of an operation's text."""


def markdown(document: dict[str, Any]) -> str:
    """Return the text of an explain.json."""
    table = document["table"]
    body = [
        f"# {document['name']}: {document['headline']}",
        "",
        _subject(document),
        "",
        "```",
        *console.grid(table),
        "```",
        *[f"- {text}" for text in console.below(table)],
    ]
    for answer in document["answers"]:
        body += ["", *_answer(answer)]
    end = ["", *_repeat(document)]
    reduced = next((answer["reduced"] for answer in document["answers"] if answer["reduced"]), "")
    listing = ["", "```mlir", *reduced.strip().splitlines(), "```"] if reduced else []
    room = MOST_LINES - len(body) - len(end)
    shown = listing if len(listing) <= room else []
    return "\n".join([*body, *shown, *end]) + "\n"


def _subject(document: dict[str, Any]) -> str:
    sizes = ", ".join(f"{name} {value}" for name, value in document["sizes"].items())
    given = f", with the values of {document['inputs']}" if document["inputs"] else ""
    return f"{document['title']}{f' ({sizes})' if sizes else ''}{given}; `{document['command']}`"


def _answer(answer: dict[str, Any]) -> list[str]:
    """Return a paragraph, and the operations of its first regions side by side."""
    result = [answer["text"]]
    found = answer["found"]
    regions = found.get("regions", [])
    if regions:
        result += ["", "```"]
        for region in regions[:MOST_REGIONS]:
            for side in "ab":
                text = "; ".join(" ".join(operation.split()) for operation in region[side])
                line = region.get(f"line_{side}") or ""
                label = found["b"] if side == "b" and found.get("b") else found["a"]
                result.append(f"{label}: {_short(text)}{f'  # {line}' if line else ''}")
        result.append("```")
        if len(regions) > MOST_REGIONS:
            result.append(f"and {len(regions) - MOST_REGIONS} more kinds, in explain.html")
    return result


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 2]}.."


def _repeat(document: dict[str, Any]) -> list[str]:
    table = document["table"]
    versions = "; ".join(
        f"{name}: {', '.join(f'{package} {version}' for package, version in one.items())}"
        for name, one in table["versions"].items()
    )
    revision = table["source"]["git_revision"]
    result = [f"Versions: {versions}; stackwars {revision}", f"Machine: {machine.described(table['machine'])}"]
    if any(answer["script"] for answer in document["answers"]):
        result.append("`python reproduce.py` exits 1 while the fault is there.")
    return result
