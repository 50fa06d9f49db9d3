"""The body's prose in several worlds: few numbers in a sentence, no odd phrase, nothing said twice."""

from __future__ import annotations

import re

import pandas
import pytest
from test_render import rendered

import paper_worlds
from stackwars.paper.prose import MOST_NAMED, by_edit, capital, listed, of_which, share
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
NAMES = re.compile(
    r"(?:jaxlib|IREE|XLA|Python)[ ~]\d[\d.]*|\b\d+(?:\.\d+){2,}|\d{4}(?:-\d\d){2}T[\d:]+Z?"
)
"""Versions and dates are names and not numbers."""
CAPTION = re.compile(r"\\caption\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
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
    *(
        "supports 0",
        "contradicts 0",
        " 0 are ",
        ", 1 are ",
        "of 1 workload",
        "all but none",
        "all 1 ",
    ),
    *(" 0 is ", "Of 1 ", " 0 were "),
)


@pytest.fixture(scope="module", params=paper_worlds.WORLDS)
def body(request, tmp_path_factory) -> dict[str, str]:
    """The sections of the body, with their paragraphs, in one world."""
    folder = paper_worlds.write(tmp_path_factory.mktemp("world"), request.param)
    rendered(folder)
    order = re.findall(r"\\input\{(sections/\w+)\}", (TEMPLATES / "main.tex.j2").read_text())
    return {name: (folder / "latex" / f"{name}.tex").read_text() for name in order}


def paragraphs(text: str) -> list[str]:
    """The prose of a section without its floats and commands, and each caption; a quantity as a number."""
    text = "\n\n".join([FLOAT.sub(" ", text), *CAPTION.findall(text)])
    text = NAMES.sub("NAME", QUANTITY.sub(" 999 ", MARKUP.sub(" ", text)))
    text = re.sub(r"\\code\{[^}]*\}|\$[^$]*\$", " CODE ", text)
    return [
        " ".join(one.split()) for one in re.split(r"\n\s*\n|\\item|\\par\b|\\wouldchange", text)
    ]


def sentences(paragraph: str) -> list[str]:
    return re.split(r"(?<=[.?!])\s+", paragraph)


def sections(tmp_path, world: str) -> dict[str, str]:
    return rendered(paper_worlds.write(tmp_path, world))


def test_where_no_difference_is_decided_none_is_explained(tmp_path):
    texts = sections(tmp_path, "nothing decided")
    assert "is decided in this build, so there is none to divide" in texts["answer"]
    assert "A direction is decided on none of 11 workloads." in texts["latency"]


def test_generations_that_agree_are_not_said_to_leave_a_reversal_open(tmp_path):
    texts = sections(tmp_path, "all slower")
    assert "the generations agree on which one is faster" in texts["matrix"]
    assert "No reversal between the generations" not in texts["matrix"]
    assert "on all 11 workloads, by a factor of up to" in texts["latency"]


def test_what_half_of_the_cells_leave_is_told_in_singular_and_plural(tmp_path):
    texts = sections(tmp_path, "half failed")
    assert "on the only model that can be compared" in texts["latency"]
    assert r"For MHA under torch\_xla, the calls become slower" in texts["slow_runs"]
    assert "an edit closes most of 1; the others are" in texts["matrix"]
    assert "Of 27 cells, 14 gave a result; Figure" in texts["stacks"]
    assert "only with work still pending at the first" in texts["answer"]


def test_a_second_run_that_compiles_without_pending_work_is_told(tmp_path):
    folder = paper_worlds.write(tmp_path, "half failed")
    frame = pandas.read_csv(folder / "frame.csv")
    frame.loc[(frame.framework == "torch_xla") & (frame.workload == "mha"), "compiles_second"] = 1
    frame.to_csv(folder / "frame.csv", index=False)
    text = " ".join(rendered(folder)["answer"].split())
    assert "at the first run, and on some workloads also without." in text


def test_the_counting_counts():
    text = r"In \num{3.4} of 12 cells of GPT-2 and LLaMA-3.1 8B in jaxlib 0.7.1~\cite{a1}. ViT-B/16 at \num{5}."
    text += (
        r" On 5: all 6; on 7 none.\begin{figure}\caption{\emph{Of} 8 and \num{9}.} 10\end{figure}"
    )
    counted = [[len(NUMBER.findall(one)) for one in sentences(text)] for text in paragraphs(text)]
    assert counted == [[2, 1, 3], [2]]


def test_a_sentence_has_few_numbers_and_so_has_a_paragraph(body):
    for name, text in body.items():
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
            for sentence in sentences(paragraph):
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


def test_cells_of_the_same_frameworks_stand_together():
    cells = ["GEMM/numpy", "MHA/numpy", "LayerNorm/numpy", "MHA/jax"]
    found = [dict(zip(("title", "framework"), cell.split("/"), strict=True)) for cell in cells]
    told = "GEMM and LayerNorm under NumPy, and MHA under NumPy and JAX"
    assert listed(found, "cell", "with_framework") == told
    assert listed(found[:1], "cell", "with_framework", of=1) == "GEMM under NumPy"
    many = [{"title": f"W{n}", "framework": "jax"} for n in range(MOST_NAMED + 1)]
    assert listed(many, "workload", of=MOST_NAMED + 1) == f"all {MOST_NAMED + 1} workloads"


def test_a_share_is_told_in_words_where_it_is_none_all_or_of_one():
    told = {(2, 3): "2 of 3 cells", (0, 3): "none of 3 cells", (3, 3): "all 3 cells"}
    told |= {(2, 2): "both cells", (1, 1): "the only cell", (0, 1): "no cell"}
    assert {key: share(*key, "cell") for key in told} == told
    named = {(2, 3): "2 of 3 cells", (3, 3): "all 3 cells", (1, 2): "1 of 2 cells of ours"}
    named |= {
        (2, 2): "both cells of ours",
        (1, 1): "the only cell of ours",
        (0, 1): "no cell of ours",
    }
    assert {key: share(*key, "cell", "of ours") for key in named} == named
    first = {(2, 3): "Of 3 cells, 2", (0, 3): "Of 3 cells, none", (3, 3): "All 3 cells"}
    first |= {(1, 1): "The only cell", (0, 1): "No cell"}
    assert {key: of_which(*key, "cell") for key in first} == first


def test_findings_of_one_edit_stand_together():
    edit = {"edits": ["explicit_layernorm"], "framework": "torch_xla+explicit_layernorm"}
    found = [{**edit, "title": "A"}, {**edit, "title": "B"}]
    ((words, own),) = by_edit(found)
    assert words == r"explicit layernorm in torch\_xla's program" and own == found
