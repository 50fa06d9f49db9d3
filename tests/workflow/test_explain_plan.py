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


def test_the_rule_finds_the_program_by_the_answer_s_name_and_passes_what_is_chosen(checkout):
    chosen = "explain={compilers: [jaxlib-0.7.1], frontends: [jax]}"
    rules, text = checkout.plan("explain/slow/explain.html", ANSWER, "-p", "--config", chosen)
    assert rules == {"explain": 2, "total": 2}
    for program in ("slow.mlir", "twice.py"):
        command = f"python -m stackwars.study.workflow.explain {program} --compilers jaxlib-0.7.1"
        assert f"{command} --frontends jax --preset" in text


def test_an_edit_of_the_program_explains_it_again(checkout):
    folder = checkout.folder / "explain" / "twice"
    folder.mkdir(parents=True)
    for name in ("json", "html", "md"):
        (folder / f"explain.{name}").touch()
    by_date = ("--rerun-triggers", "mtime")
    assert "Nothing to be done" in checkout.plan(ANSWER, *by_date)[1]
    study.write(checkout.folder / "twice.py", "\n# edited\n")
    assert checkout.plan(ANSWER, *by_date)[0] == {"explain": 1, "total": 1}
