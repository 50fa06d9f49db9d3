"""What a run measures of the grid: the studies that it names, or those of its preset."""

import pytest

from stackwars.study import programs
from stackwars.study.cells import Cell, asked
from stackwars.study.config import ConfigError, load
from stackwars.study.studies import folder, full_study, measured_studies

CONFIG = load()
STUDIES = {
    "tables": {"frameworks": ["jax", "torch_xla"], "programs": ["jax"], "compilers": ["jaxlib-0.7.1"]},
    "more": {
        "frameworks": ["jax", "numpy"],
        "programs": ["jax", "torch_xla"],
        "compilers": ["jaxlib-0.10.2"],
        "devices": ["cpu"],
        "workloads": ["mha", "ffn", "conv"],
    },
    "other": {"programs": ["jax"], "targets": ["tpu-v6e"], "workloads": ["ffn"]},
}
ABSENT = dict.fromkeys(("growth", "sharding", "odd_sizes", "releases", "memory"))


def config(study_workloads=None, **changes):
    """Three studies of three workloads; the preset measures the first, and may limit workloads."""
    full = CONFIG.presets["full"].changed(measure=["tables"], study_workloads=study_workloads or {})
    grid = {"workloads": ["gemm", "ffn", "mha"], "devices": ["cpu", "cpu-1t"]}
    return CONFIG.changed(**grid | {"studies": STUDIES, "presets": {"full": full}} | changes)


def workloads_of(framework, **changes):
    return [cell.workload for cell in asked(config(**changes)) if cell.framework == framework]


def test_a_run_measures_the_studies_of_its_preset_unless_it_names_others():
    assert measured_studies(config()) == ["tables"]
    assert workloads_of("numpy") == []
    assert measured_studies(config(measure=["tables", "more"])) == ["tables", "more"]
    assert workloads_of("numpy", measure=["tables", "more"]) == ["ffn", "mha"]
    assert workloads_of("torch_xla", measure=["more"]) == []


def test_a_run_without_the_first_study_has_a_folder_of_its_own():
    names = [["tables"], ["more", "tables"], ["more"], ["other", "more"]]
    folders = [folder(config(measure=measure)) for measure in names]
    assert folders == ["full", "full", "full-more", "full-more-other"]


def test_a_preset_may_limit_the_workloads_of_a_study():
    limits = {"more": ["gemm", "mha"]}
    assert workloads_of("numpy", study_workloads=limits, measure=["more"]) == ["mha"]
    assert workloads_of("numpy", study_workloads=limits, measure=["more"], workloads=["ffn"]) == ["ffn"]
    assert workloads_of("numpy", study_workloads={"more": []}, measure=["more"]) == []
    assert full_study(config(study_workloads=limits), "more").workloads == ("ffn", "mha")


def test_the_reference_measures_nothing_and_may_have_results_of_every_study():
    reference = config(source="reference", study_workloads={"more": []})
    assert measured_studies(reference) == []
    assert [cell for cell in asked(reference) if cell.framework == "numpy"] == [
        Cell("numpy", "ffn", "cpu"), Cell("numpy", "mha", "cpu"),
    ]  # fmt: skip


def test_a_study_that_the_configuration_does_not_have_is_empty():
    none = full_study(config(), "matrix")
    assert (none.frameworks, none.programs, none.workloads) == ((), (), ())


def test_a_replay_has_the_programs_of_the_studies_that_have_its_compiler():
    both = config(measure=["tables", "more"])
    found = {
        (replay.compiler, replay.workload): [
            program.framework for program in programs.replayed(both, replay.workload, replay.compiler)
        ]
        for replay in programs.replays(both)
    }
    assert found == {
        **{("jaxlib-0.7.1", workload): ["jax"] for workload in ("gemm", "ffn", "mha")},
        ("jaxlib-0.10.2", "ffn"): ["jax", "torch_xla"],
        ("jaxlib-0.10.2", "mha"): ["jax", "torch_xla"],
    }


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"measure": ["mroe"]}, 'measure.0: expected one of tables, more, other, got "mroe"'),
        ({"measure": []}, "measure: expected at least 1 of them"),
        ({"measure": ["more", "more"]}, "measure: expected no entry twice"),
        ({"studies": {"tables": {"frameworks": ["jax"]}}}, "studies: expected one that has "),
        (
            {"studies": {**STUDIES, "more": {**STUDIES["more"], "programs": ["numpy"]}}},
            "studies.more.programs: expected frameworks that a comparison of programs has",
        ),
    ],
)
def test_refused(changes, said):
    presets = {
        name: row.changed(measure=["tables"], study_workloads=None) for name, row in CONFIG.presets.items()
    }
    with pytest.raises(ConfigError, match="config") as caught:
        load(**{"studies": STUDIES, "presets": presets, "workloads": CONFIG.workloads} | ABSENT | changes)
    assert said in str(caught.value)
