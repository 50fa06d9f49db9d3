"""What both profiles of clusters say of jobs."""

from __future__ import annotations

import re

import pytest
import yaml

from stackwars.setup.environments import REPOSITORY

PROFILES = {
    name: yaml.safe_load((REPOSITORY / "profiles" / name / "config.yaml").read_text())
    for name in ("slurm", "kubernetes")
}
RULES = {
    rule
    for path in (REPOSITORY / "workflow" / "rules").glob("*.smk")
    for rule in re.findall(r"^(?:rule|checkpoint) (\w+):$", path.read_text(), re.MULTILINE)
}


def groups(profile: dict) -> dict[str, str]:
    return dict(entry.split("=") for entry in profile["groups"])


def test_both_make_the_same_jobs():
    assert groups(PROFILES["slurm"]) == groups(PROFILES["kubernetes"])
    assert PROFILES["slurm"]["group-components"] == PROFILES["kubernetes"]["group-components"]


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_names_rules_that_there_are(name):
    profile = PROFILES[name]
    assert groups(profile).keys() <= RULES
    assert profile["set-resources"].keys() <= RULES
    components = {entry.split("=")[0] for entry in profile["group-components"]}
    assert components == set(groups(profile).values())


@pytest.mark.parametrize("name", PROFILES)
def test_what_is_timed_is_in_one_job_and_alone(name):
    profile = PROFILES[name]
    timed = ("process", "replay_process", "growth_process")
    assert {rule: groups(profile)[rule].partition("-")[0] for rule in timed} == {
        "process": "measured", "replay_process": "measured", "growth_process": "grown"
    }  # fmt: skip
    for rule in timed:
        asked = profile["set-resources"][rule]
        assert asked.get("alone") or "--exclusive" in asked["slurm_extra"]


def test_a_job_of_slurm_is_on_one_node():
    # Snakemake adds up what the steps of a job ask for that run side by side, their nodes too.
    slurm = PROFILES["slurm"]
    asked = [slurm["default-resources"], *slurm["set-resources"].values()]
    assert not any("nodes" in resources for resources in asked)
