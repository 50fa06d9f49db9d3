"""The output of a run: a line for each job, with k of n and the time left, and at its end what failed and what to do.

A handler next to Snakemake's, which the default profile keeps quiet (`quiet: all`). With another --quiet, in
a dry run and with --verbose Snakemake speaks, and this one does not.
"""

from __future__ import annotations

import logging
import re
import shlex
import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from snakemake.logging import logger
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent

from stackwars.core import numbers
from stackwars.core.lines import WIDTH, fold
from stackwars.setup import advice
from stackwars.study import budget

LINES = 12
"""Lines of a failed job's log that are shown."""
FULL = "No space left on device"
"""Message in the log of a job that failed because the disk is full."""
LEAST_LEFT = 60.0
"""Seconds; below it no time left is shown, because the mean of other steps does not predict one short step."""
LABEL = "[stackwars]"
"""Begins a line that a job says of its result, in its log."""
ENVIRONMENT = "[environment]"
"""Begins a line about an environment that a job builds."""
STOPPED = "stopped; what was measured is kept; run the same command again"
_PASSED_ON = ("Nothing to be done", "Cancelling", "Will exit after", "Unlocking", "Congratulations")
"""Beginnings of Snakemake's messages that are passed on."""
_INTERRUPTED = ("Terminating processes on user request", "Cancelling snakemake on user request")


def attach(workflow: Any) -> None:
    """Add the handler to Snakemake's logger, in the process that runs the workflow, if Snakemake is quiet."""
    settings = workflow.output_settings
    quiet = Quietness.ALL in (settings.quiet or ()) and not settings.dryrun and not settings.verbose
    if quiet and workflow.is_main_process:
        logger.addHandler(Terminal(workflow))


