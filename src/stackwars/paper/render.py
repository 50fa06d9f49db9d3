"""The paper's LaTeX from its templates: ``python -m stackwars.paper.render``.

Delimiters are \\VAR{...}, \\BLOCK{...} and \\#{...}. Every value is escaped unless it is of the
type :class:`stackwars.paper.latex.Latex`, which only the filters of
:mod:`stackwars.paper.prose` make. An undefined name, or a
missing number, stops the rendering with the template, the line and the name.
"""

from __future__ import annotations

import argparse
import shutil
import traceback
from pathlib import Path
from typing import Any

import jinja2

from stackwars.claims import verdicts as claim_verdicts
from stackwars.claims.output import Judged, read_claims
from stackwars.paper import latex
from stackwars.paper.prose import FILTERS
from stackwars.results import compiler_verdicts, verdicts
from stackwars.results.read_cells import read_json
from stackwars.study.comparisons import told

SUFFIX = ".tex.j2"
LISTINGS = ["ffn", "mha", "layernorm"]  # in the appendix, as far as they exist
GRAPHS = ["ffn", "layernorm"]  # drawn from both programs, as far as they exist


class RenderError(RuntimeError):
    """A template asks for something that the results do not have."""


def environment(templates: Path) -> jinja2.Environment:
    """The jinja2 environment of the paper."""
    made = jinja2.Environment(
        block_start_string=r"\BLOCK{",
        block_end_string="}",
        variable_start_string=r"\VAR{",
        variable_end_string="}",
        comment_start_string=r"\#{",
        comment_end_string="}",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        finalize=latex.escape,
        loader=jinja2.FileSystemLoader(templates),
    )
    made.filters |= FILTERS
    made.globals |= {"count": latex.count, **_verdict_words()}
    return made


def _verdict_words() -> dict[str, str]:
    """The verdicts as template names (SLOWER, ...): a misspelt one is an undefined name."""
    words = vars(verdicts) | vars(compiler_verdicts) | vars(claim_verdicts)
    return {name: word for name, word in words.items() if name.isupper()}


class Findings:
    """Findings by id. An id that nobody wrote is an error that names those that exist."""

    def __init__(self, document: dict) -> None:
        self._by_id = {finding["id"]: finding for finding in document["findings"]}

    def __call__(self, identity: str) -> dict:
        if identity not in self._by_id:
            known = ", ".join(k for k in self._by_id if "/" not in k)
            raise RenderError(f"expected a finding, came the id {identity!r}; known are {known}")
        return self._by_id[identity]

    def group(self, prefix: str, **wanted: Any) -> list[dict]:
        """The findings ``prefix/...`` whose fields have the wanted values, in their order."""
        return [
            f
            for key, f in self._by_id.items()
            if key.startswith(prefix + "/") and all(f.get(k) == v for k, v in wanted.items())
        ]


def render(templates: Path, names: dict[str, Any], output: Path) -> None:
    """Render every template under ``templates`` to the same place under ``output``.

    :raises RenderError: naming template, line and name, if a name is undefined.
    """
    made = environment(templates)
    for path in sorted(templates.rglob(f"*{SUFFIX}")):
        name = path.relative_to(templates).as_posix()
        target = output / name.removesuffix(".j2")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            target.write_text(made.get_template(name).render(names), encoding="utf-8")
        except jinja2.TemplateSyntaxError as error:
            raise RenderError(f"{error.name}, line {error.lineno}: {error.message}") from error
        except (jinja2.UndefinedError, ValueError, TypeError, KeyError, RenderError) as error:
            raise RenderError(f"{name}, line {_line(error, name)}: {error}") from error


def _line(error: Exception, name: str) -> int | str:
    """The template's line in the error's traceback."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith(name)]
    return frames[-1].lineno if frames else "?"


def template_names(context: Path, findings: Path, claims: Path) -> dict[str, Any]:
    """What templates know of a run's context.json, findings.json and claims.csv."""
    document, run = Findings(read_json(findings)), read_json(context)
    main, *others = told(run)
    return {
        "run": run,
        "subject": main.subject,
        "baseline": main.baseline,
        "others": [pair.subject for pair in others],
        "finding": document,
        "group": document.group,
        "claim": Judged(read_claims(claims)),
    }


def build(
    templates: Path,
    context: Path,
    findings: Path,
    tables: Path,
    figures: Path,
    listings: Path,
    graphs: Path,
    claims: Path,
    output: Path,
) -> None:
    """Fill the folder ``output`` with everything that latexmk needs; nothing outside is read.

    claims: claims.csv; the tables of claims are beside it in claim_tables.
    """
    names = template_names(context, findings, claims) | {
        "listings": [name for name in LISTINGS if (listings / f"{name}.tex").exists()],
        "graphs": [name for name in GRAPHS if (graphs / f"{name}.pdf").exists()],
    }
    sources = {"tables": tables, "figures": figures, "listings": listings, "graphs": graphs}
    sources["claim_tables"] = claims.with_name("claim_tables")
    for folder, source in sources.items():
        # A file left from an earlier build must not stand in for one that is missing now.
        shutil.rmtree(output / folder, ignore_errors=True)
        shutil.copytree(source, output / folder, ignore=shutil.ignore_patterns(".*"))
    shutil.copy(templates / "references.bib", output / "references.bib")
    render(templates, names, output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--templates", type=Path, default=Path("paper"))
    names = ("context", "findings", "tables", "figures", "listings", "graphs", "claims")
    for name in (*names, "output-dir"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    a = parser.parse_args()
    try:
        build(
            a.templates,
            a.context,
            a.findings,
            a.tables,
            a.figures,
            a.listings,
            a.graphs,
            a.claims,
            a.output_dir,
        )
    except RenderError as error:
        raise SystemExit(f"stackwars.paper.render: {error}") from error


if __name__ == "__main__":
    main()
