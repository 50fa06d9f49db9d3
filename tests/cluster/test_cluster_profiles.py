"""Groups and resources of jobs on a cluster, in the rules and in its profile."""

import re

import pytest
import yaml

from stackwars.core.launch import REPOSITORY
from stackwars.study.workflow import kinds
from stackwars.study.workflow.jobs import KINDS, MEASURED

SLURM = yaml.safe_load((REPOSITORY / "profiles" / "slurm" / "config.yaml").read_text())
RULES = {
    name: text
    for path in (REPOSITORY / "workflow" / "rules").glob("*.smk")
    for name, text in re.findall(
        r"^(?:rule|checkpoint) (\w+):\n(.*?)(?=^\S|\Z)", path.read_text(), re.DOTALL | re.MULTILINE
    )
}
STEPS = re.findall(
    r'^    "(\w+)": dict\($', (REPOSITORY / "workflow/rules/steps.smk").read_text(), re.MULTILINE
)


def group(rule: str) -> str | None:
    if rule in KINDS:
        return KINDS[rule].group
    found = re.search(r'    group:\n        "(.*)"', RULES[rule])
    return found[1] if found else dict(entry.split("=") for entry in SLURM["groups"]).get(rule)


def test_the_profile_names_rules_and_groups_that_exist():
    assert {entry.split("=")[0] for entry in SLURM["groups"]} <= set(STEPS)
    components = {entry.split("=")[0] for entry in SLURM["group-components"]}
    assert components == {group(rule) for rule in RULES | KINDS} - {None}


@pytest.mark.parametrize("rule", ["cell", "replay"])
def test_what_measures_itself_is_a_job_of_its_own(rule):
    assert group(rule) is None


@pytest.mark.parametrize("rule", ["device", "audit", "radar_program"])
def test_what_is_timed_or_finds_a_device_has_its_node_for_itself(rule):
    assert "**EXCLUSIVE_NODE" in RULES[rule]


@pytest.mark.parametrize("kind", MEASURED)
def test_what_is_measured_has_its_node_for_itself(kind):
    assert MEASURED[kind].machine in (kinds.ALONE, kinds.TIMED)


@pytest.mark.parametrize("kind", ["lower", "expected", "check", "ahead", "largest_batch"])
def test_a_workload_s_programs_are_compiled_in_one_job_with_memory(kind):
    assert group(kind) == "compiled-{workload}" and KINDS[kind].machine == kinds.COMPILING


def test_a_job_is_on_one_node():
    # Snakemake adds up what the steps of a job ask for that run side by side, their nodes too.
    assert "nodes" not in SLURM["default-resources"]
    assert not any("nodes=" in text for text in RULES.values())
