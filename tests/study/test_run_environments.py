"""Which environments a study needs: what its jobs run in, and what set-up is told of that."""

import re

import pytest

from running import python
from stackwars.setup import needed
from stackwars.setup.environments import REPOSITORY
from stackwars.study import run_environments
from stackwars.study.config import load, validate

STUDIES = list(load()["studies"])


def of(study: str) -> list[str]:
    return run_environments.needed(validate({**load(), "measure": [study]}))


@pytest.mark.parametrize("study", STUDIES)
def test_set_up_is_told_what_the_jobs_of_a_study_run_in(study):
    rare = run_environments.only_if_compiled(load())
    assert set(needed.of_studies([study])) == set(of(study)) - rare


def test_the_default_paper_needs_neither_torchtpu_nor_tensorflow_nor_iree_nor_numpy():
    assert set(of("tables")) == {"jax", "torch_xla", "xla-0.7.1", "xla-0.10.2", "xla-cuda"}


def test_every_study_together_needs_every_environment_that_has_a_size():
    every = {name for study in STUDIES for name in of(study)}
    assert every == set(needed.sizes_gb()) == set(needed.of_studies(["all"])) | {"xla-cuda"}


def test_explaining_needs_what_its_configuration_names():
    rows = load()["explain"]
    frontends = {load()["frameworks"][name]["environments"]["cpu"] for name in rows["frontends"]}
    compilers = {load()["compilers"][name]["environment"] for name in rows["compilers"]}
    assert set(needed.of_studies(["explain"])) == frontends | compilers


def test_every_environment_of_set_up_has_pins():
    assert all((REPOSITORY / "envs" / f"{name}.txt").is_file() for name in needed.sizes_gb())


@pytest.mark.parametrize("study", ["tables", "successor"])
def test_these_are_the_pins_of_the_jobs_that_a_run_plans(study):
    overrides = [f"measure=[{study}]", "recompile=true"]  # its folder may have results, but hardly all
    command = ["-m", "snakemake", "results", "--dry-run", "--forceall", "--cores", "1", "--quiet", "host"]
    done = python(*command, "--config", *overrides, cwd=REPOSITORY, env=None)
    rule, pins = "", set()
    for line in (done.stdout + done.stderr).splitlines():
        if named := re.match(r" *(?:rule|checkpoint|localrule) (\w+):", line):
            rule = named[1]
        elif "input:" in line and rule != "device":
            pins |= set(re.findall(r"envs/([\w.-]+)\.txt", line))
    assert pins == set(of(study))
