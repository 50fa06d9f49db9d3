"""Which environments a study needs: what its jobs run in, and what set-up is told of that."""

import re

import pytest

from running import python
from stackwars.core.launch import REPOSITORY
from stackwars.setup import needed
from stackwars.study.config import load

STUDIES = list(load()["studies"])


@pytest.mark.parametrize("study", STUDIES)
def test_set_up_is_told_the_pins_of_the_jobs_that_a_run_of_the_study_plans(study):
    # The study's folder may have results, but hardly all.
    overrides = [f"measure=[{study}]", "preset=smoke"]
    command = ["-m", "snakemake", "results", "--dry-run", "--forceall", "--cores", "1", "--quiet", "host"]
    done = python(*command, "--config", *overrides, cwd=REPOSITORY, env=None)
    rule, pins = "", set()
    for line in (done.stdout + done.stderr).splitlines():
        if named := re.match(r" *(?:rule|checkpoint|localrule) (\w+):", line):
            rule = named[1]
        elif "input:" in line and rule != "device":
            pins |= set(re.findall(r"envs/([\w.-]+)\.txt", line))
    assert set(needed.of_studies([study])) == pins


def test_every_study_together_needs_every_environment_that_has_a_size():
    every = {name for study in STUDIES for name in needed.of_studies([study])}
    assert every == set(needed.of_studies(["all"])) == set(needed.sizes_gb())


def test_explaining_needs_what_its_configuration_names():
    rows = load()["explain"]
    frontends = {load()["frameworks"][name]["environments"]["cpu"] for name in rows["frontends"]}
    compilers = {load()["compilers"][name]["environment"] for name in rows["compilers"]}
    assert set(needed.of_studies(["explain"])) == frontends | compilers
