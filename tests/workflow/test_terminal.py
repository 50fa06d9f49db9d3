"""What a run says of failures and of Snakemake's own messages."""

import logging
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from stackwars.setup import advice
from stackwars.study import budget
from stackwars.study.config import load
from stackwars.study.programs import ReplayCell
from stackwars.study.workflow import terminal

CONFIG = load()


class Job(SimpleNamespace):
    """A job of Snakemake's plan."""

    @staticmethod
    def of(number: int, rule: str) -> "Job":
        return Job(
            jobid=number,
            rule=SimpleNamespace(name=rule),
            is_norun=rule == "all",
            threads=1,
            wildcards=SimpleNamespace(),
            output=[f"results/full/cpu/jax/{rule}-{number}/cell.json"],
        )


class Plan(list):
    """Snakemake's plan of jobs."""

    def needrun_jobs(self):
        return self


def workflow(*jobs: Job, touch: bool = False, cores: int = 1) -> SimpleNamespace:
    return SimpleNamespace(dag=Plan(jobs), touch=touch, cores=cores, globals={"config": CONFIG})


def costing(monkeypatch, **seconds: float) -> None:
    """Give these costs to the jobs of rules."""
    cost = lambda rule, output, wildcards: seconds.get(rule, budget.SHORT_S)  # noqa: E731
    monkeypatch.setattr(budget, "estimator", lambda config: cost)


def record(message, level=logging.INFO, **extra):
    made = logging.LogRecord("snakemake", level, "file", 1, message, (), None)
    vars(made).update(extra)
    return made


@pytest.fixture
def job(tmp_path):
    """Snakemake's message about a failed job that wrote 40 lines."""
    log = tmp_path / "lower.txt"
    log.write_text("".join(f"line {number}\n" for number in range(40)))
    return {
        "event": LogEvent.JOB_ERROR, "rule_name": "lower", "output": ["results/x/program.mlir.gz"],
        "log": [str(log)], "shellcmd": "python -m x --of 'a b'",
    }  # fmt: skip


def said(handler, *records, capsys):
    for one in records:
        handler.emit(one)
    return capsys.readouterr().err


def test_known_failure_says_what_to_do_once(job):
    with Path(job["log"][0]).open("a") as file:
        file.write("OSError: [Errno 28] No space left on device\n" + "\n".join(advice.advise("os error 28")))
    lines = terminal.failure(job).splitlines()
    (what,) = [line for line in lines if line.startswith("What to do: ")]
    assert "disk is full" in what


def test_full_disk_is_told_though_the_log_is_empty_or_missing(job, monkeypatch):
    Path(job["log"][0]).write_text("")
    assert "which is empty" in terminal.failure(job) and "disk is full" not in terminal.failure(job)
    (line,) = terminal.failure(job | {"log": [], "shellcmd": None}).splitlines()
    assert line == "Failed: results/x/program.mlir.gz (rule lower)"
    monkeypatch.setattr(terminal.shutil, "disk_usage", lambda folder: SimpleNamespace(free=4096))
    assert "What to do: The disk is full" in terminal.failure(job)


def begun(number: int, rule: str, log: str = "none.txt", **wildcards: str) -> logging.LogRecord:
    names = {"jobid": number, "rule_name": rule, "wildcards": wildcards, "log": [log], "output": ["x"]}
    command = None if rule == "all" else "python -m x"
    return record("x", event=LogEvent.JOB_INFO, threads=1, shellcmd=command, **names)


def finished(number: int) -> logging.LogRecord:
    return record("x", event=LogEvent.JOB_FINISHED, job_id=number)


def test_every_job_is_a_line_of_at_most_80_columns_with_its_place_and_the_minutes_left(capsys, monkeypatch):
    jobs = [Job.of(1, "lower"), *(Job.of(number, "tables") for number in (2, 3, 4)), Job.of(5, "all")]
    handler = terminal.Terminal(workflow(*jobs))
    costing(monkeypatch, tables=50.0)
    clock = iter((0.0, 40.0, 100.0, 140.0, 150.0, 200.0, 210.0, 220.0))
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(clock))
    line = said(handler, begun(1, "lower", framework="jax", workload="w" * 80), capsys=capsys)
    assert line.startswith("[1/4] lower jax www") and len(line.rstrip("\n")) == 80
    # A job takes the mean of its rule, in which those that have not ended count by their cost.
    assert said(handler, finished(1), begun(2, "tables"), capsys=capsys) == "[2/4, 2.5 min left] tables\n"
    assert said(handler, finished(2), begun(3, "tables"), capsys=capsys) == "[3/4, 1.6 min left] tables\n"
    # No estimate of a rest below a minute, and no line for a target.
    assert said(handler, finished(3), begun(4, "tables"), capsys=capsys) == "[4/4] tables\n"
    assert said(handler, finished(4), begun(5, "all"), finished(5), capsys=capsys) == ""


