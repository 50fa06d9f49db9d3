"""The rule that explains one program: how it finds it, its command, and what makes it run again."""

import pytest

import study

pytestmark = pytest.mark.slow
PROGRAM = '''"""Twice."""
def inputs(rows=8):
    return {"x": (rows, 4)}
def jax(x):
    return 2 * x
'''
ANSWER = "explain/twice/explain.json"


@pytest.fixture(scope="module", autouse=True)
def programs(checkout):
    """Programs in the folder of the checkout."""
    (checkout.folder / "twice.py").write_text(PROGRAM)
    (checkout.folder / "slow.mlir").write_text("module {}\n")


def test_a_program_of_the_folder_or_a_workload_is_found_by_the_answer_s_name(checkout):
    for name, program in (("twice", "twice.py"), ("slow", "slow.mlir"), ("mha", "mha")):
        rules, text = checkout.plan(f"explain/{name}/explain.html", "-p")
        assert rules == {"explain": 1, "total": 1}
        assert f"python -m stackwars.study.workflow.explain {program} " in text


def test_the_command_has_what_the_configuration_chooses(checkout):
    chosen = "explain={compilers: [jaxlib-0.7.1], frontends: [jax]}"
    _, text = checkout.plan(ANSWER, "-p", "--config", chosen)
    assert "twice.py --compilers jaxlib-0.7.1 --frontends jax --preset" in text


def test_a_name_without_a_program_is_refused(checkout):
    done = checkout.snakemake("explain/none/explain.json", "-n")
    assert done.returncode != 0
    assert "expected one of the files none.py" in " ".join(done.stdout.split()), done.stdout


def test_an_edit_of_the_program_explains_it_again(checkout):
    folder = checkout.folder / "explain" / "twice"
    folder.mkdir(parents=True)
    for name in ("json", "html", "md"):
        (folder / f"explain.{name}").touch()
    by_date = ("--rerun-triggers", "mtime")
    assert "Nothing to be done" in checkout.plan(ANSWER, *by_date)[1]
    study.write(checkout.folder / "twice.py", "\n# edited\n")
    assert checkout.plan(ANSWER, *by_date)[0] == {"explain": 1, "total": 1}
