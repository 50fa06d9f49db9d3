"""Which programs are checked, which the expected values are computed from, and where both lie."""

import copy

from stackwars import compilers, workloads
from stackwars.study import odd, programs
from stackwars.study.config import load
from stackwars.study.programs import Program

CONFIG = load()
MATRIX = {**CONFIG, "measure": ["tables", "matrix"]}
VALUES = {**CONFIG, "measure": ["values"]}
ROWS = CONFIG["odd_sizes"]
NATIVE = "jaxlib-0.7.1"


def named(found: list[Program]) -> list[str]:
    return [program.framework for program in found]


def test_at_the_preset_s_sizes_every_program_of_a_replay_is_checked():
    for replay in programs.replays(MATRIX):
        names = (MATRIX, replay.workload, replay.compiler)
        assert programs.checked(*names) == programs.replayed(*names)


def test_at_odd_sizes_the_study_s_frontends_are_checked():
    for compiler in ROWS["compilers"]:
        found = programs.checked(VALUES, "gemm", compiler, "odd1")
        assert found == [Program(name, "gemm", "odd1") for name in ROWS["programs"]]
        assert programs.checked(MATRIX, "gemm", compiler, "odd1") == []


def test_the_study_adds_its_frontends_to_those_of_a_replay_each_once():
    found = named(programs.checked(VALUES, "ffn", NATIVE))
    assert set(ROWS["programs"]) <= set(found) and len(set(found)) == len(found)
    both = {**CONFIG, "measure": ["tables", "values"]}
    replayed = named(programs.replayed(both, "ffn", NATIVE))
    assert named(programs.checked(both, "ffn", NATIVE))[: len(replayed)] == replayed


def test_a_replay_that_only_its_path_asks_for_has_a_check_too_and_adds_no_witness():
    smoke = {**CONFIG, "preset": "smoke", "measure": ["tables", "matrix"]}
    excluded = next(
        name
        for name in CONFIG["presets"]["smoke"]["exclude_programs"]
        if not hasattr(workloads.load(name), "reference")
    )
    assert excluded not in {replay.workload for replay in programs.replays(smoke)}
    found = programs.checked(smoke, excluded, NATIVE)
    assert found == programs.replayed(smoke, excluded, NATIVE) != []
    # Its cells need no further program lowered.
    assert len(programs.evaluated(smoke, excluded)) == 1


def test_expected_values_are_of_the_baseline_and_of_a_witness_only_without_values_in_numpy():
    for workload in (name for name in CONFIG["workloads"] if "@" not in name):
        found = programs.evaluated(MATRIX, workload)
        assert found[0] == Program(next(iter(CONFIG["frameworks"])), workload)
        module = workloads.load(workload)
        has_numpy = hasattr(module, "reference") and module.IS_REFERENCE_TESTED
        assert len(found) == (1 if has_numpy else 2), workload
    assert programs.evaluated(VALUES, "bert_base", "odd1")[1].variant == "odd1"


def test_a_witness_is_of_the_programs_that_the_run_lowers_in_any_case():
    lowered = {
        "tables": {"programs": ["jax", "tensorflow_xla"], "compilers": [NATIVE], "workloads": ["bert_base"]}
    }
    config = {**CONFIG, "studies": lowered, "measure": ["tables"]}
    assert named(programs.evaluated(config, "bert_base")) == ["jax", "tensorflow_xla"]
    lowered["tables"]["programs"] = ["jax"]
    assert named(programs.evaluated(config, "bert_base")) == ["jax"]


def test_without_a_frontend_or_an_xla_compiler_nobody_judges():
    alone = {**CONFIG, "comparisons": [row | {"compare": ["cells"]} for row in CONFIG["comparisons"]]}
    other = copy.deepcopy(CONFIG)
    other["compilers"] = {
        name: row
        for name, row in other["compilers"].items()
        if row.get("module", compilers.XLA) != compilers.XLA
    }
    for config in (alone, other):
        assert programs.evaluated(config, "gemm") == []
        assert programs.expected_folder(config, "gemm") == ""
    assert programs.judge_compiler(other) is None


def test_the_judge_is_no_compiler_of_a_cell():
    assert programs.judge_compiler(CONFIG) != programs.native_compiler(CONFIG)
    assert programs.compiler_module(CONFIG, programs.judge_compiler(CONFIG)) == compilers.XLA


def test_jobs_name_the_files_of_their_variant():
    root = "results/full"
    job = programs.check_job(VALUES, "iree-3.13", "gemm", "odd2")
    assert (job["sizes"], job["module"], job["device"]) == (ROWS["workloads"]["gemm"][1], "iree", "cpu")
    assert set(job["settings"]) == {"seed", "memory_cap_gib", "check_timeout_s"}
    assert list(job["programs"]) == ROWS["programs"]
    expected = programs.expected_job(VALUES, "gemm", "odd2")
    assert (expected["sizes"], list(expected["programs"])) == (job["sizes"], ["jax"])
    for one in (job, expected):
        assert one["programs"]["jax"]["program"].endswith("/programs/jax/gemm/odd2/program.mlir.gz")
        assert one["programs"]["jax"]["arguments"].endswith("/programs/jax/gemm/odd2/arguments.json")
    assert job["expected"].startswith(root) and job["expected"].endswith("/expected/gemm/odd2")
    replay = next(one for one in programs.replays(MATRIX) if (one.compiler, one.workload) == (NATIVE, "gemm"))
    read = programs.replay_job(MATRIX, replay)
    assert read["check"].endswith(f"/checks/{NATIVE}/gemm/base/check.json")
    assert read["expected"].endswith("/expected/gemm/base")


def test_checks_of_the_study_are_of_programs_that_exist():
    for compiler, workload, variant in odd.checks(VALUES):
        assert programs.checked(VALUES, workload, compiler, variant), (compiler, workload, variant)