def test_the_first_estimate_of_a_full_run_is_by_its_costs():
    """By the mean of the first jobs, a run of 151 jobs and 40 minutes had "5 min left"."""
    jobs = [Job.of(number, "lower") for number in range(8)]
    for one in budget.work(CONFIG):
        rule = "replay" if isinstance(one, ReplayCell) else "cell"
        jobs.append(Job.of(len(jobs), rule))
        jobs[-1].output = [f"results/full/{one.path}/{rule}.json"]
    progress = terminal.Progress(workflow(*jobs))
    total = sum(budget.cost_of(one).seconds(rounds) for one, rounds in budget.work(CONFIG).items())
    assert progress.seconds_left() == pytest.approx(total, rel=0.1)
    for job in range(8):
        progress.begin(job, "lower", 1)
        progress.end(job)
    assert progress.seconds_left() == pytest.approx(total, rel=0.1), "eight short jobs tell little"


def test_result_of_a_job_is_the_last_line_of_its_log(capsys, tmp_path):
    log = tmp_path / "cell.txt"
    log.write_text("a warning\n[stackwars]     jax gemm cpu process 1: ok: first 1 ms" + ", more" * 10 + "\n")
    handler = terminal.Terminal(workflow(Job.of(1, "cell"), Job.of(2, "tables")))
    said(handler, begun(1, "cell", str(log)), begun(2, "tables"), capsys=capsys)
    lines = said(handler, finished(1), capsys=capsys).splitlines()
    assert lines[0].startswith("    jax gemm cpu process 1: ok: first 1 ms, more")
    assert len(lines) == 2 and max(map(len, lines)) <= 80
    assert said(handler, finished(2), capsys=capsys) == ""


def test_failures_are_said_last_and_once(job, capsys):
    handler = terminal.Terminal(workflow())
    during = said(handler, record("Error in rule lower", logging.ERROR, **job), capsys=capsys)
    assert during == "failed: results/x/program.mlir.gz; what runs beside it continues\n"
    handler.close()
    assert "line 39" in capsys.readouterr().err
    handler.close()
    assert capsys.readouterr().err == ""


def test_interrupt_is_no_failure_and_says_how_to_go_on(job, capsys):
    handler = terminal.Terminal(workflow())
    interrupt = record("Terminating processes on user request, this might take some time.")
    assert said(handler, interrupt, record("x", logging.ERROR, **job), capsys=capsys) == ""
    handler.close()
    assert capsys.readouterr().err == ("\nstopped; what was measured is kept; run the same command again\n")


def test_job_of_a_cluster_is_one_line_and_its_loss_is_told_once(job, capsys, tmp_path):
    handler = terminal.Terminal(workflow(*(Job.of(number, "tables") for number in range(3))))
    name = "compiled-gemm"
    group = {"event": LogEvent.GROUP_INFO, "group_id": name, "jobs": [1, 2, 3]}
    step = begun(1, "tables")
    step.indent = True
    assert said(handler, record("x", **group), step, capsys=capsys) == f"submitting {name}, 3 steps\n"
    log = tmp_path / "slurm.log"
    log.write_text("slurmstepd: error: *** JOB 7 CANCELLED DUE TO TIME LIMIT ***\n")
    ended = {
        **{"event": LogEvent.GROUP_ERROR, "groupid": name, "aux_logs": [str(log)]},
        "job_error_info": [job, job, job],
    }
    steps = [record("x", logging.ERROR, **job, indent=True)] * 3
    told = said(handler, record("x", logging.ERROR, **ended), *steps, capsys=capsys)
    assert told == f"failed: the job {name}; what runs beside it continues\n"
    handler.close()
    last = capsys.readouterr().err
    assert last.count("Failed:") == 1
    assert f"Failed: the job {name}, 3 steps\nLog: {log}\n    slurmstepd: error" in last
    assert "The same command again makes what is missing" in last


def test_what_a_user_must_know_is_passed_on(capsys):
    handler = terminal.Terminal(workflow())
    nothing = "Nothing to be done (all requested files are present and up to date)."
    assert said(handler, record(nothing), capsys=capsys) == nothing + "\n"
    warning = record("damaged: cell.json", logging.WARNING)
    assert said(handler, warning, capsys=capsys) == "damaged: cell.json\n"


IN_A_FILE = (
    'WorkflowError in file "/x/workflow/rules/common.smk", line 18:\nconfig: presett: expected no such key\n'
    '  File "/x/workflow/rules/common.smk", line 18, in <module>'
)
IN_A_FUNCTION = (
    'InputFunctionException in rule cell in file "/x/jobs.smk", line 65:\nError:\n'
    "  WorkflowError:\n    target: framework: expected one of jax, got jaxx.\n"
    "Wildcards:\n  framework=jaxx\nTraceback:\n"
    '  File "/x/common.smk", line 58, in process_sources (rule cell, line 131, /x/jobs.smk)'
)


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("WorkflowError", IN_A_FILE, "config: presett: expected no such key"),
        ("InputFunctionException", IN_A_FUNCTION, "target: framework: expected one of jax, got jaxx."),
        ("RuleException", "CalledProcessError in file ...", ""),
        ("WorkflowError", "WorkflowError:\nAt least one job did not complete successfully.", ""),
    ],
)
def test_refusal_keeps_its_words_without_snakemakes_stack_and_repeats_nothing(kind, message, said):
    assert terminal.refusal(kind, message) == said


def test_target_that_nothing_makes_is_named_with_what_could_be_meant():
    message = "No rule to produce results/x (if you use input functions make sure that they don't ...)"
    said = terminal.refusal("MissingRuleException", f"MissingRuleException:\n{message}")
    assert said.startswith("target: expected paper.pdf") and "got results/x, which nothing makes" in said
