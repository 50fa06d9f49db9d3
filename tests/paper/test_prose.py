"""The body's prose in several worlds: few numbers in a sentence, no odd phrase, nothing said twice."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas
import pytest
from test_render import rendered

import paper_fixture
from stackwars.paper.prose import MOST_NAMED, by_edit, capital, listed
from stackwars.paper.render import TEMPLATES

IN_A_SENTENCE, IN_A_PARAGRAPH = 2, 6
"""Numbers at most. A reader of more is a reader of a table."""
FLOAT = re.compile(
    r"\\begin\{(figure|table)\*?\}.*?\\end\{\1\*?\}|\\begin\{equation\*\}.*?\\end\{equation\*\}",
    re.S,
)
MARKUP = re.compile(
    r"~?\\(?:cite|ref|label|input|section|subsection|includegraphics)\*?(?:\[[^]]*\])?\{[^}]*\}"
)
QUANTITY = re.compile(r"\\qty\{[^}]*\}\{[^}]*\}+|\\num\{[^}]*\}|95\\,\\%")
NAMES = re.compile(r"(?:jaxlib|IREE|XLA|Python)[ ~]\d[\d.]*|\b\d+(?:\.\d+){2,}")
"""Versions are names and not numbers."""
NUMBER = re.compile(r"(?<![\w.,/$^{-])\d+(?:[.,]\d+)*(?![\w.]*[A-Za-z])")
ODD = (
    *(
        "is of the class",
        "are of the class",
        "Not told from",
        "ended them in",
        "is there what is neither",
    ),
    *(
        "gave no peak here",
        "was stopped on",
        "Owed to",
        "owed to",
        "(1. ",
        "..",
        "the the",
        " a an ",
    ),
    *("0 of 0", "in 0 of", " 1 workloads", " 1 cells", "on 0 ", "by a factor of up to \\num{1.00}"),
)


def steady_everywhere(verdict: str, ratio: float) -> Callable[[Path], None]:
    """Every ratio of every workload decided in one direction, or none of them."""

    def change(folder: Path) -> None:
        for name, stages in {
            "ratios": ("first", "second", "steady"),
            "split": ("native", "ir"),
        }.items():
            table = pandas.read_csv(folder / f"{name}.csv")
            for stage in stages:
                known = table[f"{stage}_ratio"].notna()
                table.loc[known, f"{stage}_verdict"] = verdict
                table.loc[known, f"{stage}_ratio"] = ratio
            table.to_csv(folder / f"{name}.csv", index=False)

    return change


WORLDS = {
    **{variant: (variant, lambda folder: None) for variant in paper_fixture.VARIANTS},
    "all slower": ("full", steady_everywhere("slower", 1.7)),
    "all faster": ("full", steady_everywhere("faster", 0.6)),
    "nothing decided": ("full", steady_everywhere("unresolved", 1.02)),
}


@pytest.fixture(scope="module", params=WORLDS)
def body(request, tmp_path_factory) -> dict[str, str]:
    """The sections of the body, with their paragraphs, in one world."""
    variant, change = WORLDS[request.param]
    folder = paper_fixture.write(tmp_path_factory.mktemp("world"), variant)
    change(folder)
    rendered(folder)
    order = re.findall(r"\\input\{(sections/\w+)\}", (TEMPLATES / "main.tex.j2").read_text())
    return {name: (folder / "latex" / f"{name}.tex").read_text() for name in order}


def paragraphs(text: str) -> list[str]:
    """The prose of a section without its floats and commands, a quantity as the word QUANTITY."""
    text = NAMES.sub("NAME", QUANTITY.sub(" 999 ", MARKUP.sub(" ", FLOAT.sub(" ", text))))
    text = re.sub(r"\\code\{[^}]*\}|\$[^$]*\$", " CODE ", text)
    return [
        " ".join(one.split()) for one in re.split(r"\n\s*\n|\\item|\\par\b|\\wouldchange", text)
    ]


def sentences(paragraph: str) -> list[str]:
    return re.split(r"(?<=[.?!;:])\s+", paragraph)


def test_the_counting_counts():
    text = r"In \num{3.4} of 12 cells of GPT-2 and LLaMA-3.1 8B in jaxlib 0.7.1~\cite{a1}. ViT-B/16 at \num{5}."
    (paragraph,) = paragraphs(text)
    assert [len(NUMBER.findall(one)) for one in sentences(paragraph)] == [2, 1]


def test_a_sentence_has_few_numbers_and_so_has_a_paragraph(body):
    for name, text in body.items():
        if name == "sections/run":  # a label of the build, not prose
            continue
        for paragraph in paragraphs(text):
            found = NUMBER.findall(paragraph)
            assert len(found) <= IN_A_PARAGRAPH, (name, found, paragraph)
            for sentence in sentences(paragraph):
                found = NUMBER.findall(sentence)
                assert len(found) <= IN_A_SENTENCE, (name, found, sentence)


def test_no_sentence_is_odd_or_comes_twice(body):
    seen: dict[str, str] = {}
    for name, text in body.items():
        for paragraph in paragraphs(text):
            for phrase in ODD:
                assert phrase not in paragraph, (name, phrase, paragraph)
            for sentence in re.split(r"(?<=[.?!])\s+", paragraph):
                if len(sentence.split()) > 12 and name != "sections/conclusion":
                    assert seen.setdefault(sentence, name) == name, sentence


def test_every_section_asks_a_question_and_says_what_would_change_its_answer(body):
    asked = [name for name, text in body.items() if r"\asks{" in text]
    assert len(asked) >= 9
    for name in asked:
        assert body[name].count(r"\wouldchange{") == 1, name


def test_a_sentence_names_a_few_things_and_counts_many():
    found = [{"title": f"W{n}", "framework": "jax"} for n in range(MOST_NAMED + 1)]
    assert listed(found[:2], "workload") == "W0 and W1"
    assert listed(found, "workload") == f"{MOST_NAMED + 1} workloads"
    assert listed([found[0], found[0]], "workload") == "W0"
    assert listed(found[:1], "cell", "with_framework") == "W0 under JAX"
    assert capital("on it") == "On it"


def test_findings_of_one_edit_stand_together():
    edit = {"edits": ["explicit_layernorm"], "framework": "torch_xla+explicit_layernorm"}
    found = [{**edit, "title": "A"}, {**edit, "title": "B"}]
    ((words, own),) = by_edit(found)
    assert words == r"explicit layernorm in torch\_xla's program" and own == found
