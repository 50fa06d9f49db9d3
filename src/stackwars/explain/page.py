"""explain.html, one page that fetches nothing, and explain.md, to paste into an issue.

`python -m stackwars.explain.page --job FILE --table FILE --answers FILES --output FOLDER`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

from stackwars.explain import console, issue, report
from stackwars.explain.outcomes import NATIVE, RIGHT
from stackwars.explain.report import ReportJob
from stackwars.measure import documents, machine

TEMPLATE = "page.html.j2"
MOST_OPERATIONS = 12
"""Operations of a region that are shown."""


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
        right=RIGHT,
        slowest=slowest(table),
        machine=machine.described(table["machine"]),
        issue=issue.markdown(document),
    )


def slowest(table: dict[str, Any]) -> float:
    """Return the longest time in a compiler, of which the bars are shares: eager PyTorch's can be far above."""
    cells = [cell for cell in table["cells"] if cell["ms"] is not None]
    compiled = [cell for cell in cells if cell["compiler"] != NATIVE]
    return max((cell["ms"] for cell in compiled or cells), default=1.0)


def write(job: ReportJob, table: dict[str, Any], answers: list[Path], folder: Path) -> dict[str, Any]:
    """Write all files of a report into the folder; return the document."""
    document = report.report(job, table, answers)
    report.write(document, folder)
    (folder / "explain.md").write_text(issue.markdown(document))
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
    job, table = ReportJob(**documents.read(options.job)), documents.read(options.table)
    document = write(job, table, options.answers, options.output)
    print(console.logged([document["headline"], *written(options.output)]))


if __name__ == "__main__":
    main()
