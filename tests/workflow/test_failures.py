"""What a user sees of bad targets, failed jobs and damaged results: the cause, and never Snakemake's stack."""

from __future__ import annotations

import json

import pytest

import study

CELL = "results/full/cpu/{}/gemm/cell.json"
STACK = ("Traceback", "RuleException", "CalledProcessError", "WorkflowError", "site-packages")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return study.make(tmp_path_factory.mktemp("failures"), ("gemm",))


def quietly(made, *arguments, **environ):
    """Run as `make` does: with the quietness of the profile."""
    command = [*made.command(*arguments)]
    command = command[: command.index("--quiet")]
    return made.shell(command, **environ)


@pytest.mark.slow
def test_unknown_framework_in_a_target_is_refused_like_any_bad_input(made):
    done = quietly(made, CELL.format("oursx"))
    assert done.returncode == 1
    assert "target: framework: expected one of ours, theirs; came oursx." in done.stdout
    assert not [word for word in STACK if word in done.stdout], done.stdout


@pytest.mark.slow
@pytest.mark.env
def test_damaged_cell_is_named_kept_and_measured_again(made):
    made.run("results/full/frame.csv")
    cell = made.folder / CELL.format("ours")
    whole = cell.read_text()
    cell.write_text(whole[: len(whole) // 2])
    done = quietly(made, "results/full/frame.csv", CELL.format("ours"))
    assert done.returncode == 0, done.stdout
    aside = "results/full/damaged/cpu/ours/gemm/cell.json"
    assert f"damaged: {CELL.format('ours')} (" in done.stdout and aside in done.stdout
    assert (made.folder / aside).read_text() == whole[: len(whole) // 2]
    assert json.loads(cell.read_text())["status"] == "ok"
    assert done.stdout.count("ours gemm cpu process") == 4  # begun and ended, two rounds
    assert "theirs gemm" not in done.stdout
    assert "damaged" not in quietly(made, "results/full/frame.csv").stdout


@pytest.mark.slow
@pytest.mark.env
def test_failed_job_is_said_last_with_its_log_and_what_to_do(made):
    study.write(
        made.folder / "src" / "stackwars" / "results/aggregate.py",
        "\n\nraise OSError(28, 'No space left on device', 'frame.csv')\n",
    )
    done = quietly(made, "results/full/frame.csv")
    assert done.returncode == 1
    assert not [word for word in STACK[1:] if word in done.stdout], done.stdout
    last = done.stdout.rpartition("\n\n")[2].splitlines()
    assert last[0] == "Failed: results/full/frame.csv and 4 more (rule frame)"
    assert last[1] == "Log: results/full/logs/frame.txt"
    assert "    OSError: [Errno 28] No space left on device: 'frame.csv'" in last
    assert [line for line in last if line.startswith("What to do: The disk is full")]
    # The command that is shown is short, and does in a shell what the job did.
    alone = last[-1].strip()
    assert len(alone) < 400
    again = made.shell(["bash", "-c", alone.replace("$PWD/.venv/bin", str(study.BIN))])
    assert again.returncode == 1
    assert "No space left" in (made.folder / "results/full/logs/frame.txt").read_text()
