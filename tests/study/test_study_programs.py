"""Which programs go to which compilers, which are checked at which sizes, and which are printed."""

from pathlib import Path

import pytest

from measured import config as reduced
from stackwars.core import compilers
from stackwars.measure import workloads
from stackwars.study import printed, programs, searches
from stackwars.study.config import load
from stackwars.study.programs import Program
from stackwars.study.workflow import jobs

CONFIG = load()
CELLS_ALONE = [row.changed(compare=["cells"]) for row in CONFIG.comparisons]


def test_without_programs_nothing_is_compiled_or_replayed():
    bare = CONFIG.changed(comparisons=CELLS_ALONE)
    found = (programs.compilations(bare), programs.largest_batches(bare), programs.replays(bare))
    assert found == ([], [], [])


def test_programs_of_every_subject_go_to_the_compilers_after_the_one_baseline_s():
    rows = [row for row in CONFIG.comparisons if row.baseline == "jax"]
    both = [row.changed(compare=["cells", "programs"]) for row in rows]
    frameworks = ["jax", *(row.subject for row in both)]
    targets = CONFIG.studies["targets"].targets
    study = CONFIG.studies["tables"].changed(programs=frameworks, targets=targets)
    chosen = CONFIG.changed(comparisons=both, workloads=["bert_base"], studies={"tables": study})
    assert len(frameworks) > 2
    job = jobs.replay_job(chosen, programs.replays(chosen)[0])
    assert job.baseline == "jax"
    assert list(job.programs)[: len(frameworks)] == frameworks
    compiled = [c.program.framework for c in programs.compilations(chosen)]
    assert compiled[: len(frameworks)] == frameworks
    assert set(compiled) == set(frameworks)


@pytest.mark.parametrize(("variant", "batch", "sequence"), [("base", 2, 64), ("b8", 8, 64), ("b8s512", 8, 512)])
def test_variant_overrides_batch_and_sequence(variant, batch, sequence):
    sizes = programs.sizes(CONFIG, "llama3_8b", variant)
    assert (sizes["batch"], sizes["sequence"]) == (batch, sequence)
    assert sizes["hidden"] == 4096


def test_base_programs_of_the_first_row_are_finished_and_give_the_others_their_code():
    first = CONFIG.aot_compilations[0]
    for compilation in programs.compilations(CONFIG):
        source = programs.code_source(CONFIG, compilation)
        assert (source.target, source.compiler) == (first.target, first.compiler)
        assert programs.finished(CONFIG, source)
        assert source.program.workload == compilation.program.workload
        if compilation.program.variant != "base":
            assert not programs.finished(CONFIG, compilation)


def test_a_search_has_the_programs_of_the_replay_and_an_evaluator_that_every_compiler_can_read():
    both = CONFIG.changed(measure=["tables", "matrix"])
    replay = next(one for one in programs.searched(both) if one.compiler == "jaxlib-0.10.2-no-ynn")
    job = searches.causes_job(both, replay)
    assert set(job.programs) == set(jobs.replay_job(both, replay).programs)
    assert job.pair == ["torch_xla", "jax"]
    assert job.compiler["options"] == CONFIG.compilers[replay.compiler].options
    assert (job.evaluator["name"], job.evaluator["options"]) == ("jaxlib-0.7.1", {})
    assert job.pins == {"compiler": "envs/xla-0.10.2.txt", "evaluator": "envs/xla-0.7.1.txt"}
    assert job.bound == 0.1 and job.settings["budget_s"] == 480


MATRIX = CONFIG.changed(measure=["tables", "matrix"])
VALUES = CONFIG.changed(measure=["values"])
ROWS = CONFIG.odd_sizes
NATIVE = "jaxlib-0.7.1"


def named(found: list[Program]) -> list[str]:
    return [program.framework for program in found]


def test_the_study_adds_its_frontends_to_those_of_a_replay_each_once():
    found = named(programs.checked(VALUES, "ffn", NATIVE))
    assert set(ROWS.programs) <= set(found) and len(set(found)) == len(found)
    both = CONFIG.changed(measure=["tables", "values"])
    replayed = named(programs.replayed(both, "ffn", NATIVE))
    assert named(programs.checked(both, "ffn", NATIVE))[: len(replayed)] == replayed


def test_expected_values_are_of_the_baseline_and_of_a_witness_only_without_values_in_numpy():
    replayed = {replay.workload for replay in programs.replays(MATRIX)}
    for workload in (name for name in CONFIG.workloads if "@" not in name and name in replayed):
        found = programs.evaluated(MATRIX, workload)
        assert found[0] == Program(next(iter(CONFIG.frameworks)), workload)
        module = workloads.load(workload)
        has_numpy = module.has_reference and module.IS_REFERENCE_TESTED
        assert len(found) == (1 if has_numpy else 2), workload
    assert programs.evaluated(VALUES, "bert_base", "odd1")[1].variant == "odd1"


