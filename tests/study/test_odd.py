"""Odd sizes: which workloads are checked at which, and in which compilers."""

import pytest

from stackwars.measure import workloads
from stackwars.study import programs
from stackwars.study.config import load
from stackwars.study.programs import Program
from stackwars.study.workflow.jobs import lower_job

CONFIG = load()
ROWS = CONFIG.odd_sizes
MEASURED = CONFIG.changed(measure=["values"])


def test_frameworks_that_the_run_does_not_have_are_left_out():
    frameworks = {"jax": CONFIG.frameworks["jax"], "torch_xla": CONFIG.frameworks["torch_xla"]}
    assert programs.odd_programs(MEASURED.changed(comparisons=CONFIG.comparisons[:1], frameworks=frameworks)) == [
        "jax", "torch_xla",
    ]  # fmt: skip
    alone = [row.changed(compare=["cells"]) for row in CONFIG.comparisons]
    assert not programs.odd_checks(MEASURED.changed(comparisons=alone))


@pytest.mark.parametrize("preset", CONFIG.presets)
def test_a_variant_has_its_own_sizes_in_every_preset(preset):
    config = CONFIG.changed(preset=preset)
    for workload, rows in ROWS.workloads.items():
        assert [
            programs.sizes(config, workload, one) for one in programs.odd_variants(config, workload)
        ] == rows
    job = lower_job(config, Program("jax", "gemm", "odd2"))
    assert job.sizes == ROWS.workloads["gemm"][1]


@pytest.mark.parametrize("variant", ["odd3", "odd"])
def test_a_variant_beyond_the_list_is_refused(variant):
    with pytest.raises(ValueError, match=f"expected one of odd1, odd2, got {variant}; fix: add its sizes"):
        programs.sizes(CONFIG, "gemm", variant)


def test_every_workload_has_odd_sizes_and_all_but_models_have_two():
    # A file of functions has them if it wants to.
    wanted = [
        name for name in workloads.names() if workloads.load(name).DEFAULTS is None or name in ROWS.workloads
    ]
    assert list(ROWS.workloads) == wanted
    for name, rows in ROWS.workloads.items():
        assert len(rows) >= (1 if workloads.load(name).KIND == "model" else 2), name
