"""What a configuration asks for, as the rules' functions answer it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.exceptions import WorkflowError

from measured import config
from stackwars.claims import definitions
from stackwars.setup.environments import REPOSITORY
from stackwars.study import printed
from stackwars.study.cells import Cell
from stackwars.study.comparisons import with_programs
from stackwars.study.config import load
from stackwars.study.programs import Program
from stackwars.workflow.audit_jobs import AuditJobs
from stackwars.workflow.cell_jobs import CellJobs
from stackwars.workflow.claim_jobs import ClaimJobs
from stackwars.workflow.compiler_jobs import CompilerJobs
from stackwars.workflow.grid import Grid

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
    return grid(results="reference", preset="full")


def content(path: str) -> dict:
    return json.loads(Path(path).read_text())


def test_a_measuring_run_reads_and_writes_one_folder_and_a_reference_paper_two():
    made = grid()
    assert {made.root, made.measured, made.out} == {"results/smoke"}
    made = grid(results="reference", preset="full")
    assert (made.root, made.measured, made.out) == (
        *("results/full", "results/reference", "results/from-reference"),
    )


def test_found_cells_are_those_of_present_devices():
    made = grid()
    found = {(cell.device, cell.framework) for cell in made.found()}
    assert found == {("cpu", "jax"), ("cpu", "torch_xla"), ("tpu", "jax")}
    assert {cell.device for cell in made.on_cpu} == {"cpu"}
    assert made.peaks(made.found()) == [f"results/smoke/{d}/peak.json" for d in ("cpu", "tpu")]
    assert "results/smoke/tpu/jax/ffn/cell.json" in made.found_files("cell.json")(None)


def test_a_run_without_cells_is_dated_by_what_it_runs_and_compiles():
    assert grid(preset="full").dated() == []
    sharding = grid(preset="full", whole=["sharding"])
    assert {Path(path).parts[2] for path in sharding.dated()} == {"sharded", "ahead"}
    assert set(sharding.sharded()) <= set(sharding.dated())


def test_no_device_is_asked_where_only_the_cpu_is_wanted():
    def asked() -> str:
        raise AssertionError("the checkpoint was asked")

    made = Grid(config(devices=["cpu"]), asked)
    assert made.found() == made.on_cpu != []


def test_a_paper_of_the_reference_run_asks_for_what_it_has():
    made = reference("cpu/jax/gemm/cell.json", "programs/jax/gemm/base/program.mlir.gz")
    assert made.asked == made.found() == [Cell("jax", "gemm", "cpu")]
    assert made.base_programs() == [Program("jax", "gemm")]
    assert made.compiled("ahead.json") == made.replays() == made.base_compilations() == []
    measuring = grid(preset="full")
    assert measuring.compiled("ahead.json") and measuring.replays()
    assert set(measuring.base_compilations()) < set(measuring.compiled("ahead.json"))


def test_a_run_is_made_beside_the_reference_and_the_reference_from_its_runs():
    made = reference("runs/one/ratios.csv", "runs/two/ratios.csv", "ratios.csv", "cpu/x/cell.json")
    runs = [f"results/reference/runs/{name}/ratios.csv" for name in ("one", "two")]
    assert made.reference() == runs
    assert grid(preset="full").reference() == [*runs, "results/reference/ratios.csv"]


def test_programs_are_listed_where_every_framework_has_a_cell_and_drawn_where_compiled():
    listings = config()["paper"]["listings"]
    graphs = config()["paper"]["graphs"]
    chosen = {"workloads": ["gemm", *dict.fromkeys([*graphs, *listings])], "preset": "full"}
    made = grid(**chosen)
    # The others are of a study that a run has the core of alone.
    measured = {cell.workload for cell in made.asked}
    assert list(made.listed()) == [name for name in listings if name in measured]
    assert len(made.listed()) > 2
    assert [c.framework for c in made.listed()[listings[0]]] == with_programs(config())
    assert {p.workload for p in made.drawn()} == set(graphs)
    cells_alone = [row | {"of": ["cells"]} for row in config()["comparisons"]]
    assert printed.listed(config(comparisons=cells_alone, **chosen)) == {}
    one = {name: row for name, row in config()["frameworks"].items() if name == "jax"}
    assert printed.listed(config(**chosen, frameworks=one)) == {}


def test_what_the_native_compiler_makes_is_kept_of_the_listed_programs_alone():
    made = grid(preset="full", workloads=["gemm", "mha"])
    assert made.optimised() == [
        f"results/full/cpu/{framework}/mha/optimised_cpu.hlo.gz"
        for framework in ("jax", "torch_xla")
    ]
    job = content(CompilerJobs(made).optimise(GEMM))
    assert (job["compiler"], job["module"], job["options"]) == ("jaxlib-0.7.1", "xla", {})
    assert CompilerJobs(made).native_pins(GEMM) == "envs/xla-0.7.1.txt"
    compilers = {name: {**row, "native": False} for name, row in config()["compilers"].items()}
    assert grid(preset="full", workloads=["mha"], compilers=compilers).optimised() == []
    # The programs of the two are of an accepted run where this one has none, and what was made of them too.
    cells = [f"runs/one/cpu/{framework}/newton" for framework in ("jax", "torch_xla")]
    of_the_reference = reference(
        *(f"{cell}/{name}" for cell in cells for name in (printed.PROGRAM, printed.OPTIMISED)),
        *(f"cpu/{framework}/mha/{printed.PROGRAM}" for framework in ("jax", "torch_xla")),
    )
    assert of_the_reference.optimised() == [
        f"results/reference/{c}/{printed.OPTIMISED}" for c in cells
    ]


def test_forms_are_kept_of_the_workloads_that_are_named_and_listed_where_both_compilers_ran():
    paper = config()["paper"] | {"forms": ["layernorm", "conv"]}
    every = load()["frameworks"]
    made = grid(
        preset="full", paper=paper, workloads=["conv", "layernorm", "ffn"], frameworks=every
    )
    told = {
        name: content(
            CellJobs(made).job(SimpleNamespace(framework="jax", workload=name, device="cpu"))
        )
        for name in ("conv", "layernorm", "ffn")
    }
    assert {name: job["forms"] for name, job in told.items()} == {
        "conv": True, "layernorm": True, "ffn": False,
    }  # fmt: skip
    # TorchInductor has no cell of conv in the core of the study.
    assert made.forms() == [
        f"results/full/cpu/{framework}/layernorm/forms" for framework in ("jax", "torch_inductor")
    ]


def test_unknown_names_are_refused():
    with pytest.raises(WorkflowError, match="target: workload: expected one of gemm, ffn; came x"):
        CellJobs(grid()).sources(SimpleNamespace(framework="jax", workload="x", device="cpu"))


def test_a_process_is_made_from_its_own_files_and_its_partner_s():
    jobs = CellJobs(grid())
    files = jobs.sources(GEMM)
    for name in ("gemm", "in_torch", "in_jax"):
        assert f"src/stackwars/workloads/{name}.py" in files
    assert (jobs.pins(GEMM), jobs.partner_pins(GEMM)) == ("envs/torch_xla.txt", "envs/jax.txt")
    jax = SimpleNamespace(framework="jax", workload="gemm", device="cpu")
    assert jobs.partner_pins(jax) == []
    assert "src/stackwars/workloads/in_torch.py" not in jobs.sources(jax)


def test_a_process_is_told_what_it_measures():
    jobs = CellJobs(grid())
    job = content(jobs.job(SimpleNamespace(**vars(GEMM), repetition="2")))
    assert (job["repetition"], job["dialect"]) == (2, "torch")
    assert job["partner"] == {"framework": "jax", "dialect": "jax"}
    assert job["settings"]["block_calls"] == 16
    assert "audit_rounds" not in job["settings"]
    assert content(jobs.job(GEMM))["repetition"] == 0, "a cell has no repetition"


def test_a_change_of_one_setting_is_another_file():
    settings = config()["settings"]
    names = {
        CellJobs(grid(settings={**settings, **changed})).job(GEMM)
        for changed in ({}, {"seed": 7}, {"audit_rounds": 7})
    }
    assert len(names) == 2, "audits are no part of a process"


def test_a_compilation_takes_the_code_s_size_from_a_finished_one():
    jobs = CompilerJobs(grid(preset="full"))
    first, other = config()["ahead"][:2]
    wildcards = {"framework": "jax", "workload": "gemm", "variant": "base"}
    finished = SimpleNamespace(target=first["target"], compiler=first["compiler"], **wildcards)
    assert jobs.code_source(finished) == []
    stopped = SimpleNamespace(target=other["target"], compiler=other["compiler"], **wildcards)
    place = f"{first['target']}/{first['compiler']}/jax/gemm/base"
    assert jobs.code_source(stopped) == f"results/full/ahead/{place}/ahead.json"
    assert content(jobs.ahead(stopped))["target"] == other["target"]


def test_an_edited_program_takes_the_code_s_size_from_the_one_before_the_edit():
    first = config()["ahead"][0]
    place = {"target": first["target"], "compiler": first["compiler"], "variant": "base"}
    edited = SimpleNamespace(framework="jax+default_precision", workload="gemm", **place)
    jobs = CompilerJobs(grid(preset="full"))
    place = f"{first['target']}/{first['compiler']}/jax/gemm/base"
    assert jobs.code_source(edited) == f"results/full/ahead/{place}/ahead.json"
    assert content(jobs.ahead(edited))["framework"] == "jax+default_precision"


def test_only_a_gpu_is_described():
    jobs = CompilerJobs(grid())
    (described,) = jobs.description(SimpleNamespace(target="h100"))
    assert (REPOSITORY / described).is_file()
    assert jobs.description(SimpleNamespace(target="tpu-v6e")) == []


def test_a_replay_reads_every_program_and_is_checked_against_their_cells():
    jobs = CompilerJobs(grid())
    replay = SimpleNamespace(
        device="cpu", compiler=next(iter(config()["compilers"])), workload="gemm"
    )
    assert len(jobs.replayed(replay)) == 2 * len(with_programs(config()))
    assert jobs.replayed_folders(replay)[0] == "--cell jax=results/smoke/cpu/jax/gemm"
    assert "results/smoke/cpu/torch_xla/gemm/output.npy" in jobs.replayed_cells(replay)
    job = content(jobs.replay(SimpleNamespace(**vars(replay), repetition="1")))
    assert (job["repetition"], set(job["programs"])) == (1, set(with_programs(config())))


def test_audits_are_of_what_is_here_and_power_on_the_quiet_device_alone():
    parts = AuditJobs(grid()).parts()
    folder = "results/smoke/audits"
    assert f"{folder}/fences/tpu/jax.json" in parts
    assert not [path for path in parts if "tpu/torch_xla" in path]
    assert [path for path in parts if "/power/" in path] == [f"{folder}/power/cpu/jax.json"]
    assert [path for path in parts if "/aa_interleaved/" in path] == [
        f"{folder}/aa_interleaved/cpu/torch_xla.json"
    ]


def test_what_the_configuration_adds_is_broken_and_slowed_down_too():
    added = {
        "frameworks": ["torch_xla"],
        "replays": [{"framework": "jax", "compiler": "iree-3.13"}],
    }
    frameworks = copy.deepcopy(config()["frameworks"])
    frameworks["torch_xla"]["workloads"] = ["gemm"]  # else it is audited anyhow
    jobs = AuditJobs(grid(frameworks=frameworks, audits=added))
    folder = "results/smoke/audits"
    torch = {path for path in jobs.parts() if "torch_xla" in path}
    assert torch == {f"{folder}/{name}/cpu/torch_xla.json" for name in ("mutants", "power")}
    iree = {path for path in jobs.parts() if "iree" in path}
    assert iree == {f"{folder}/{name}/cpu/jax-iree-3.13.json" for name in ("mutants", "power")}


def test_a_replay_is_audited_in_the_compiler_s_environment_with_programs_of_the_framework_s():
    jobs = AuditJobs(grid())
    wildcards = SimpleNamespace(device="cpu", framework="jax", compiler="iree-3.13")
    assert jobs.replay_pins(wildcards) == "envs/iree.txt"
    job = content(jobs.replay_job(wildcards))
    assert (job["module"], job["dialect"], job["lower_pins"]) == ("iree", "jax", "envs/jax.txt")
    files = jobs.replay_sources("stackwars.audits.replay_mutants", "stackwars.workloads.gemm")(
        wildcards
    )
    for name in (
        "compilers/iree",
        "compilers/lower_jax",
        "compilers/replay",
        "workloads/gemm",
    ):
        assert f"src/stackwars/{name}.py" in files


def test_a_framework_with_some_workloads_only_is_not_audited():
    frameworks = copy.deepcopy(config()["frameworks"])
    frameworks["torch_xla"]["workloads"] = ["gemm"]
    assert not [p for p in AuditJobs(grid(frameworks=frameworks)).parts() if "torch_xla" in p]


def test_a_framework_without_programs_and_some_workloads_stops_nothing():
    other = "numpy"
    whole = load()
    made = Grid({**whole, "preset": "smoke", "devices": ["cpu"]}, lambda: "")
    cell = SimpleNamespace(framework=other, workload="ffn", device="cpu")
    assert Cell(other, "ffn", "cpu") in made.found()
    assert "src/stackwars/workloads/ffn.py" in CellJobs(made).sources(cell)
    assert content(CellJobs(made).job(cell))["partner"]["framework"] == "jax"
    asked = [*made.compiled("ahead.json"), *made.replays(), *AuditJobs(made).parts()]
    asked += [file for cells in made.listed().values() for file in made.files(cells, "x")]
    assert asked and not [path for path in asked if other in path]


def test_the_digest_of_the_audits_follows_their_file():
    assert AuditJobs(reference()).digest() == "none"
    made = AuditJobs(reference("audits.json"))
    before = made.digest()
    Path("results/reference/audits.json").write_text("{}")
    assert before != made.digest() != "none"


def test_a_claim_asks_for_its_cells_programs_and_replays_alone():
    jobs = ClaimJobs(grid(), definitions.load())
    first = SimpleNamespace(claim="gemm_first_pytorch")
    assert {Path(path).parts[-2] for path in jobs.cells(first)} == {"gemm", "cpu"}
    assert jobs.others(first) == jobs.form(first) == []
    same = SimpleNamespace(claim="gemm_same_program")
    assert jobs.cells(same) == []
    assert [Path(path).name for path in jobs.form(same)] == ["ir_metrics.csv", "structure.csv"]
    split = SimpleNamespace(claim="program_is_reason")
    assert {Path(path).name for path in jobs.others(split)} == {"replay.json"}
    tpu = SimpleNamespace(claim="tpu_gemm_first")
    assert any("/tpu/jax/" in path for path in jobs.cells(tpu))
