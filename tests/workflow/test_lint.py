"""`make lint` runs every check of Snakemake's linter, except that for an environment of each rule."""

import subprocess
import sys

from stackwars.core.launch import REPOSITORY

RULE = 'rule made:\n    output:\n        "made.txt",\n{log}    shell:\n        "touch {{output}}"\n'
LOG = '    log:\n        "made.log",\n'


def lint(folder) -> subprocess.CompletedProcess[str]:
    """Run the linter in a folder with a Snakefile; its output is in `.stdout`."""
    command = [sys.executable, "-m", "stackwars.study.workflow.lint"]
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(REPOSITORY / "src")}
    return subprocess.run(
        command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def test_a_rule_needs_no_environment_of_snakemakes(tmp_path):
    (tmp_path / "Snakefile").write_text(RULE.format(log=LOG))
    done = lint(tmp_path)
    assert done.returncode == 0, done.stdout


def test_other_faults_are_reported(tmp_path):
    (tmp_path / "Snakefile").write_text(RULE.format(log=""))
    done = lint(tmp_path)
    assert done.returncode == 1
    assert "No log directive defined" in done.stdout and "Specify a conda" not in done.stdout
