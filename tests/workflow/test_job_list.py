"""The plan of each preset and of all studies is the one in jobs.txt; see job_list.py. And what its jobs run in."""

import re
from pathlib import Path

import pytest
from job_list import CLAIMS, COMMANDS, CONFIG, JOBS, listing, plan

from checkout import copy_checkout
from stackwars.setup import environments
from stackwars.setup.device import CPU
from stackwars.study import programs
from stackwars.study.studies import full_study


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout without results."""
    folder = tmp_path_factory.mktemp("plan")
    copy_checkout(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("section", COMMANDS)
def test_the_jobs_are_those_of_the_list(section, checkout):
    sections = [text.strip() for text in JOBS.read_text().split("\n\n")]
    assert len(sections) == len(COMMANDS) and listing(section, checkout).strip() in sections


@pytest.mark.slow
@pytest.mark.parametrize(
    ("section", "studies"), [("preset full", CONFIG.presets["full"].measure), ("every study", ["all"])]
)
def test_set_up_builds_the_environments_of_the_jobs(section, studies, checkout):
    jobs = [block for rule, block in plan(section, checkout) if rule != "device"]
    pins = {name for block in jobs for name in re.findall(r"envs/([\w.-]+)\.txt", block)}
    assert set(environments.of_studies(studies)) == pins


@pytest.mark.slow
def test_every_claim_has_a_target_that_can_be_planned(checkout):
    assert set(CLAIMS) <= {rule for rule, _ in plan("every study", checkout)}


@pytest.mark.parametrize("study", CONFIG.studies)
def test_set_up_builds_the_environments_that_a_study_names(study):
    row = full_study(CONFIG, study)
    cells = [CONFIG.frameworks[name].environments or {} for name in row.frameworks]
    named = {environments[CPU] for environments in cells if CPU in environments}
    named |= {Path(programs.lower_pins(CONFIG, name)).stem for name in row.programs}
    named |= {CONFIG.compilers[name].environment for name in row.compilers}
    assert named <= set(environments.of_studies([study]))


def test_every_study_together_needs_every_environment_that_has_a_size():
    assert set(environments.of_studies(["all"])) == set(environments.sizes_gb())


def test_explaining_needs_what_its_configuration_names():
    frontends = {CONFIG.frameworks[name].environments[CPU] for name in CONFIG.explain.frontends}
    compilers = {CONFIG.compilers[name].environment for name in CONFIG.explain.compilers}
    assert set(environments.of_studies(["explain"])) == frontends | compilers
