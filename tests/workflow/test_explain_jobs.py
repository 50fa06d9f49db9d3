"""The plan of what is explained: sizes, the command that repeats it, and questions as jobs."""

import json
from types import SimpleNamespace

import pytest
from snakemake.exceptions import WorkflowError

from stackwars.explain.plan import Plan
from stackwars.explain.question import Question
from stackwars.study.config import ConfigError, load, validate
from stackwars.workflow import explain_jobs
from stackwars.workflow.explain_jobs import ExplainJobs

PROGRAM = '"""Twice."""\ndef inputs(rows=8):\n    return {"x": (rows, 4)}\ndef jax(x):\n    return 2 * x\n'


def jobs(table: str = "", **given) -> ExplainJobs:
    """Return the jobs of a run with these keys of the configuration; those of `explain` are merged."""
    config = load()
    config["explain"] = {**config["explain"], **given.pop("explain", {})}
    config |= given
    options = explain_jobs.take(config)
    assert not {"explain", *explain_jobs.GIVEN} & set(config), "no other step depends on what is explained"
    return ExplainJobs(config, options, lambda name: table)


def test_a_workload_has_the_preset_s_sizes_and_a_file_its_own(tmp_path):
    assert jobs().plan("mha").sizes == {"batch": 2, "sequence": 64, "features": 768, "heads": 12}
    made = jobs(preset="smoke")
    plan = made.plan("gemm")
    assert plan.sizes == {"m": 16, "k": 32, "n": 64}
    assert (list(plan.frontends), list(plan.natives)) == (["jax", "torch_xla"], ["torch_eager", "numpy"])
    assert made.sources(SimpleNamespace(name="gemm")) == ["src/stackwars/workloads/gemm.py"]
    (tmp_path / "twice.py").write_text(PROGRAM)
    plan = jobs(program=str(tmp_path / "twice.py")).plan("twice")
    assert (plan.sizes, plan.title, list(plan.frontends)) == ({"rows": 8}, "Twice", ["jax"])
    assert plan.not_tried["frontends without a function"] == ["torch_xla", "torch_eager", "numpy"]


def test_a_stablehlo_file_is_found_by_the_page_s_name(tmp_path, monkeypatch):
    made = jobs()
    (tmp_path / "slow.mlir").touch()
    monkeypatch.chdir(tmp_path)
    assert made.plan("slow").files == {"slow": "slow.mlir"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "expected one of the files none.py, none.mlir, none.mlir.gz in this folder"),
        ({"program": "no.py"}, "expected a file, got none; fix: the path"),
        ({"program_a": "no.mlir"}, "no.mlir: expected a StableHLO file, got none; fix: the path"),
        ({"program": "gemm", "explain": {"compilers": ["gcc"]}}, "explain.compilers: expected some"),
        ({"program": "gemm", "explain": {"frontends": ["mxnet"]}}, "explain.frontends: expected"),
    ],
)
def test_what_cannot_be_explained_is_refused(given, expected):
    with pytest.raises(WorkflowError, match=expected):
        jobs(**given).plan("none")


def test_a_command_without_a_program_and_an_unknown_key_are_refused():
    with pytest.raises(WorkflowError, match="expected program=<file or workload>, or program_a="):
        jobs().pages(None)
    with pytest.raises(ConfigError, match=r"explain\.speed"):
        validate({**load(), "explain": {"speed": 1}})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"program": "gemm"}, "make explain PROGRAM=gemm"),
        (
            {"program": "gemm", "explain": {"compilers": ["iree-3.13"]}},
            "make explain PROGRAM=gemm COMPILERS=iree-3.13",
        ),
        ({"program": "gemm", "explain": {"settings": {"bound": 0.2}}}, "make explain PROGRAM=gemm BOUND=0.2"),
        ({"program_a": "pyproject.toml", "inputs": "x.npz"}, "make explain A=pyproject.toml INPUTS=x.npz"),
    ],
)
def test_the_command_repeats_what_was_chosen(given, expected):
    assert jobs(**given).plan("x").command == expected


def test_the_plan_is_a_job_that_the_table_and_the_page_read():
    plan = jobs(program="gemm").plan("gemm")
    assert Plan.load(json.loads(json.dumps(plan.plan_job()))) == plan


def test_questions_of_the_table_are_jobs_that_the_searches_read(tmp_path):
    gap = {"kind": "cause", "id": "iree-3.13.jax.jaxlib-0.7.1", "compiler": "iree-3.13", "a": "jax", "b": None,
           "other": "jaxlib-0.7.1", "gap": 2.0}  # fmt: skip
    fault = {"kind": "fault", "id": "iree-3.13.jax", "compiler": "iree-3.13", "program": "jax", "status": "hang",
             "detail": "no end"}  # fmt: skip
    table = tmp_path / "table.json"
    table.write_text(json.dumps({"questions": [gap, fault]}))
    made = jobs(str(table), program="gemm")
    wildcards = SimpleNamespace(name="gemm")
    folder = "explain/gemm"
    assert made.answers(wildcards) == [
        f"{folder}/causes/{gap['id']}/cause.json", f"{folder}/faults/{fault['id']}/fault.json",
    ]  # fmt: skip
    questions = []
    for row in (gap, fault):
        path = tmp_path / f"{row['kind']}.json"
        path.write_text(json.dumps(made.plan("gemm").question(row)))
        questions.append(Question.read(path))
    first, second = questions
    assert (first.a.label, first.b, first.other.name, first.other.module) == (
        "jax",
        None,
        "jaxlib-0.7.1",
        "xla",
    )
    assert (first.compiler.module, first.compiler.pins) == ("iree", "envs/iree.txt")
    assert (first.suspect, second.suspect) == ("", "hang")
    lower = second.settings["lower"]
    assert (
        lower["job"]["framework"] == "jax" and lower["pins"] == "envs/jax.txt" and "lower" not in first.settings
    )
