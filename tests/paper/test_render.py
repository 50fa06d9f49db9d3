"""The LaTeX of a build: the repository's prose on the tables of the reference."""

import json
import re
import shutil
from pathlib import Path

import pytest

from stackwars.publish.paper import prose, render
from stackwars.publish.paper.figures import of_cells, of_compilers
from stackwars.publish.paper.tables.write import REGISTRY
from stackwars.study.config import load
from stackwars.study.results.dataset import Dataset, Sources
from stackwars.study.results.folder import FIGURES, Folder

REFERENCE = load(source="reference")


@pytest.fixture(scope="module")
def definitions(reference_tables) -> str:
    """What the prose of the reference prints in a build with one workload: the text is about all of them."""
    data = Dataset(
        REFERENCE.changed(workloads=["gemm"]), reference_tables.results, True, reference_tables.measured
    )
    return render.definitions(Sources(data, data, []), is_reference=True)


def with_parts(folder: Folder) -> Folder:
    """Write what the steps before have made, as empty files, and say that nothing was compared."""
    for name in ("tables", "listings", "graphs", *FIGURES):
        folder[name].mkdir(parents=True, exist_ok=True)
    for name in REFERENCE.paper.listings:
        (folder["listings"] / f"{name}.tex").touch()
    folder["reproduction"].write_text(json.dumps({"schema": 1, "summary": "Nothing is compared."}))
    return folder


def text_of(paths) -> str:
    return "\n".join(path.read_text() for path in paths)


# The repository's paper.


def test_every_name_and_every_guard_of_the_paper_fits_the_reference(definitions):
    used = {use.name for use in prose.uses() if use.command == prose.VAL}
    assert len(used) > 100
    assert all(rf"\csname val@{name}\endcsname" in definitions for name in used)
    assert len(prose.read_guards()) >= 25
    slower = definitions.partition("val@n/tables/steady/torch_xla/slower/names")[2].partition("\n")[0]
    assert "BERT" in slower, "of one workload alone"


def test_every_reference_of_the_paper_has_its_label():
    texts = prose.texts()
    labels = {label for text in texts.values() for label in re.findall(r"\\label\{([^}]*)\}", text)}
    labels |= {f"tab:{table.name}" for table in REGISTRY}
    labels |= {f"fig:listing-forms-{name}" for name in REFERENCE.paper.forms}
    wanted = {label for text in texts.values() for label in re.findall(r"\\ref\{([^}]*)\}", text)}
    assert len(wanted) > 40
    assert not wanted - labels


def test_the_paper_shows_every_table_once_and_refers_to_it():
    text = "\n".join(prose.texts().values())
    shown = re.findall(r"\\(?:input|here)\{tables/(\w+)\}", text)
    assert sorted(shown) == sorted(table.name for table in REGISTRY)
    assert all(rf"\ref{{tab:{name}}}" in text for name in shown)


def test_the_paper_shows_every_figure_that_is_drawn_once(reference_tables):
    text = "\n".join(prose.texts().values())
    shown = re.findall(r"\\includegraphics\[[^]]*\]\{figures/(\w+)\}", text)
    drawn = [name for made in (of_cells, of_compilers) for name in made.figures(REFERENCE, reference_tables)]
    assert sorted(shown) == sorted(drawn)


def test_numbers_of_the_text_are_no_digits_typed_by_hand():
    """Times, ratios and counts come from values; what is left are definitions, sizes and names."""
    typed = re.compile(r"(?:by a factor of|takes|ratio of|up to) (?:up to )?~?\d")
    found = {name: typed.findall(text) for name, text in prose.texts().items() if name.startswith("sections/")}
    assert not {name: some for name, some in found.items() if some}


# A build.


def test_a_build_of_the_reference_has_everything_that_latex_reads(
    reference_tables, definitions, tmp_path, monkeypatch
):
    monkeypatch.setattr(render, "definitions", lambda *_: definitions)
    copied = shutil.copytree(reference_tables.results, tmp_path / "from-reference")
    made = with_parts(Folder(copied, reference_tables.measured))
    render.build(REFERENCE, made)
    latex = made["latex"]
    inputs = re.findall(r"^\\input\{([^}]*)\}", text_of([latex / "main.tex"]), re.M)
    missing = [name for name in inputs if name != "listings/style" and not (latex / f"{name}.tex").exists()]
    assert not missing and "sections/latency" in inputs
    assert not list(latex.rglob("*.j2"))
    assert r"\input{listings/mha}" in text_of([latex / "appendix" / "listings.tex"])


def test_only_a_preset_with_the_sizes_of_the_study_makes_the_paper():
    config = load()
    assert [name for name in config.presets if render.is_full_size(config.changed(preset=name))] == ["full"]
    assert render.is_full_size(REFERENCE.changed(preset="smoke"))


def test_a_study_of_other_frameworks_has_no_prose():
    config = load()
    assert render.has_prose(config)
    assert not render.has_prose(config.changed(comparisons=config.comparisons[::-1]))


def test_values_of_a_template_are_escaped_and_an_undefined_name_is_named_with_it(tmp_path):
    (tmp_path / "box.tex.j2").write_text(r"\VAR{name}")
    render.render(tmp_path, {"name": "a_b & 100%"}, tmp_path / "out")
    assert Path(tmp_path, "out", "box.tex").read_text() == r"a\_b \& 100\%"
    with pytest.raises(render.RenderError, match=r"paper/box\.tex\.j2: 'name' is undefined"):
        render.render(tmp_path, {}, tmp_path / "out")
