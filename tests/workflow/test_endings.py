"""Cells that end badly are data: each has its status, and the paper is finished. And what is measured again then."""

import shutil

import pytest

import study

BAD = {
    ("ours", "gemm"): ("sigkill", "crash", "SIGKILL"),
    ("theirs", "gemm"): ("raise", "error", "the second call went wrong"),
    ("ours", "layernorm"): ("sleep", "timeout", "time limit"),
    ("theirs", "layernorm"): ("hog", "oom", "refused at build"),
}
"""(framework, workload): (what the process does, its status, what the detail says)."""
MADE_FROM_CELLS = {"tables", "claims", "paper_tables", "cell_figures", "latex", "typeset"}

pytestmark = [pytest.mark.slow, pytest.mark.env]


@pytest.fixture(scope="module")
def ended(tmp_path_factory, jax_python, reference_tables):
    """A study whose cells end as BAD says, those of two products with other outputs; it has the reference's tables."""
    made = study.make(
        tmp_path_factory.mktemp("ended"),
        workloads=("gemm", "layernorm", "two_matmuls"),
        **{"rounds": 1, "timeout_s": 6, "memory_cap_gib": 1.0},
    )
    # With their dates they would be older than the toy's frameworks, and claims are made from the others.
    tables = shutil.copytree(
        reference_tables.results, made.folder / "results/from-reference", copy_function=shutil.copyfile
    )
    (tables / "claims.csv").touch()
    fakes = {f"STACKWARS_FAKE_{f}_{w}": does for (f, w), (does, *_) in BAD.items()}
    ran = made.run("paper.pdf", STACKWARS_FAKE_theirs_two_matmuls="disagree", **fakes)
    assert ran["cell"] == 6 and ran["typeset"] == 1 and "reference_tables" not in ran
    return made


def test_a_bad_end_has_its_status_in_a_finished_paper_and_harms_no_other_cell(ended):
    frame, text = ended.frame(), ended.text()
    for cell, (_, status, detail) in BAD.items():
        row = frame.loc[cell]
        assert row["status"] == status
        assert detail in row["status_detail"]
        assert row[["first_ms", "second_ms", "steady_ms"]].isna().all()
        assert status in text
    good = frame.loc[("ours", "two_matmuls")]
    assert good["status"] == "ok" and good["steady_ms"] > 0


def test_the_cell_whose_outputs_differ_is_wrong_in_every_table(ended):
    row = ended.frame().loc[("theirs", "two_matmuls")]
    assert row["status"] == "wrong" and row["struck_ms"] > 0
    assert row[["first_ms", "steady_ms", "items_per_s"]].isna().all()
    assert row["parity_rel_l2"] == pytest.approx(1e-4, rel=0.01)
    assert "wrong" in ended.text()


def test_only_what_an_edit_touches_is_measured_again(ended):
    """The last test of the study, which is edited step by step."""
    made, package = ended, ended.folder / "src" / "stackwars"

    # Run again it does nothing.
    done = made.snakemake("paper.pdf")
    assert "Nothing to be done" in done.stdout, done.stdout
    assert study.jobs(done.stdout) == {}

    # A sentence edited costs no measurement.
    study.write(made.folder / "paper" / "replication.tex.j2", "One more sentence.\n")
    planned, _ = made.plan("paper.pdf")
    assert set(planned) - {"total"} == {"latex", "typeset"}

    # One cell's result deleted: that cell, and what is made from it.
    cell, aside = made.cell("ours", "two_matmuls") / "cell.json", made.folder / "aside.json"
    cell.rename(aside)
    planned, _ = made.plan()
    aside.rename(cell)
    assert set(planned) >= MADE_FROM_CELLS and planned["cell"] == 1

    # What an edit would have measured again: of a framework's pins, of sizes.
    edits = {
        "envs/theirs.txt": lambda text: f"{text}# changed\n",
        "config/config.yaml": lambda text: text.replace("m: 128", "m: 130"),
    }
    for name, edit in edits.items():
        file = made.folder / name
        text = file.read_text()
        assert edit(text) != text
        file.write_text(edit(text))
        planned = study.planned(made.snakemake(study.CELLS, "-n").stdout)
        # The cells of ours are measured in the rounds of those of theirs.
        assert planned["cell"] == (2 if name == "config/config.yaml" else 6), name
        file.write_text(text)

    # Prose makes nothing again.
    for name in (
        "measure/workloads/adamw",
        "measure/workloads/base",
        "measure/frameworks/__init__",
        "study/results/pooling",
    ):
        study.write(package / f"{name}.py", '"""A remark."""  # Another.\n')
    assert "Nothing to be done" in made.snakemake(study.CELLS, "-n").stdout

    # What the protocol's version stands for measures nothing again by itself, nor do titles and colours.
    for name in ("measure/supervisor", "measure/conduct", "core/limits", "measure/child", "measure/rounds"):
        study.write(package / f"{name}.py", "EDITED = True\n")
    shown = {
        "measure/workloads/gemm": ('"GEMM", "I", 10', '"Product", "II", 11'),
        "measure/frameworks/theirs": ("numpy.COLOUR", '"#14213e"'),
    }
    for name, (old, new) in shown.items():
        text = (package / f"{name}.py").read_text()
        assert text.count(old) == 1
        (package / f"{name}.py").write_text(text.replace(old, new))
    planned = study.planned(made.snakemake(study.CELLS, "-n").stdout)
    assert not {"cell", "peak", "replay"} & set(planned)
