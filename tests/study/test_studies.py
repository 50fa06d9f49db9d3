"""What a run measures of the grid: every study's core, or one study whole."""

import pytest

from stackwars.study import programs
from stackwars.study.cells import Cell, asked
from stackwars.study.config import ConfigError, load, validate
from stackwars.study.studies import folder, narrowed, studies, whole

CONFIG = load()
STUDIES = {
    "tables": {
        "frameworks": ["jax", "torch_xla"],
        "programs": ["jax"],
        "compilers": ["jaxlib-0.7.1"],
    },
    "more": {
        "frameworks": ["jax", "numpy"],
        "programs": ["jax", "torch_xla"],
        "compilers": ["jaxlib-0.10.2"],
        "devices": ["cpu"],
        "workloads": ["mha", "ffn", "conv"],
        "core": ["mha"],
    },
}


def config(**changes):
    full = {**CONFIG["presets"]["full"], "core": {}}
    grid = {"workloads": ["gemm", "ffn", "mha"], "devices": ["cpu", "cpu-1t"], "edits": {}}
    return {**CONFIG, **grid, "studies": STUDIES, "presets": {"full": full}, **changes}


def test_a_run_measures_the_core_of_each_study_and_the_whole_of_one_without_a_core():
    found = [cell for cell in asked(config()) if cell.framework == "numpy"]
    assert found == [Cell("numpy", "mha", "cpu")]
    assert len([cell for cell in asked(config()) if cell.framework == "torch_xla"]) == 6


def test_one_study_is_measured_whole_in_a_folder_of_its_own():
    chosen = config(whole=["more"])
    assert {(c.framework, c.workload) for c in asked(chosen)} == {
        (framework, workload) for framework in ("jax", "numpy") for workload in ("ffn", "mha")
    }
    assert (folder(config()), folder(chosen)) == ("full", "full-more")
    assert [study.name for study in studies(chosen)] == ["more"]


def test_the_reference_has_every_study_whole():
    found = [cell for cell in asked(config(results="reference")) if cell.framework == "numpy"]
    assert [cell.workload for cell in found] == ["ffn", "mha"]
    assert whole(config(), "more").workloads == ("ffn", "mha")


def test_a_preset_has_a_core_of_its_own():
    small = {**CONFIG["presets"]["full"], "core": {"more": []}}
    assert not [c for c in asked(config(presets={"full": small})) if c.framework == "numpy"]


def test_a_replay_has_the_programs_of_the_studies_that_have_its_compiler():
    found = {
        (replay.compiler, replay.workload): [
            program.framework
            for program in programs.replayed(config(), replay.workload, replay.compiler)
        ]
        for replay in programs.replays(config())
    }
    assert found == {
        **{("jaxlib-0.7.1", workload): ["jax"] for workload in ("gemm", "ffn", "mha")},
        ("jaxlib-0.10.2", "mha"): ["jax", "torch_xla"],
    }


def test_a_narrowed_study_keeps_its_other_keys():
    found = narrowed(STUDIES["more"], {"jax"}, set())
    assert (found["frameworks"], found["programs"], found["core"]) == (["jax"], [], ["mha"])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"whole": ["mroe"]}, "whole.0: expected one of tables, more"),
        (
            {"studies": {"tables": {"frameworks": ["jax"]}}},
            "studies: expected one that has ",
        ),
        (
            {"studies": {**STUDIES, "more": {**STUDIES["more"], "programs": ["numpy"]}}},
            "studies.more.programs: expected frameworks that a comparison of programs has",
        ),
    ],
)
def test_refused(changes, said):
    presets = {name: {**row, "core": {}} for name, row in CONFIG["presets"].items()}
    with pytest.raises(ConfigError, match="config") as caught:
        given = {k: value for k, value in CONFIG.items() if k not in ("growth", "sharding")}
        validate({**given, "studies": STUDIES, "presets": presets, **changes})
    assert said in str(caught.value)