def test_a_witness_is_of_the_programs_that_the_run_lowers_in_any_case():
    lowered = {
        "tables": {"programs": ["jax", "tensorflow_xla"], "compilers": [NATIVE], "workloads": ["bert_base"]}
    }
    config = CONFIG.changed(studies=lowered, measure=["tables"])
    assert named(programs.evaluated(config, "bert_base")) == ["jax", "tensorflow_xla"]
    lowered["tables"]["programs"] = ["jax"]
    config = CONFIG.changed(studies=lowered, measure=["tables"])
    assert named(programs.evaluated(config, "bert_base")) == ["jax"]


def test_without_a_frontend_or_an_xla_compiler_nobody_judges():
    alone = CONFIG.changed(comparisons=CELLS_ALONE)
    others = {name: row for name, row in CONFIG.compilers.items() if row.module != compilers.XLA}
    other = CONFIG.changed(compilers=others)
    for config in (alone, other):
        assert programs.evaluated(config, "gemm") == []
        assert programs.expected_folder(config, "gemm") == ""
    assert programs.judge_compiler(other) is None


def test_the_judge_is_no_compiler_of_a_cell():
    assert programs.judge_compiler(CONFIG) != programs.native_compiler(CONFIG)
    assert CONFIG.compilers[programs.judge_compiler(CONFIG)].module == compilers.XLA


def test_frameworks_that_the_run_does_not_have_are_left_out():
    frameworks = {"jax": CONFIG.frameworks["jax"], "torch_xla": CONFIG.frameworks["torch_xla"]}
    assert programs.odd_programs(VALUES.changed(comparisons=CONFIG.comparisons[:1], frameworks=frameworks)) == [
        "jax", "torch_xla",
    ]  # fmt: skip
    alone = [row.changed(compare=["cells"]) for row in CONFIG.comparisons]
    assert not programs.odd_checks(VALUES.changed(comparisons=alone))


@pytest.mark.parametrize("preset", CONFIG.presets)
def test_a_variant_has_its_own_sizes_in_every_preset(preset):
    config = CONFIG.changed(preset=preset)
    for workload, rows in ROWS.workloads.items():
        assert [
            programs.sizes(config, workload, one) for one in programs.odd_variants(config, workload)
        ] == rows
    job = jobs.lower_job(config, Program("jax", "gemm", "odd2"))
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


BOTH = ["jax", "torch_xla"]
PAPER = CONFIG.paper.changed(listings=["layernorm", "newton"], graphs=["gemm"], forms=["gemm"])
WORKLOADS = ["gemm", "layernorm", "newton"]


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_nothing_is_listed_without_two_frameworks_to_compare():
    alone = {"jax": CONFIG.frameworks["jax"]}
    assert printed.listings(reduced(paper=PAPER, workloads=WORKLOADS, frameworks=alone)) == {}
    cells_alone = [row.changed(compare=["cells"]) for row in reduced().comparisons]
    assert printed.listings(reduced(paper=PAPER, workloads=WORKLOADS, comparisons=cells_alone)) == {}


def test_forms_are_measured_with_the_study_of_their_frameworks():
    every = {"paper": PAPER, "workloads": WORKLOADS, "frameworks": CONFIG.frameworks}
    tables, stacks = (reduced(**every, measure=[name]) for name in ("tables", "stacks"))
    forms = printed.forms(stacks)
    assert printed.forms(tables) == forms == printed.measured(stacks, forms)
    assert [cell.framework for cell in forms["gemm"]] == ["jax", "torch_inductor"]
    assert printed.measured(tables, forms) == {}


def test_the_report_shows_what_a_run_emits_for_its_cells_and_its_compilers():
    found = printed.emitted(reduced(), Path("here"), Path("accepted"))
    assert found["gemm"]["jax"] == [
        Path("here/cpu/jax/gemm/stablehlo.mlir.gz"),
        Path("here/programs/jax/gemm/base/program.mlir.gz"),
    ]
    assert list(found["gemm"]) == BOTH


def test_the_reference_also_has_the_programs_of_its_runs_the_newest_first(tmp_path):
    write(tmp_path, "cpu/jax/gemm/stablehlo.mlir.gz")
    for run in ("2026-01", "2026-02"):
        write(
            tmp_path,
            f"runs/{run}/cpu/torch_xla/gemm/stablehlo.mlir.gz",
            f"runs/{run}/cpu/jax/ffn/stablehlo.mlir.gz",
        )
    found = printed.emitted(reduced(source="reference"), tmp_path, tmp_path / "runs")
    assert list(found) == ["gemm"], "of FFN one program alone"
    runs = [path.relative_to(tmp_path / "runs").parts[0] for path in found["gemm"]["torch_xla"]]
    assert runs == ["2026-02", "2026-01"]
    assert found["gemm"]["jax"] == [tmp_path / "cpu/jax/gemm/stablehlo.mlir.gz"]
