"""The profile of Slurm names rules that exist, and runs what is timed as one job, alone on a node."""

from __future__ import annotations

import re

import pytest
import yaml

from stackwars.setup.environments import REPOSITORY

RULES = {
    rule
    for path in (REPOSITORY / "workflow" / "rules").glob("*.smk")
    for rule in re.findall(r"^(?:rule|checkpoint) (\w+):$", path.read_text(), re.MULTILINE)
}


@pytest.fixture(scope="module")
def slurm() -> dict:
    return yaml.safe_load((REPOSITORY / "profiles" / "slurm" / "config.yaml").read_text())


def groups(profile: dict) -> dict[str, str]:
    return dict(entry.split("=") for entry in profile["groups"])


def test_it_names_rules_that_exist(slurm):
    assert groups(slurm).keys() <= RULES
    assert slurm["set-resources"].keys() <= RULES
    components = {entry.split("=")[0] for entry in slurm["group-components"]}
    assert components == set(groups(slurm).values())


def test_what_is_timed_is_in_one_job_and_alone(slurm):
    timed = ("process", "replay_process", "growth_process")
    assert {rule: groups(slurm)[rule].partition("-")[0] for rule in timed} == {
        "process": "measured", "replay_process": "measured", "growth_process": "grown"
    }  # fmt: skip
    assert all("--exclusive" in slurm["set-resources"][rule]["slurm_extra"] for rule in timed)


def test_a_job_is_on_one_node(slurm):
    # Snakemake adds up what the steps of a job ask for that run side by side, their nodes too.
    resources = [slurm["default-resources"], *slurm["set-resources"].values()]
    assert not any("nodes" in one for one in resources)
