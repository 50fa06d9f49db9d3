"""The paper's LaTeX: ``python -m stackwars.paper.render``.

The prose is plain LaTeX (paper/sections, paper/appendix) and is copied as it is; values.tex defines what it prints
(:mod:`stackwars.paper.generated`). Only what depends on the build is a template (*.tex.j2): main.tex, which chooses
the paper or, for a run that the prose does not fit, a replication report; and lists. Delimiters are \\VAR{...},
\\BLOCK{...} and \\#{...}; every value is escaped.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import jinja2

from stackwars import workloads
from stackwars.measure import documents
from stackwars.paper import generated, latex
from stackwars.paper.generated import FULL
from stackwars.paper.prose import PAPER, ProseError
from stackwars.paper.tables.write import REGISTRY
from stackwars.paper.values import BASELINE, SUBJECT
from stackwars.results.dataset import Sources, sources
from stackwars.results.folder import FIGURES, Folder, command
from stackwars.results.runs import DamagedRunError

SUFFIX = ".tex.j2"
FILTERS = {"num": latex.number, "gib": latex.gibibytes, "latex": latex.Latex}


class RenderError(RuntimeError):
    """A template that cannot be rendered."""


def is_full_size(config: dict) -> bool:
    """Return whether this build has the sizes of the study."""
    sizes = {name: preset["sizes"] for name, preset in config["presets"].items()}
    return config["results"] == "reference" or sizes[config["preset"]] == sizes[FULL]


def has_prose(config: dict) -> bool:
    """Return whether the prose can be read beside what this build shows: the same sizes, and the same comparison."""
    main = config["comparisons"][0]
    return is_full_size(config) and (main["subject"], main["baseline"]) == (SUBJECT, BASELINE)


def environment(templates: Path) -> jinja2.Environment:
    """Return the jinja2 environment of the paper."""
    jinja = jinja2.Environment(
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
    jinja.filters |= FILTERS
    return jinja


def render(templates: Path, names: dict[str, Any], output: Path) -> None:
    """Render every template, and copy every other LaTeX file, to the same place under ``output``.

    :raises RenderError: naming the template and what it lacks.
    """
    jinja = environment(templates)
    for path in sorted([*templates.rglob("*.tex"), *templates.rglob(f"*{SUFFIX}")]):
        name = path.relative_to(templates).as_posix()
        target = output / name.removesuffix(".j2")
        target.parent.mkdir(parents=True, exist_ok=True)
        if not name.endswith(SUFFIX):
            shutil.copy(path, target)
            continue
        try:
            target.write_text(jinja.get_template(name).render(names), encoding="utf-8")
        except (jinja2.TemplateError, ValueError, TypeError, KeyError) as error:
            raise RenderError(f"paper/{name}: {error}") from error


def template_names(config: dict, folder: Folder, datasets: Sources) -> dict[str, Any]:
    """Return what the templates know of a build."""
    printed = config["paper"]
    own = [study for study in config["studies"] if not datasets.of(study).is_reference]
    return {
        "is_reference": config["results"] == "reference",
        "is_full_size": is_full_size(config),
        "has_prose": has_prose(config),
        "context": datasets.run.context,
        "reproduction": documents.read(folder["reproduction"])["summary"],
        "accepted": _accepted(datasets.reference.context["runs"]),
        "claims": list(datasets.run.table("claims")["id"]),
        "tables": [table.name for table in REGISTRY if table.study in own],
        "listings": [name for name in printed["listings"] if (folder["listings"] / f"{name}.tex").exists()],
        "forms": [name for name in printed["forms"] if (folder["listings"] / f"forms-{name}.tex").exists()],
        "graphs": {
            name: workloads.load(name).TITLE
            for name in printed["graphs"]
            if (folder["compiler_figures"] / f"graph-{name}.pdf").exists()
        },
    }


def _accepted(runs: list[dict]) -> dict[str, list[str]]:
    """Return the accepted runs by kind of machine."""
    kinds: dict[str, list[str]] = {}
    for run in runs:
        kinds.setdefault(run["machine"], []).append(run["run"])
    return kinds


def build(config: dict, folder: Folder) -> None:
    """Fill the folder's ``latex`` with everything that latexmk needs; nothing outside is read.

    :raises ProseError: if the prose names something unknown, or the reference no longer supports it.
    """
    output, datasets = folder["latex"], sources(config, folder)
    values = generated.definitions(datasets, config["results"] == "reference")
    # A file left from an earlier build must not stand in for one that is missing now.
    shutil.rmtree(output, ignore_errors=True)
    copied = {part: part for part in ("tables", "listings")} | dict.fromkeys(FIGURES, "figures")
    for part, target in copied.items():
        shutil.copytree(folder[part], output / target, ignore=shutil.ignore_patterns(".*"), dirs_exist_ok=True)
    shutil.copy(PAPER / "references.bib", output / "references.bib")
    render(PAPER, template_names(config, folder, datasets), output)
    (output / "values.tex").write_text(values, encoding="utf-8")


if __name__ == "__main__":
    command(build, RenderError, ProseError, DamagedRunError)
