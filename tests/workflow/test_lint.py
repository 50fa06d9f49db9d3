"""`make lint` runs every check of Snakemake's linter, except that for an environment of each rule."""

from running import python

RULE = 'rule made:\n    output:\n        "made.txt",\n    shell:\n        "touch {output}"\n'


def test_other_faults_than_a_missing_environment_are_reported(tmp_path):
    (tmp_path / "Snakefile").write_text(RULE)
    done = python("-m", "stackwars.study.workflow.lint", cwd=tmp_path, check=False)
    text = done.stdout + done.stderr
    assert done.returncode == 1
    assert "No log directive defined" in text and "Specify a conda" not in text
