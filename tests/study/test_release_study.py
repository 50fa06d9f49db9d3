"""Releases as an axis: which programs go to which releases, and what a job says."""

import pytest

from stackwars.core.launch import REPOSITORY
from stackwars.core.outcome import Failed
from stackwars.setup import environments
from stackwars.study import releases
from stackwars.study.config import load

CONFIG = load()
MEASURED = CONFIG.changed(measure=["releases"], workloads=["layernorm", "mha"])


def test_a_job_of_the_study_measures_all_releases_newest_first():
    job = releases.job(MEASURED, releases.Point("jaxlib", "torch_xla", "mha"))
    assert job.versions == CONFIG.releases.versions.jaxlib
    numbers = [[int(part) for part in version.split(".")] for version in job.versions]
    assert numbers == sorted(numbers, reverse=True) and len(numbers) >= 8
    assert job.program == "results/full-releases/programs/torch_xla/mha/base/program.mlir.gz"
    assert job.expected == "results/full-releases/expected/mha/base"
    assert (job.framework, job.workload, job.label) == ("torch_xla", "mha", "mha of torch_xla")
    assert job.settings.rounds == CONFIG.releases.rounds
    assert job.settings.timeout_s == CONFIG.settings.timeout_s


def test_a_release_is_a_compiler_in_an_environment_of_its_own_or_why_there_is_none(monkeypatch):
    monkeypatch.setattr(environments, "ensure", lambda pins: pins)
    spec = releases.spec_of("jaxlib", "0.10.2 --xla_a=1 --xla_b=")
    assert (spec.name, spec.module, spec.flags) == ("jaxlib-0.10.2", "xla", "--xla_a=1 --xla_b=")
    assert spec.python == str(REPOSITORY / "envs" / "releases" / "jaxlib-0.10.2.txt")

    def fail(pins):
        raise environments.BuildError("no\nnetwork")

    monkeypatch.setattr(environments, "ensure", fail)
    with pytest.raises(Failed) as failed:
        releases.spec_of("iree", "3.0.0")
    assert (failed.value.outcome.status, failed.value.outcome.detail) == ("error", "no network")


def test_every_release_has_small_pins_without_an_address():
    for project, versions in releases.versions(CONFIG).items():
        for version in versions:
            text = (REPOSITORY / "envs" / "releases" / f"{project}-{version}.txt").read_text()
            names = [line.partition("==")[0] for line in text.splitlines() if "==" in line]
            assert f"=={version}" in text and "numpy" in names and len(text) < 2000
            assert all(text.count("--hash=sha256:") >= len(names) for _ in names)
            assert "http" not in text
