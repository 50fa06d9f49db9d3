"""What `make explain` and `make releases` plan: what is asked for, and nothing else."""

import re

import pytest

import study

pytestmark = pytest.mark.slow
PROGRAM = '''"""Twice."""
def inputs(rows=8):
    return {"x": (rows, 4)}
def jax(x):
    return 2 * x
def torch(x):
    return 2 * x
'''
PAGE = "explain/twice/explain.html"


@pytest.fixture(scope="module", autouse=True)
def programs(checkout):
    """Programs in the folder of the checkout."""
    (checkout.folder / "twice.py").write_text(PROGRAM)
    for name in ("slow", "fast"):
        (checkout.folder / f"{name}.mlir").write_text("module {}\n")


def test_a_program_file_of_the_folder_is_found_by_the_page_s_name(checkout):
    rules, text = checkout.plan(PAGE)
    assert rules == {
        "explain_lower": 2, "explain_expected": 1, "explain_outcomes": 3, "explain_native": 1, "explain_table": 1,
        "explain_page": 1, "total": 9,
    }  # fmt: skip
    # The file has no function numpy.
    assert re.findall(r"explain/twice/native/(\w+).json", text)[0] == "torch_eager"
    assert "results/" not in re.sub(r"\.snakemake\S*", "", text)


def test_only_what_is_asked_for_is_planned(checkout):
    chosen = "explain={compilers: [jaxlib-0.7.1], frontends: [jax]}"
    rules, text = checkout.plan("explain", "--config", "program=twice.py", chosen)
    assert rules == {
        "explain": 1, "explain_lower": 1, "explain_expected": 1, "explain_outcomes": 1, "explain_table": 1,
        "explain_page": 1, "total": 6,
    }  # fmt: skip
    pins = set(re.findall(r"envs/([\w.-]+).txt", text))
    assert pins == {"jax", "xla-0.7.1", "xla-0.10.2"}, "the frontend's, the compiler's and the judge's"


def test_a_program_is_tried_in_the_releases_of_each_project(checkout):
    rules, _ = checkout.plan("program_releases", "--config", "program=twice.py")
    assert rules == {
        "explain_lower": 2, "explain_expected": 1, "program_release": 4, "program_releases": 1, "total": 8,
    }  # fmt: skip


def test_two_files_need_no_frontend(checkout):
    chosen = "explain={compilers: [jaxlib-0.10.2]}"
    given = ("program_a=slow.mlir", "program_b=fast.mlir")
    rules, text = checkout.plan("explain", "--config", *given, chosen)
    assert rules == {
        "explain": 1, "explain_copy": 2, "explain_reference": 2, "explain_outcomes": 1, "explain_table": 1,
        "explain_page": 1, "total": 8,
    }  # fmt: skip
    assert "explain/slow-fast/programs/slow/slow.mlir" in text
    assert set(re.findall(r"envs/([\w.-]+).txt", text)) == {"xla-0.10.2"}


def test_another_program_with_the_name_is_explained_again(checkout):
    """The commands can be pasted: each names its job, which is named by its content."""
    _, text = checkout.plan(PAGE, "-p")
    (before,) = set(
        re.findall(r"lower --job (\S+) --output \S+jax", text.replace("$(dirname ", "").replace(")", ""))
    )
    (checkout.folder / "twice.py").write_text(PROGRAM.replace("rows=8", "rows=9"))
    _, text = checkout.plan(PAGE, "-p")
    assert before not in text
    (checkout.folder / "twice.py").write_text(PROGRAM)


def test_what_cannot_be_explained_is_refused(checkout):
    done = checkout.snakemake("explain/twice/outcomes/gcc.json", "-n")
    assert done.returncode != 0
    assert "expected one of jaxlib-0.7.1" in " ".join(done.stdout.split()), done.stdout


def test_an_edit_of_the_program_makes_everything_of_it_again_and_nothing_else(checkout):
    text = checkout.plan(PAGE)[1]
    for path in [path for line in re.findall(r"output: (.*)", text) for path in line.split(", ")]:
        file = checkout.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('{"questions": []}')
    by_date = ("--rerun-triggers", "mtime")
    assert "Nothing to be done" in checkout.plan(PAGE, *by_date)[1]
    study.write(checkout.folder / "twice.py", PROGRAM + "\n# edited\n")
    rules, _ = checkout.plan(PAGE, *by_date)
    assert rules["explain_lower"] == 2 and rules["explain_outcomes"] == 3 and rules["explain_native"] == 1