class Terminal(logging.Handler):
    def __init__(self, workflow: Any) -> None:
        super().__init__()
        self._workflow = workflow
        self._failed: list[str] = []
        self._interrupted = False
        self._progress: Progress | None = None
        self._logs: dict[int, list[str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        text = self._text(record)
        if text:
            print(text, file=sys.stderr, flush=True)

    def _text(self, record: logging.LogRecord) -> str:
        event = getattr(record, "event", None)
        in_group = getattr(record, "indent", False)
        message = record.getMessage()
        if message.startswith(_INTERRUPTED):
            self._interrupted = True
            return ""
        match event:
            case LogEvent.JOB_INFO:
                return "" if self._workflow.touch else self._begun(record, in_group)
            case LogEvent.JOB_FINISHED:
                return "" if self._workflow.touch else self._ended(record.job_id)
            case LogEvent.GROUP_INFO:
                return f"submitting {record.group_id}, {len(record.jobs)} steps"
            case LogEvent.JOB_ERROR:
                return "" if in_group else self._failure(failure(vars(record)), _outputs(vars(record)))
            case LogEvent.GROUP_ERROR:
                return self._failure(lost(vars(record)), f"the job {record.groupid}")
            case LogEvent.ERROR:
                return fold(refusal(record.exception, message))
        if record.levelno >= logging.WARNING and "Exiting because a job" not in message:
            return fold(message)
        return message if message.startswith(_PASSED_ON) else ""

    def _begun(self, record: logging.LogRecord, in_group: bool) -> str:
        if self._progress is None:
            self._progress = Progress(self._workflow)
        if not record.shellcmd:
            return ""  # a target, which makes nothing itself
        self._logs[record.jobid] = list(map(str, record.log))
        self._progress.begin(record.jobid, record.rule_name, record.threads)
        if in_group:
            return ""
        name = " ".join([record.rule_name, *map(str, record.wildcards.values())])
        return f"{self._progress.count()} {name}"[:WIDTH]

    def _ended(self, job: int) -> str:
        if self._progress is None:
            return ""
        self._progress.end(job)
        lines = [line for path in self._logs.pop(job, ()) for line in _results(Path(path))]
        return "\n".join(fold(f"    {line}", indent="      ") for line in lines)

    def _failure(self, message: str, job: str) -> str:
        self._failed.append(message)
        return "" if self._interrupted else f"failed: {job}; what runs beside it continues"

    def close(self) -> None:
        """Print what failed, as the last lines of a run; or that it was stopped."""
        if self._interrupted:
            print(f"\n{STOPPED}", file=sys.stderr, flush=True)
        elif self._failed:
            print("\n".join(["", *self._failed]), file=sys.stderr, flush=True)
        self._failed.clear()
        self._interrupted = False
        super().close()


class Progress:
    """Count the jobs of a run that have begun, and estimate the time of the others.

    A job is expected to take the mean of its rule, in which jobs that have not ended count by what they cost. Seconds
    are those by which a job makes the run longer: its time, times its share of the cores.
    """

    def __init__(self, workflow: Any) -> None:
        self._dag, self._cores = workflow.dag, workflow.cores
        planned = list(workflow.dag.needrun_jobs())
        self._targets = sum(job.is_norun for job in planned)
        estimate = budget.estimator(workflow.globals["config"])
        self._jobs: dict[int, tuple[str, int]] = {}
        self._costs: dict[int, float] = {}
        for job in planned:
            if not job.is_norun:
                self._jobs[job.jobid] = job.rule.name, job.threads
                self._costs[job.jobid] = estimate(job.rule.name, Path(*job.output[:1]), job.wildcards)
        self._begun: dict[int, float] = {}
        self._took: dict[int, float] = {}

    def begin(self, job: int, rule: str, threads: int) -> None:
        self._jobs[job] = rule, threads
        self._begun[job] = time.monotonic()

    def end(self, job: int) -> None:
        if job in self._begun:
            self._took[job] = (time.monotonic() - self._begun[job]) * self._jobs[job][1] / self._cores

    def count(self) -> str:
        """Return which job of how many is the last that began, and the time left if that is minutes."""
        number, total = len(self._begun), max(len(self._begun), len(self._dag) - self._targets)
        left = self.seconds_left() if self._took else 0.0
        return f"[{number}/{total}{f', {numbers.duration(left)} left' if left >= LEAST_LEFT else ''}]"

    def seconds_left(self) -> float:
        """Return the seconds of the jobs that have not ended; jobs that fit on the cores together run side by side."""
        by_rule: dict[str, list[float]] = {}
        for job, (rule, _) in self._jobs.items():
            seconds = self._took.get(job, self._costs.get(job, budget.SHORT_S))
            by_rule.setdefault(rule, []).append(seconds)
        left = [
            (statistics.fmean(by_rule[rule]), threads)
            for job, (rule, threads) in self._jobs.items()
            if job not in self._took
        ]
        longest = max((seconds * self._cores / threads for seconds, threads in left), default=0.0)
        return max(longest, sum(seconds for seconds, _ in left))


def _results(log: Path) -> list[str]:
    """Return the lines of a job's log about environments that it built, and its result in the last line."""
    lines = log.read_text(errors="replace").strip().splitlines() if log.is_file() else []
    built = [line for line in lines if line.startswith(ENVIRONMENT)]
    return built + [line.removeprefix(LABEL).strip() for line in lines[-1:] if line.startswith(LABEL)]


def failure(job: dict) -> str:
    """Return what was being made, its log, the log's last lines, and what to do.

    job: rule_name, output, log and shellcmd of Snakemake's message about the failed job.
    """
    lines, logged = _logged([Path(path) for path in job["log"]])
    lines.insert(0, f"Failed: {_outputs(job)} (rule {job['rule_name']})")
    lines += map(fold, advice.advise(logged))
    if job.get("shellcmd"):
        # The commands find the harness's Python and the source by these two variables.
        lines += [
            "The job alone, from this folder:",
            f"    PATH=$PWD/.venv/bin:$PATH PYTHONPATH=src bash -c {shlex.quote(job['shellcmd'].strip())}",
        ]
    return "\n".join(lines)


def lost(group: dict) -> str:
    """Return the same text for a job of a cluster.

    group: groupid, aux_logs and job_error_info of Snakemake's message about it.
    """
    return "\n".join(
        [
            f"Failed: the job {group['groupid']}, {len(group['job_error_info'])} steps",
            *_logged([Path(path) for path in group["aux_logs"]])[0],
            fold(
                "The same command again makes what is missing. A cell or a replay keeps the rounds that it had "
                "finished, if the same node measures it again."
            ),
        ]
    )


def _logged(logs: list[Path]) -> tuple[list[str], str]:
    """Return the lines that are shown of the logs of a failed job, and the end of what they say."""
    lines, logged = [], ""
    for path in logs:
        text = path.read_text(errors="replace").strip() if path.is_file() else ""
        lines.append(f"Log: {path}{'' if text else ', which is empty'}")
        shown = [line for line in text.splitlines() if not line.startswith(advice.LABEL)]
        lines += [f"    {line[:300]}" for line in shown[-LINES:]]
        logged += text[-20_000:]
        if path.parent.exists() and shutil.disk_usage(path.parent).free < 1_000_000:
            logged += FULL  # on a full disk the log is empty too
    return lines, logged


def refusal(exception: str, message: str) -> str:
    """Return Snakemake's message about an exception without its own stack; empty if it says nothing new."""
    if exception == "RuleException" or "At least one job did not complete" in message:
        return ""  # a failed job has another message
    target = re.search(r"No rule to produce (.+?) \(if you use", message)
    if exception == "MissingRuleException" and target:
        return (
            f"target: expected paper.pdf, audits, claim_<id> or a file of a rule, got {target[1]}, which nothing "
            "makes; fix: see the README; the files of a preset other than full need --config preset=<it>"
        )
    error = re.search(r"(?ms)^Error:$(.*?)(?:^Wildcards:$|\Z)", message)
    if exception == "InputFunctionException" and error:
        message = error[1]
    # Without the exception's name, and without a file and its line.
    lines = (
        re.sub(r"^(WorkflowError|InputFunctionException)\b.*?:$|^WorkflowError: ", "", line.strip())
        for line in message.splitlines()
    )
    return "\n".join(line for line in lines if line and not re.match(r'File ".*", line \d+', line))


def _outputs(job: dict) -> str:
    """Return what a job makes: its first output, and how many more it has."""
    output = [str(path) for path in job["output"]]
    more = f" and {len(output) - 1} more" if len(output) > 1 else ""
    return f"{output[0]}{more}" if output else job["rule_name"]
