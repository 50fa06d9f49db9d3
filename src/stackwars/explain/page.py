"""explain.html, one page that fetches nothing, and explain.md, to paste into an issue.

`python -m stackwars.explain.page --job FILE --table FILE --answers FILES --output FOLDER`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

from stackwars.explain import console, report
from stackwars.explain.outcomes import NATIVE
from stackwars.explain.plan import Plan
from stackwars.measure import documents, machine

TEMPLATE = "page.html.j2"
MOST_OPERATIONS = 12
"""Operations of a region that the page shows."""
MOST_LINES = 60
MOST_REGIONS = 2
MOST_CHARACTERS = 180
"""Lines of explain.md, regions of a cause in it, and characters of an operation's text."""


def html(document: dict[str, Any]) -> str:
    """Return the page of an explain.json."""
    jinja = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters |= {
        "ms": console.format_ms,
        "ratio": console.format_ratio,
        "percent": console.percent,
        "interval": console.interval,
    }
    table = document["table"]
    return jinja.get_template(TEMPLATE).render(
        d=document,
        table=table,
        columns=console.columns(table),
        cells={(cell["program"], cell["compiler"]): cell for cell in table["cells"]},
        cell_text=console.cell_text,
        program_of=console.program_of,
        judged=console.judged(table),
        notes=[*console.busy(table), *console.notes(table)],
        not_tried=console.not_tried(table),
        causes=[answer for answer in document["answers"] if answer["row"]["kind"] == "cause"],
        faults=[answer for answer in document["answers"] if answer["row"]["kind"] == "fault"],
        most=MOST_OPERATIONS,
        slowest=slowest(table),
        machine=machine.described(table["machine"]),
        issue=markdown(document),
    )


def slowest(table: dict[str, Any]) -> float:
    """Return the longest time in a compiler, of which the bars are shares: eager PyTorch's can be far above."""
    cells = [cell for cell in table["cells"] if cell["ms"] is not None]
    compiled = [cell for cell in cells if cell["compiler"] != NATIVE]
    return max((cell["ms"] for cell in compiled or cells), default=1.0)


def markdown(document: dict[str, Any]) -> str:
    """Return the text of explain.md: the question, the table, the causes and how to repeat it."""
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


def write(plan: Plan, table: dict[str, Any], answers: list[Path], folder: Path) -> dict[str, Any]:
    """Write all files of a report into the folder; return the document."""
    document = report.report(plan, table, answers)
    report.write(document, folder)
    (folder / "explain.md").write_text(markdown(document))
    (folder / "explain.html").write_text(html(document))
    return document


def written(folder: Path) -> list[str]:
    """Return the files that a reader wants to open."""
    names = ("explain.html", "explain.md", report.REPRODUCER)
    return [str(folder / name) for name in names if (folder / name).exists()]


def main() -> None:
    options = documents.parse_arguments(
        __doc__, "job", "table", "output", answers={"nargs": "*", "default": [], "type": Path}
    )
    plan, table = Plan.load(documents.read(options.job)), documents.read(options.table)
    document = write(plan, table, options.answers, options.output)
    print(console.logged([document["headline"], *written(options.output)]))


if __name__ == "__main__":
    main()
