"""What a user sees of bad targets, failed jobs and damaged results: the cause, and never Snakemake's stack."""

import json
import re

import pytest

import study
from made_tables import OLD, check

CELL = "results/full/cpu/{}/gemm/cell.json"
STACK = ("Traceback", "RuleException", "CalledProcessError", "WorkflowError", "site-packages")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return study.make(tmp_path_factory.mktemp("failures"), ("gemm",))


@pytest.mark.slow
def test_unknown_framework_in_a_target_is_refused_like_any_bad_input(made):
    done = made.quietly(CELL.format("oursx"))
    assert done.returncode == 1
    assert re.search("target: framework: expected one of .*ours, theirs.*, got oursx; fix:", done.stdout)
    assert not [word for word in STACK if word in done.stdout], done.stdout


@pytest.mark.slow
@pytest.mark.env
def test_damaged_cell_is_named_kept_and_measured_again(made):
    made.run(study.CELLS)
    cell = made.folder / CELL.format("ours")
    whole = cell.read_text()
    cell.write_text(whole[: len(whole) // 2])
    done = made.quietly(study.CELLS, CELL.format("ours"))
    assert done.returncode == 0, done.stdout
    aside = "results/full/damaged/cpu/ours/gemm/cell.json"
    assert f"damaged: {CELL.format('ours')} (" in done.stdout and aside in done.stdout
    assert (made.folder / aside).read_text() == whole[: len(whole) // 2]
    assert json.loads(cell.read_text())["status"] == "ok"
    assert done.stdout.count("] cell cpu ours gemm") == 1
    assert "ours gemm cpu process 2: ok" in done.stdout  # its last round
    assert "theirs gemm" not in done.stdout
    assert "damaged" not in made.quietly(study.CELLS).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "addition", ["", "\nif __name__ == '__main__':\n    raise SystemExit('asked to fail')\n"]
)
def test_a_run_ends_with_its_faulty_programs_whether_it_fails_or_not(tmp_path, addition):
    made = study.make(tmp_path, ("gemm",))
    folder = tmp_path / "results" / "full" / "checks" / OLD / "gemm" / "base"
    folder.mkdir(parents=True)
    crash = {"status": "crash", "status_detail": "SIGSEGV in the first call"}
    (folder / "check.json").write_text(json.dumps(check({"ours": crash, "theirs": {}})))
    study.write(tmp_path / "src" / "stackwars" / "workflow" / "devices.py", addition)
    done = made.quietly("results/full/cpu/found.json")
    assert done.returncode == bool(addition), done.stdout
    (line,) = [line for line in done.stdout.splitlines() if "SIGSEGV" in line]
    assert line.split()[:4] == ["ours", OLD, "gemm", "crash"]


@pytest.mark.slow
def test_a_damaged_accepted_run_is_named_and_refused(made):
    path = next(made.folder.glob("results/reference/runs/*/comparisons.csv"))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    done = made.quietly("paper.pdf", "--config", "source=reference")
    path.write_bytes(content)
    assert done.returncode == 1
    name = path.relative_to(made.folder)
    assert f"{name}: expected the accepted file with the digest" in done.stdout
    assert f"fix: git checkout {name.parent}" in done.stdout
    assert not [word for word in STACK if word in done.stdout], done.stdout


@pytest.mark.slow
@pytest.mark.env
def test_failed_job_is_said_last_with_its_log_and_what_to_do(made):
    study.write(
        made.folder / "src" / "stackwars" / "results/tables.py",
        "\n\nraise OSError(28, 'No space left on device', 'cells.csv')\n",
    )
    done = made.quietly(study.CELLS)
    assert done.returncode == 1
    assert not [word for word in STACK[1:] if word in done.stdout], done.stdout
    last = done.stdout.rpartition("\n\n")[2].splitlines()
    assert last[0] == "Failed: results/full/cells.csv and 9 more (rule tables)"
    assert last[1] == "Log: results/full/logs/tables.txt"
    assert "    OSError: [Errno 28] No space left on device: 'cells.csv'" in last
    assert [line for line in last if line.startswith("What to do: The disk is full")]
    # The command that is shown is short, and does in a shell what the job did.
    alone = last[-1].strip()
    assert len(alone) < 400
    again = made.shell(["bash", "-c", alone.replace("$PWD/.venv/bin", str(study.BIN))])
    assert again.returncode == 1
    assert "No space left" in (made.folder / "results/full/logs/tables.txt").read_text()
