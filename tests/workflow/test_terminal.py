"""What a run says of failures and of Snakemake's own messages."""

import logging
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent

from stackwars.setup import advice
from stackwars.workflow import terminal

QUIET = {Quietness.HOST, Quietness.RULES, Quietness.REASON, Quietness.PROGRESS}


def settings(**changes):
    plain = {"quiet": QUIET, "debug_dag": False, "verbose": False, "dryrun": False}
    return SimpleNamespace(**plain | {"printshellcmds": False} | changes)


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


def test_failed_job_says_what_was_made_its_log_and_the_last_lines(job):
    lines = terminal.failure(job).splitlines()
    assert lines[0] == "Failed: results/x/program.mlir.gz (rule lower)"
    assert lines[1] == f"Log: {job['log'][0]}"
    assert lines[2:14] == [f"    line {number}" for number in range(28, 40)]
    assert shlex.split(lines[-1])[-1] == "python -m x --of 'a b'"


def test_known_failure_says_what_to_do_once(job):
    with Path(job["log"][0]).open("a") as file:
        file.write("OSError: [Errno 28] No space left on device\n" + "\n".join(advice.advise("os error 28")))
    lines = terminal.failure(job).splitlines()
    (what,) = [line for line in lines if line.startswith("What to do: ")]
    assert "disk is full" in what


def test_full_disk_is_told_though_the_log_is_empty(job, monkeypatch):
    Path(job["log"][0]).write_text("")
    assert "disk is full" not in terminal.failure(job)
    monkeypatch.setattr(terminal.shutil, "disk_usage", lambda folder: SimpleNamespace(free=4096))
    assert "What to do: The disk is full" in terminal.failure(job)


def test_job_without_a_log_or_with_an_empty_one_says_so(job, tmp_path):
    (tmp_path / "lower.txt").write_text("")
    assert "which is empty" in terminal.failure(job)
    assert terminal.failure(job | {"log": [], "shellcmd": None}).splitlines() == [
        "Failed: results/x/program.mlir.gz (rule lower)"
    ]


def test_job_that_says_nothing_itself_is_named_when_it_begins(capsys):
    begun = {
        "event": LogEvent.JOB_INFO,
        "rule_name": "tables",
        "output": ["results/a", "results/b"],
    }
    handler = terminal.Terminal(settings())
    assert said(handler, record("x", **begun), capsys=capsys) == "[stackwars] making results/a and 1 more\n"
    speaking = begun | {"rule_name": "process"}
    assert said(handler, record("x", **speaking), capsys=capsys) == ""


def test_failures_are_said_last_and_once(job, capsys):
    handler = terminal.Terminal(settings())
    during = said(handler, record("Error in rule lower", logging.ERROR, **job), capsys=capsys)
    assert during.startswith("[stackwars] failed: results/x/program.mlir.gz")
    assert "line 39" not in during
    handler.close()
    assert "line 39" in capsys.readouterr().err
    handler.close()
    assert capsys.readouterr().err == ""


def test_job_of_a_cluster_is_one_line_and_its_loss_is_told_once(job, capsys, tmp_path):
    handler = terminal.Terminal(settings())
    name = "measured-cpu-gemm"
    begun = {"event": LogEvent.GROUP_INFO, "group_id": name, "jobs": [1, 2, 3]}
    step = {"event": LogEvent.JOB_INFO, "rule_name": "tables", "output": ["a"], "indent": True}
    told = said(handler, record("x", **begun), record("x", **step), capsys=capsys)
    assert told == f"[stackwars] submitting {name}, 3 steps\n"
    log = tmp_path / "slurm.log"
    log.write_text("slurmstepd: error: *** JOB 7 CANCELLED DUE TO TIME LIMIT ***\n")
    ended = {
        **{"event": LogEvent.GROUP_ERROR, "groupid": name, "aux_logs": [str(log)]},
        "job_error_info": [job, job, job],
    }
    steps = [record("x", logging.ERROR, **job, indent=True)] * 3
    told = said(handler, record("x", logging.ERROR, **ended), *steps, capsys=capsys)
    assert told == f"[stackwars] failed: the job {name}; the others go on to their end\n"
    handler.close()
    last = capsys.readouterr().err
    assert last.count("Failed:") == 1
    assert f"Failed: the job {name}, 3 steps\nLog: {log}\n    slurmstepd: error" in last
    assert "The same command again makes what is missing" in last


CHATTER = ("Select jobs to execute...", "Building DAG of jobs...", "Complete log(s): x",
           "Shutting down, this might take some time.", "Singularity containers: ignored")  # fmt: skip


@pytest.mark.parametrize("message", CHATTER)
def test_chatter_is_left_out_and_comes_back_on_request(message, capsys):
    assert said(terminal.Terminal(settings()), record(message), capsys=capsys) == ""
    loud = terminal.Terminal(settings(quiet={Quietness.HOST}))
    assert said(loud, record(message), capsys=capsys) == message + "\n"
    for asked in ("dryrun", "verbose"):
        told = terminal.Terminal(settings(**{asked: True}))
        assert said(told, record(message), capsys=capsys) == message + "\n"


def test_what_a_user_must_know_is_passed_on(capsys):
    handler = terminal.Terminal(settings(quiet=QUIET))
    nothing = "Nothing to be done (all requested files are present and up to date)."
    assert said(handler, record(nothing), capsys=capsys) == nothing + "\n"
    warning = record("damaged: cell.json", logging.WARNING)
    assert said(handler, warning, capsys=capsys) == "[stackwars] damaged: cell.json\n"


def test_refusal_has_none_of_snakemakes_stack():
    message = (
        'WorkflowError in file "/x/workflow/rules/common.smk", line 18:\n'
        "config: presett: expected no such key\n"
        '  File "/x/workflow/rules/common.smk", line 18, in <module>'
    )
    assert terminal.refusal("WorkflowError", message) == "config: presett: expected no such key"


def test_refusal_of_a_function_of_the_workflow_keeps_its_words_alone():
    message = (
        'InputFunctionException in rule cell in file "/x/cells.smk", line 65:\nError:\n'
        "  WorkflowError:\n    target: framework: expected one of jax, got jaxx.\n"
        "Wildcards:\n  framework=jaxx\nTraceback:\n"
        '  File "/x/common.smk", line 58, in process_sources (rule cell, line 131, /x/cells.smk)'
    )
    said = terminal.refusal("InputFunctionException", message)
    assert said == "target: framework: expected one of jax, got jaxx."


def test_target_that_nothing_makes_is_named_with_what_could_be_meant():
    message = "No rule to produce results/x (if you use input functions make sure that they don't ...)"
    said = terminal.refusal("MissingRuleException", f"MissingRuleException:\n{message}")
    assert said.startswith("target: nothing makes results/x: expected paper.pdf")


def test_end_of_a_failed_run_repeats_nothing():
    assert terminal.refusal("RuleException", "CalledProcessError in file ...") == ""
    last = "WorkflowError:\nAt least one job did not complete successfully."
    assert terminal.refusal("WorkflowError", last) == ""
