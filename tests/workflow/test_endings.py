"""Cells that end badly are data: each has its status and harms no other. And what is measured again after an edit."""

import pytest

import study

BAD = {
    ("ours", "gemm"): ("sigkill", "crash", "SIGKILL"),
    ("theirs", "gemm"): ("raise", "error", "the second call went wrong"),
    ("ours", "layernorm"): ("sleep", "timeout", "time limit"),
    ("theirs", "layernorm"): ("hog", "oom", "refused at build"),
}
"""(framework, workload): (what the process does, its status, what the detail says)."""
MEASURING = {"cell", "peak", "replay"}

pytestmark = [pytest.mark.slow, pytest.mark.env]


@pytest.fixture(scope="module")
def ended(tmp_path_factory, jax_python):
    """A study whose cells end as BAD says, those of two products with other outputs."""
    made = study.make(
        tmp_path_factory.mktemp("ended"),
        workloads=("gemm", "layernorm", "two_matmuls"),
        **{"rounds": 1, "timeout_s": 15, "memory_cap_gib": 1.0},
    )
    fakes = {f"STACKWARS_FAKE_{f}_{w}": does for (f, w), (does, *_) in BAD.items()}
    ran = made.run(study.CELLS, STACKWARS_FAKE_theirs_two_matmuls="disagree", **fakes)
    assert ran["cell"] == 6 and ran["tables"] == 1
    return made


def test_a_bad_end_has_its_status_and_its_detail_and_no_time(ended):
    frame = ended.frame()
    for cell, (_, status, detail) in BAD.items():
        row = frame.loc[cell]
        assert row["status"] == status and detail in row["status_detail"]
        assert row[["first_ms", "second_ms", "steady_ms"]].isna().all()
    good = frame.loc[("ours", "two_matmuls")]
    assert good["status"] == "ok" and good["steady_ms"] > 0


def test_the_cell_whose_outputs_differ_is_wrong(ended):
    row = ended.frame().loc[("theirs", "two_matmuls")]
    assert row["status"] == "wrong" and row["struck_ms"] > 0
    assert row[["first_ms", "steady_ms", "items_per_s"]].isna().all()
    assert row["parity_rel_l2"] == pytest.approx(1e-4, rel=0.01)


def test_only_what_an_edit_touches_is_measured_again(ended):
    """The last test of the study, which is edited step by step."""
    made, package = ended, ended.folder / "src" / "stackwars"
    _, text = made.plan(study.CELLS)
    assert "Nothing to be done" in text

    # One cell's result deleted: that cell, and what is made from it.
    cell, aside = made.cell("ours", "two_matmuls") / "cell.json", made.folder / "aside.json"
    cell.rename(aside)
    planned, _ = made.plan()
    aside.rename(cell)
    assert (planned["cell"], planned["tables"]) == (1, 1)

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
        planned, _ = made.plan(study.CELLS)
        # The cells of ours are measured in the rounds of those of theirs.
        assert planned["cell"] == (2 if name == "config/config.yaml" else 6), name
        file.write_text(text)

    # Prose, what the protocol's version stands for, titles and colours measure nothing again.
    for name in ("measure/workloads/adamw", "measure/workloads/base", "measure/frameworks/__init__"):
        study.write(package / f"{name}.py", '"""A remark."""  # Another.\n')
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
    planned, _ = made.plan(study.CELLS)
    assert planned and not MEASURING & set(planned)
