"""What an evaluator ticks: the pages are those that the data makes, and name what exists."""

import re

from stackwars.paper import evaluation
from stackwars.paper.evaluation import PAGE, README
from stackwars.paper.tables.badges import badge_table, evaluator_tables
from stackwars.setup.environments import REPOSITORY

DOCUMENT = evaluation.read()


def test_pages_are_those_of_the_data():
    for path, text in (
        (README, evaluation.commands(DOCUMENT)),
        (PAGE, evaluation.page(DOCUMENT)),
    ):
        assert text in (REPOSITORY / path).read_text(), "python -m stackwars.paper.evaluation"


def test_every_target_of_make_exists():
    phony = re.search(r"^\.PHONY: (.*)$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)[1]
    named = [one["command"] for kind in ("commands", "tyres") for one in DOCUMENT[kind]]
    named += [c["command"] for b in DOCUMENT["badges"] for c in b["criteria"] if "command" in c]
    targets = {command.split()[1] for command in named if command.startswith("make ")}
    assert targets <= set(phony.split())
    assert len(targets) > 5


def test_every_file_that_a_criterion_names_exists():
    files = {
        name
        for badge in DOCUMENT["badges"]
        for one in badge["criteria"]
        for name in re.findall(r"[\w./]+\.(?:md|cff|yaml)|LICENSE|workflow/schemas", one["met"])
    }
    assert len(files) > 6
    assert [name for name in files if not (REPOSITORY / name).exists()] == []


def test_table_has_a_row_for_each_criterion():
    text = badge_table(DOCUMENT)
    criteria = [one for badge in DOCUMENT["badges"] for one in badge["criteria"]]
    assert text.count(" \\\\\n") == len(criteria) + 1


def test_the_appendix_has_the_other_tables_of_the_page():
    text = evaluator_tables(DOCUMENT)
    kinds = ("tyres", "needs", "destructive", "warnings")
    assert text.count(" \\\\\n") == sum(len(DOCUMENT[kind]) + 1 for kind in kinds)
    assert "make faults" in text and "GSPMD sharding" in text
