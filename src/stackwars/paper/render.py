"""The paper's LaTeX from its templates: ``python -m stackwars.paper.render``.

Delimiters are \\VAR{...}, \\BLOCK{...} and \\#{...}. Every value is escaped unless it is of the
type :class:`stackwars.paper.latex.Latex`, which only the filters of
:mod:`stackwars.paper.prose` make. An undefined name, or a
missing number, stops the rendering with the template, the line and the name.
"""

from __future__ import annotations

import shutil
import traceback
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from stackwars.claims import reproduction
from stackwars.claims import verdicts as claim_verdicts
from stackwars.claims.output import Judged, read_claims, verdicts_by_run
from stackwars.paper import latex
from stackwars.paper.prose import FILTERS, of_which, share
from stackwars.results import compiler_verdicts, runs, verdicts
from stackwars.results.folder import FIGURES, Folder, command
from stackwars.results.read_cells import read_json
from stackwars.setup.environments import REPOSITORY
from stackwars.study.comparisons import told

SUFFIX = ".tex.j2"
TEMPLATES = REPOSITORY / "paper"


class RenderError(RuntimeError):
    """A template asks for something that the results do not have."""


@cache
def environment(templates: Path) -> jinja2.Environment:
    """The jinja2 environment of the paper; it keeps what it has compiled, and sees an edited template."""
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
    made.globals |= {"count": latex.count, "share": share, "of_which": of_which} | _verdict_words()
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


def template_names(folder: Folder) -> dict[str, Any]:
    """What templates know of a run's context, findings and claims."""
    document, run = Findings(read_json(folder["findings"])), read_json(folder["context"])
    main, *others = told(run)
    return {
        "run": run,
        "subject": main.subject,
        "baseline": main.baseline,
        "others": [pair.subject for pair in others],
        "finding": document,
        "group": document.group,
        "claim": Judged(read_claims(folder["claims"])),
        "reproduction": reproduction.read_summary(folder["reproduction"]),
        "runs": runs.read(folder.measured),
        "verdicts_by_run": verdicts_by_run(folder),
    }


def build(config: dict, folder: Folder) -> None:
    """Fill the folder's ``latex`` with everything that latexmk needs; nothing outside is read.

    Raises RenderError.
    """
    output, printed = folder["latex"], config["paper"]
    names = template_names(folder) | {
        # As far as they exist.
        "listings": [n for n in printed["listings"] if (folder["listings"] / f"{n}.tex").exists()],
        "forms": [
            n for n in printed.get("forms", []) if (folder["listings"] / f"forms-{n}.tex").exists()
        ],
        "graphs": [n for n in printed["graphs"] if (folder["graphs"] / f"{n}.pdf").exists()],
    }
    copied = {part: part for part in ("tables", "listings", "graphs", "claim_tables")}
    copied |= dict.fromkeys(FIGURES, "figures")
    for target in set(copied.values()):
        # A file left from an earlier build must not stand in for one that is missing now.
        shutil.rmtree(output / target, ignore_errors=True)
    for part, target in copied.items():
        ignore = shutil.ignore_patterns(".*")
        shutil.copytree(folder[part], output / target, ignore=ignore, dirs_exist_ok=True)
    shutil.copy(TEMPLATES / "references.bib", output / "references.bib")
    render(TEMPLATES, names, output)


if __name__ == "__main__":
    command(build, RenderError)
