"""What a run says on the terminal: what the jobs say, and at its end what failed and what to do.

Snakemake's own words are left out, but for a dry run and where `--verbose` or another `--quiet` than the
profile's asks for them.
"""

from __future__ import annotations

import logging
import re
import shlex
import shutil
import sys
from pathlib import Path

from snakemake.logging import DefaultFilter, DefaultFormatter, LoggerManager
from snakemake.settings.enums import Quietness
from snakemake.settings.types import OutputSettings
from snakemake_interface_logger_plugins.common import LogEvent

from stackwars.setup import advice
from stackwars.workflow import runlock

LINES = 12
"""Lines of a failed job's log that are shown."""
LEAST_BYTES = 1_000_000
"""A disk with less is full."""
FULL = "No space left on device"
"""What the log of a job would say that failed for a full disk."""
_KEPT = ("Nothing to be done", "Cancelling", "Will exit after", "Unlocking", "Congratulations")
"""Beginnings of what is passed on of Snakemake's own words."""
_SPEAKING = ("process", "replay_process", "cell", "replay", "paper.pdf")
"""Rules whose jobs say themselves what they do, or take no time."""


def attach(manager: LoggerManager) -> None:
    """Put ours in the place of Snakemake's handler for the terminal; another one that was asked for stays.

    Not as a logger plugin of Snakemake's: it would be loaded before the Snakefile says which checkout's
    source is meant.
    """
    for handler in manager.logger.handlers:
        if handler.name == "DefaultStreamHandler":
            manager.logger.removeHandler(handler)
            manager.logger.addHandler(Terminal(manager.settings))
            return


class Terminal(logging.Handler):
    """A handler of Snakemake's messages."""

    def __init__(self, settings: OutputSettings) -> None:
        super().__init__()
        self._failed: list[str] = []
        quiet = Quietness.PROGRESS in (settings.quiet or ())
        self._all = settings.dryrun or settings.verbose or not quiet
        self._filter = DefaultFilter(
            settings.quiet, settings.debug_dag, settings.verbose, settings.dryrun, settings.printshellcmds
        )  # fmt: skip
        self._formatter = DefaultFormatter(settings.quiet, show_failed_logs=False)

    def emit(self, record: logging.LogRecord) -> None:
        """Say what is worth saying of one message."""
        text = self._text(record)
        if text:
            print(text, file=sys.stderr, flush=True)

    def _text(self, record: logging.LogRecord) -> str:
        event = getattr(record, "event", None)
        in_group = getattr(record, "indent", False)
        if event == LogEvent.GROUP_ERROR:
            self._failed.append(lost(vars(record)))
            return f"[stackwars] failed: the job {record.groupid}; the others go on to their end"
        if in_group and event == LogEvent.JOB_ERROR:
            return ""  # said of the group
        if event == LogEvent.GROUP_INFO and not self._all:
            return f"[stackwars] submitting {record.group_id}, {len(record.jobs)} steps"
        if in_group and not self._all:
            return ""
        if event == LogEvent.JOB_ERROR:
            self._failed.append(failure(vars(record)))
            return f"[stackwars] failed: {_made(vars(record))}; what runs beside it goes on to its end"
        if event == LogEvent.ERROR:
            return refusal(record.exception, record.getMessage())
        if event == LogEvent.JOB_INFO and not self._all and record.rule_name not in _SPEAKING:
            return f"[stackwars] making {_made(vars(record))}"
        if self._all:
            return self._formatter.format(record) if self._filter.filter(record) else ""
        message = record.getMessage()
        if record.levelno >= logging.WARNING and "Exiting because a job" not in message:
            return f"[stackwars] {message}"
        return message if message.startswith(_KEPT) else ""

    def close(self) -> None:
        """Say last what failed."""
        if self._failed:
            print("\n".join(["", *self._failed]), file=sys.stderr, flush=True)
            self._failed.clear()
        super().close()


def failure(job: dict) -> str:
    """What was being made, its log, the log's last lines, and what to do.

    job: rule_name, output, log and shellcmd of Snakemake's message about the failed job.
    """
    lines, said = _logged([Path(path) for path in job["log"]])
    lines.insert(0, f"Failed: {_made(job)} (rule {job['rule_name']})")
    lines += advice.advise(said)
    if job.get("shellcmd"):
        # The commands find the harness's Python and the source by these two variables.
        lines += [
            "The job alone, from this folder:",
            f"    PATH=$PWD/.venv/bin:$PATH PYTHONPATH=src bash -c {shlex.quote(job['shellcmd'].strip())}",
        ]
    return "\n".join(lines)


def lost(group: dict) -> str:
    """A job of a cluster that failed: its log, the log's last lines, and what to do.

    group: groupid, aux_logs and job_error_info of Snakemake's message about it.
    """
    return "\n".join(
        [
            f"Failed: the job {group['groupid']}, {len(group['job_error_info'])} steps",
            *_logged([Path(path) for path in group["aux_logs"]])[0],
            "The same command again makes what is missing; of cells, the processes that had ended are kept and "
            "taken back on the same node.",
        ]
    )


def _logged(logs: list[Path]) -> tuple[list[str], str]:
    """What is shown of the logs of a failed job, and all that they say."""
    lines, said = [], ""
    for path in logs:
        text = path.read_text(errors="replace").strip() if path.is_file() else ""
        lines.append(f"Log: {path}{'' if text else ', which is empty'}")
        shown = [line for line in text.splitlines() if not line.startswith(advice.LABEL)]
        lines += [f"    {line[:300]}" for line in shown[-LINES:]]
        said += text[-20_000:]
        if _is_full(path.parent):
            said += FULL  # on a full disk the log is empty too
    return lines, said


def refusal(exception: str, message: str) -> str:
    """Snakemake's message about an exception without its own stack; empty where it says nothing new."""
    if exception == "RuleException" or "At least one job did not complete" in message:
        return ""  # a failed job: said by its own message
    if exception == "LockException":
        return runlock.TAKEN  # locks of a run that is no more have been removed
    lines = message.splitlines()
    if exception == "InputFunctionException":
        lines = _between(lines, "Error:", "Wildcards:")
    if exception == "MissingRuleException":
        target = re.search(r"No rule to produce (.+?) \(if you use", message)
        if target:
            return (
                f"target: nothing makes {target[1]}: expected paper.pdf, audits, claim_<id> or a file of a "
                "rule, as in the README; the files of a preset other than full need --config preset=<it>"
            )
    return "\n".join(line for line in map(_without_stack, lines) if line)


def _is_full(folder: Path) -> bool:
    """Whether hardly anything can be written there any more."""
    return folder.exists() and shutil.disk_usage(folder).free < LEAST_BYTES


def _made(job: dict) -> str:
    """What a job makes: its first output, and how many more there are."""
    output = [str(path) for path in job["output"]]
    more = f" and {len(output) - 1} more" if len(output) > 1 else ""
    return f"{output[0]}{more}" if output else job["rule_name"]


def _between(lines: list[str], start: str, end: str) -> list[str]:
    """The lines after one and before the other, both of them whole lines; all where there is no start."""
    if start not in lines:
        return lines
    lines = lines[lines.index(start) + 1 :]
    return lines[: lines.index(end)] if end in lines else lines


def _without_stack(line: str) -> str:
    """The line, or nothing where it is Snakemake's: an exception's name, a file with a line's number."""
    stripped = line.strip()
    stripped = re.sub(r"^(WorkflowError|InputFunctionException)\b.*?:$", "", stripped)
    stripped = re.sub(r"^WorkflowError: ", "", stripped)
    return "" if re.match(r'File ".*", line \d+', stripped) else stripped
