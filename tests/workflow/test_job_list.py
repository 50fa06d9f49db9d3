"""The plan of each preset and study is the one in jobs.txt; see job_list.py. And which environments its jobs need."""

import re

import pytest
from job_list import COMMANDS, JOBS, listing, plan

from checkout import copy_checkout
from stackwars.setup import needed
from stackwars.study.config import load

STUDIES = list(load().studies)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout without results."""
    folder = tmp_path_factory.mktemp("plan")
    copy_checkout(folder)
    return folder


def test_every_preset_and_study_has_a_section():
    assert [line[2:] for line in JOBS.read_text().splitlines() if line.startswith("# ")] == list(COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("section", COMMANDS)
def test_the_jobs_are_those_of_the_list(section, checkout):
    sections = JOBS.read_text().split("\n\n")
    assert listing(section, checkout).strip() in [text.strip() for text in sections]


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
def test_set_up_builds_the_environments_of_the_jobs_of_a_study(study, checkout):
    jobs = plan(f"study {study}", checkout)
    pins = {
        name for rule, block in jobs if rule != "device" for name in re.findall(r"envs/([\w.-]+)\.txt", block)
    }
    assert set(needed.of_studies([study])) == pins


def test_every_study_together_needs_every_environment_that_has_a_size():
    every = {name for study in STUDIES for name in needed.of_studies([study])}
    assert every == set(needed.of_studies(["all"])) == set(needed.sizes_gb())


def test_explaining_needs_what_its_configuration_names():
    config = load()
    frontends = {config.frameworks[name].environments["cpu"] for name in config.explain.frontends}
    compilers = {config.compilers[name].environment for name in config.explain.compilers}
    assert set(needed.of_studies(["explain"])) == frontends | compilers
