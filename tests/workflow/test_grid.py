"""What a configuration asks for, as the rules' functions answer it."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.exceptions import WorkflowError

from measured import config
from stackwars.core.launch import REPOSITORY
from stackwars.study import cells, printed
from stackwars.study.audits.paired import PairJob
from stackwars.study.cells import Cell
from stackwars.study.claims import definitions
from stackwars.study.config import load
from stackwars.study.programs import Program
from stackwars.study.studies import with_programs
from stackwars.study.workflow import job_files
from stackwars.study.workflow.audit_jobs import AuditJobs
from stackwars.study.workflow.claim_jobs import ClaimJobs
from stackwars.study.workflow.grid import Grid, paper_files
from stackwars.study.workflow.jobs import KINDS

GEMM = SimpleNamespace(framework="torch_xla", workload="gemm", device="cpu")
ANSWERS = {
    "cpu": {"jax": {"present": True}, "torch_xla": {"present": True}},
    "tpu": {"jax": {"present": True}, "torch_xla": {"present": False}},
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty folder to run in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def grid(**changes) -> Grid:
    """The grid of a configuration, on a machine that has a TPU for JAX alone."""

    def devices() -> str:
        Path("devices.json").write_text(json.dumps(ANSWERS))
        return "devices.json"

    return Grid(config(**changes), devices)


def reference(*paths: str) -> Grid:
    """The grid of a paper from a reference run that has these files."""
    for path in paths:
        Path("results/reference", path).parent.mkdir(parents=True, exist_ok=True)
        Path("results/reference", path).touch()
    return grid(source="reference", preset="full")


def content(argument: str) -> dict:
    """Return the specification that an argument `--job FILE`, or a path, names."""
    job_files.write_planned()
    return json.loads(Path(argument.split()[-1]).read_text())


def given(grid: Grid, kind: str, name: str, wildcards: SimpleNamespace) -> str | list[str]:
    """Return an input of a job that depends on its wildcards."""
    files = KINDS[kind].rule_inputs(grid)[name]
    return (files if callable(files) else files.callable)(wildcards)


def param(grid: Grid, kind: str, name: str, wildcards: SimpleNamespace) -> str:
    return KINDS[kind].params(grid, kind)[name](wildcards)


def job_of(grid: Grid, kind: str, wildcards: SimpleNamespace) -> dict:
    """Return the specification of a job."""
    return content(param(grid, kind, "job", wildcards))


def test_available_cells_are_those_of_present_devices():
    made = grid()
    found = {(cell.device, cell.framework) for cell in made.available_cells()}
    assert found == {("cpu", "jax"), ("cpu", "torch_xla"), ("tpu", "jax")}
    assert {cell.device for cell in made.cpu_cells} == {"cpu"}
    assert made.peaks(made.available_cells()) == [f"results/smoke/{d}/peak.json" for d in ("cpu", "tpu")]
    files = made.available_files("cell.json", "output.npy")(None)
    assert {"results/smoke/tpu/jax/ffn/cell.json", "results/smoke/cpu/jax/ffn/output.npy"} <= set(files)


def test_a_paper_of_the_reference_run_asks_for_what_it_has():
    made = reference("cpu/jax/gemm/cell.json", "programs/jax/gemm/base/program.mlir.gz")
    assert made.selected_cells == made.available_cells() == [Cell("jax", "gemm", "cpu")]
    assert made.base_programs() == [Program("jax", "gemm")]
    assert made.other_results() == made.replays("replay.json") == []
    measuring = grid(preset="full", measure=["tables", "targets"])
    assert measuring.other_results() and measuring.replays("replay.json", "profile.json")


def test_what_a_run_overrides_does_not_change_the_tables_of_the_reference():
    chosen = [grid(workloads=["gemm"]), grid(), grid(preset="full", measure=["matrix"])]
    assert len({made.reference_args for made in chosen}) == 1
    assert len({made.step_args for made in chosen}) == 3
    made = chosen[0]
    assert made.args_of(made.out) == made.step_args
    assert made.args_of("results/from-reference") == made.reference_args


def test_programs_are_listed_from_this_run_or_from_the_reference():
    paper = config().paper.changed(listings=["mha", "newton"])
    chosen = {"workloads": ["gemm", "mha", "newton"], "preset": "full", "paper": paper}

    def listed(folder: str, workload: str) -> list[str]:
        return [f"{folder}/cpu/{name}/{workload}/{printed.PROGRAM}" for name in ("jax", "torch_xla")]

    assert grid(**chosen).listings() == listed("results/full", "mha")
    reference(*(f"cpu/{name}/newton/{printed.PROGRAM}" for name in ("jax", "torch_xla")))
    newton = listed("results/reference", "newton")
    assert grid(**chosen).listings() == [*listed("results/full", "mha"), *newton]
    assert grid(**chosen | {"source": "reference"}).listings() == newton
    both = grid(**chosen, measure=["tables", "beyond"])
    assert both.listings() == [path for w in ("mha", "newton") for path in listed("results/full", w)]


def test_a_cell_is_told_what_it_measures():
    made = grid()
    job = job_of(made, "cell", GEMM)
    assert (job["repetition"], job["dialect"]) == (0, "torch")
    assert param(made, "cell", "arguments", GEMM).startswith("--rounds 1 --replay ")
    written = {"forms": False, "writes_files": True}
    assert job["partner"] == {"framework": "jax", "dialect": "jax", **written}
    assert job["settings"]["block_calls"] == 16
    assert "audit_processes" not in job["settings"]
    paper = config().paper.changed(forms=["gemm"])
    assert job_of(grid(paper=paper), "cell", GEMM)["forms"] and not job["forms"]


def test_another_study_measures_nothing_again():
    alone, beside = (
        Grid(load(preset="full", measure=measure), lambda: "") for measure in (["tables"], ["tables", "stacks"])
    )
    assert param(alone, "cell", "job", GEMM) == param(beside, "cell", "job", GEMM)


def test_a_change_of_one_setting_is_another_file():
    settings = config().settings
    names = {
        param(grid(settings=settings.changed(**changed)), "cell", "job", GEMM)
        for changed in ({}, {"seed": 7}, {"audit_processes": 7})
    }
    assert len(names) == 2, "audits are no part of a cell"


def test_a_compilation_takes_the_code_s_size_from_a_finished_one():
    made = grid(preset="full")
    first, other = config().aot_compilations[:2]
    wildcards = {"framework": "jax", "workload": "gemm", "variant": "base"}
    finished = SimpleNamespace(target=first.target, compiler=first.compiler, **wildcards)
    assert given(made, "ahead", "code", finished) == []
    stopped = SimpleNamespace(target=other.target, compiler=other.compiler, **wildcards)
    place = f"{first.target}/{first.compiler}/jax/gemm/base"
    assert given(made, "ahead", "code", stopped) == f"results/full/ahead/{place}/ahead.json"
    assert job_of(made, "ahead", stopped)["target"] == other.target


def test_the_first_comparison_s_cell_measures_its_baseline_and_the_replay_in_the_native_compiler():
    made = grid(devices=["cpu", "cpu-1t"], workloads=["layernorm"])
    native, other = ("jaxlib-0.7.1", "jaxlib-0.10.2")
    names = {"workload": "layernorm", "device": "cpu"}
    subject, baseline = (SimpleNamespace(framework=name, **names) for name in ("torch_xla", "jax"))
    beside = "results/smoke/beside/cpu/torch_xla/layernorm"
    replays = [SimpleNamespace(compiler=compiler, **names) for compiler in (native, other)]
    assert [given(made, "cell", "taken", cell) for cell in (baseline, subject)] == [beside, []]
    assert [given(made, "replay", "taken", replay) for replay in replays] == [beside, []]
    assert given(made, "cell", "joined_pins", subject) == "envs/xla-0.7.1.txt"
    assert given(made, "cell", "joined_pins", baseline) == []
    joined = f"results/smoke/checks/{native}/layernorm/base/executables"
    assert joined in given(made, "cell", "joined", subject) and given(made, "cell", "joined", baseline) == []
    arguments = [param(made, "cell", "arguments", cell) for cell in (subject, baseline)]
    assert content(arguments[0])["compiler"] == native and arguments[1] == "--rounds 1"
    assert job_of(made, "cell", subject)["partner"]["writes_files"]
    one_core = {"workload": "layernorm", "device": "cpu-1t"}
    jax, torch_xla = (SimpleNamespace(framework=name, **one_core) for name in ("jax", "torch_xla"))
    assert given(made, "cell", "taken", jax) == beside.replace("cpu", "cpu-1t")
    assert given(made, "cell", "joined", torch_xla) == []


def test_a_baseline_without_the_first_comparison_s_subject_measures_itself():
    only = config().frameworks
    made = grid(frameworks={"jax": only["jax"]})
    jax = SimpleNamespace(framework="jax", workload="gemm", device="cpu")
    assert given(made, "cell", "taken", jax) == []


def test_a_check_and_its_expected_values_read_the_programs_of_their_variant():
    made = grid(measure=["tables", "values"])
    check = SimpleNamespace(compiler="jaxlib-0.10.2", workload="gemm", variant="odd1")
    read = given(made, "check", "programs", check)
    assert {Path(path).parts[-2] for path in read} == {"odd1"}
    assert len(read) == 2 * len(with_programs(config()))
    assert [Path(path).name for path in given(made, "check", "expected", check)] == [
        "expected.json",
        "expected.npz",
    ]
    evaluated = given(made, "expected", "programs", SimpleNamespace(workload="gemm", variant="odd1"))
    assert [Path(path).parts[-4:] for path in evaluated] == [
        ("jax", "gemm", "odd1", "program.mlir.gz"), ("jax", "gemm", "odd1", "arguments.json"),
    ]  # fmt: skip
    assert job_of(made, "check", check)["variant"] == "odd1"
    assert {given(made, kind, "pins", check) for kind in ("expected", "check")} == {"envs/xla-0.10.2.txt"}
    values = given(made, "cell", "expected", GEMM)
    assert values == given(
        made, "check", "expected", SimpleNamespace(compiler="jaxlib-0.10.2", workload="gemm", variant="base")
    )
    assert job_of(made, "cell", GEMM)["expected"] == str(Path(values[0]).parent)


def test_a_check_without_programs_is_refused():
    check = SimpleNamespace(compiler="iree-3.13", workload="gemm", variant="odd1")
    with pytest.raises(WorkflowError, match=r"got gemm, iree-3[.]13, odd1; fix: change"):
        given(grid(), "check", "programs", check)


def test_without_frontends_no_cell_waits_for_expected_values():
    alone = [row.changed(compare=["cells"]) for row in config().comparisons]
    made = grid(comparisons=alone)
    assert given(made, "cell", "expected", GEMM) == []
    assert job_of(made, "cell", GEMM)["expected"] == ""
    with pytest.raises(WorkflowError, match="expected a configuration with a frontend's programs"):
        given(made, "expected", "programs", SimpleNamespace(workload="gemm", variant="base"))


def test_audits_are_of_what_is_here():
    parts = AuditJobs(grid()).parts()
    folder = "results/smoke/audits"
    assert f"{folder}/fences/tpu/jax.json" in parts
    assert not [path for path in parts if "tpu/torch_xla" in path]
    assert not [path for path in parts if "/same/" in path]


def test_what_the_configuration_adds_is_broken_too():
    added = {
        "frameworks": ["torch_xla"],
        "replays": [{"framework": "jax", "compiler": "iree-3.13"}],
        "workloads": [],
        "trials": {},
    }
    frameworks = dict(config().frameworks)
    frameworks["torch_xla"] = frameworks["torch_xla"].changed(workloads=["gemm"])  # else it is audited anyhow
    jobs = AuditJobs(grid(frameworks=frameworks, audits=added))
    folder = "results/smoke/audits"
    assert {path for path in jobs.parts() if "torch_xla" in path} == {f"{folder}/mutants/cpu/torch_xla.json"}
    assert {path for path in jobs.parts() if "iree" in path} == {f"{folder}/mutants/cpu/jax-iree-3.13.json"}


def audit(name: str, subject: str, device: str = "cpu") -> list:
    """The wildcards of an audit, as Snakemake has them."""
    names = type("Names", (list,), {})([name, device, subject])
    names.audit, names.device, names.subject = name, device, subject
    return names


def test_a_replay_is_audited_in_the_compiler_s_environment_with_programs_of_the_framework_s():
    jobs, wildcards = AuditJobs(grid()), audit("mutants", "jax-iree-3.13")
    assert jobs.pins(wildcards) == "envs/iree.txt"
    assert jobs.lower_pins(wildcards) == "envs/jax.txt"
    command = jobs.command(wildcards, SimpleNamespace(pins="envs/iree.txt", peak="peak.json")).split()
    assert command[:3] == ["stackwars.study.audits.subjects", "--audit", "mutants"]
    assert command[-2:] == ["--folder", "results/smoke/audits/kept/mutants-cpu-jax-iree-3.13"]
    job = content(command[command.index("--job") + 1])
    assert (job["module"], job["dialect"], job["lower_pins"]) == ("iree", "jax", "envs/jax.txt")
    files = jobs.sources(wildcards)
    names = (
        "study/audits/subjects",
        "core/compilers/iree",
        "measure/stablehlo/lower_jax",
        "measure/workloads/gemm",
    )
    for name in names:
        assert f"src/stackwars/{name}.py" in files
    with pytest.raises(WorkflowError, match="expected one of mutants of a replay, got fences"):
        jobs.pins(audit("fences", "jax-iree-3.13"))


def test_a_pair_has_the_sides_and_the_rounds_of_the_study_and_another_one_is_refused():
    chosen = {"frameworks": [], "replays": [], "workloads": ["gemm"], "trials": {"jax": 2, "torch_xla": 1}}
    jobs, wildcards = AuditJobs(grid(audits=chosen)), audit("mixed", "torch_xla-over-jax-gemm")
    assert jobs.pins(wildcards) == ["envs/torch_xla.txt", "envs/jax.txt"]
    command = jobs.command(wildcards, SimpleNamespace()).split()
    job = PairJob(**content(command[command.index("--job") + 1]))
    assert [side["sizes"] for side in job.sides] == 2 * [cells.sizes(grid().config, "gemm")]
    assert (job.rounds, job.trials) == (cells.rounds(grid().config, "gemm"), 2)
    with pytest.raises(
        WorkflowError, match="expected one of jax-gemm, torch_xla-gemm on cpu, got numpy-gemm; fix"
    ):
        jobs.pins(audit("same", "numpy-gemm"))


def test_the_digest_of_the_audits_follows_their_files():
    Path("run").mkdir()
    assert AuditJobs.digest("run", "other") == "none"
    seen = {AuditJobs.digest("run", "other")}
    for folder, text in (("run", "{}"), ("run", "[]"), ("other", "{}")):
        Path(folder).mkdir(exist_ok=True)
        Path(folder, "audits.json").write_text(text)
        seen.add(AuditJobs.digest("run", "other"))
    assert len(seen) == 4


def claim(identity: str) -> SimpleNamespace:
    return SimpleNamespace(claim=identity)


def test_a_claim_asks_for_its_cells_programs_and_replays_alone():
    jobs = ClaimJobs(grid(), definitions.load())
    names = {Path(path).name for path in jobs.results(claim("gemm_first_pytorch"))}
    assert names == {"cell.json", "output.npy", "peak.json"}
    assert {Path(path).name for path in jobs.results(claim("layernorm_form"))} == {"program_forms.json"}
    own = SimpleNamespace(results="results/smoke/claims/layernorm_form")
    assert {Path(path).parts[4] for path in jobs.programs(own)} == {"gemm"}
    of_the_run = jobs.programs(SimpleNamespace(results="results/smoke"))
    assert {Path(path).parts[4] for path in of_the_run} == {"gemm"}
    assert "replay.json" in {Path(path).name for path in jobs.results(claim("program_is_reason"))}


def test_a_claim_of_the_reference_is_decided_from_its_tables():
    jobs = ClaimJobs(reference(), definitions.load())
    assert jobs.results(claim("gemm_first_pytorch")) == ["results/from-reference/claims.csv"]


def test_a_claim_about_a_study_that_the_run_does_not_measure_says_how_to_measure_it():
    claims = definitions.load()
    other = next(one.id for one in claims.claims if one.query.get("study") == "matrix")
    expected = (
        rf"claim_{other}: expected a run that measures the study matrix, got one of tables; fix: --config 'me"
    )
    with pytest.raises(WorkflowError, match=expected):
        ClaimJobs(Grid(load(), lambda: ""), claims).results(claim(other))


def refused(**changes) -> str:
    names = {"device": "cpu", "framework": "jax", "workload": "gemm"} | changes
    with pytest.raises(WorkflowError) as error:
        Grid(load(), lambda: "").check(SimpleNamespace(**names))
    return str(error.value)


@pytest.mark.parametrize(
    ("what", "got", "expected"),
    [("framework", "jaxx", "jax"), ("workload", "gem", "gemm, ffn"),
     ("target", "tpu-v7", "tpu-v6e"), ("compiler", "jaxlib-1", "jaxlib-0.7.1"),
     ("device", "tpux", "cpu, cpu-1t")],
)  # fmt: skip
def test_what_is_not_configured_is_refused_with_what_was_expected(what, got, expected):
    message = refused(**{what: got})
    assert message.startswith(f"target: {what}: expected one of {expected}") and f"got {got}; fix" in message


def test_device_that_a_framework_has_no_environment_for_is_refused():
    message = refused(framework="torch_xla", device="cuda")
    assert message.startswith("target: device of torch_xla: expected one of cpu, cpu-1t, tpu, got cuda")


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_is_made_from_no_file_of_the_protocol_but_has_its_version(kind):
    made = Grid(load(preset="full", measure=list(load().studies)), lambda: "")
    wildcards = {
        **{"device": "cpu", "framework": "jax", "workload": "ffn", "repetition": "0", "variant": "base"},
        **{"compiler": "jaxlib-0.10.2", "target": "tpu-v6e", "frontend": "jax", "way": "data", "devices": "2"},
    }
    if kind == "growth_process":
        wildcards |= {"workload": "decode", "size": "layers", "value": "4"}
    if kind == "memory":
        wildcards |= {"workload": "resnet50@b64", "place": "tpu-v6e"}
    files = KINDS[kind].sources(made, SimpleNamespace(**wildcards))
    # What is right is decided by the comparison itself.
    compared = {"src/stackwars/core/judge.py"} if kind in ("expected", "check") else set()
    own = r"measure/(workloads|frameworks)/|measure/stablehlo/(lower|sharded)_\w+[.]py|core/compilers/"
    assert all(re.match(f"src/stackwars/({own})", file) for file in {*files} - compared)
    assert KINDS[kind].version != "" and "pins" not in KINDS[kind].ancient
    assert Path(REPOSITORY, given(made, kind, "pins", SimpleNamespace(**wildcards))).is_file()


def test_an_editor_s_files_are_no_text_of_the_paper():
    for name in ("main.tex.j2", ".main.tex.j2.swp", "main.tex.j2~", "#main.tex.j2#", "sub/a.bib", ".cache/x"):
        Path("paper", name).parent.mkdir(parents=True, exist_ok=True)
        Path("paper", name).touch()
    assert paper_files() == ["paper/main.tex.j2", "paper/sub/a.bib"]
