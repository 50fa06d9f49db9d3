"""Cells that end badly are data: each has its status, and the paper is finished. And what is measured again then."""

import resource

import pytest

import study
from checkout import OVERLAY

BAD = {
    ("ours", "gemm"): ("kill", "crash", "SIGKILL"),
    ("theirs", "gemm"): ("raise", "error", "asked to fail"),
    ("ours", "layernorm"): ("sleep", "timeout", "time limit"),
    ("theirs", "layernorm"): ("hog", "oom", "refused at build"),
}
"""(framework, workload): (what the process does, its status, what the detail says)."""
MADE_FROM_CELLS = {"tables", "claims", "paper_tables", "cell_figures", "latex", "typeset"}


@pytest.fixture(scope="module")
def ended(tmp_path_factory, jax_python):
    """A study whose cells end as BAD says, MHA's well, those of two products with other outputs."""
    made = study.make(
        tmp_path_factory.mktemp("ended"),
        workloads=("gemm", "layernorm", "mha", "two_matmuls"),
        **{"rounds": 1, "timeout_s": 6, "memory_cap_gib": 1.0},
    )
    fakes = {f"STACKWARS_FAKE_{f}_{w}": does for (f, w), (does, *_) in BAD.items()}
    ran = made.run("paper.pdf", STACKWARS_FAKE_theirs_two_matmuls="disagree", **fakes)
    assert ran["cell"] == 8 and ran["typeset"] == 1
    return made


@pytest.mark.slow
@pytest.mark.env
def test_a_bad_end_has_its_status_in_a_finished_paper_and_harms_no_other_cell(ended):
    frame, text = ended.frame(), ended.text()
    for cell, (_, status, detail) in BAD.items():
        row = frame.loc[cell]
        assert row["status"] == status
        assert detail in row["status_detail"]
        assert row[["first_ms", "second_ms", "steady_ms"]].isna().all()
        assert status in text
    good = frame.xs("mha", level="workload")
    assert (good["status"] == "ok").all() and (good["steady_ms"] > 0).all()


@pytest.mark.slow
@pytest.mark.env
def test_the_cell_whose_outputs_differ_is_wrong_in_every_table_and_the_other_is_not(ended):
    frame = ended.frame()
    row = frame.loc[("theirs", "two_matmuls")]
    assert row["status"] == "wrong" and row["struck_ms"] > 0
    assert row[["first_ms", "steady_ms", "items_per_s"]].isna().all()
    assert row["parity_rel_l2"] == pytest.approx(1e-4, rel=0.01)
    assert frame.loc[("ours", "two_matmuls"), "status"] == "ok"
    assert "wrong" in ended.text()


@pytest.mark.slow
@pytest.mark.env
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
    cell, aside = made.cell("ours", "mha") / "cell.json", made.folder / "aside.json"
    cell.rename(aside)
    planned, _ = made.plan()
    aside.rename(cell)
    assert set(planned) >= MADE_FROM_CELLS and planned["cell"] == 1

    # What an edit would have measured again: of the protocol's version, of a framework's pins, of sizes.
    edits = {
        "src/stackwars/measure/__init__.py": lambda text: text.replace("PROTOCOL = ", "PROTOCOL = 1"),
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
        assert planned["cell"] == (2 if name == "config/config.yaml" else 8), name
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

    # What the protocol's version stands for measures nothing again by itself.
    for name in ("measure/supervisor", "measure/conduct", "core/limits", "measure/child", "measure/rounds"):
        study.write(package / f"{name}.py", "EDITED = True\n")
    planned = study.planned(made.snakemake(study.CELLS, "-n").stdout)
    assert not {"cell", "peak", "replay"} & set(planned)


def test_a_bad_request_is_refused_before_anything_is_measured(tmp_path):
    made = study.make(tmp_path)
    done = made.snakemake("claim_bert_longest_first")
    assert done.returncode != 0
    expected = "bert_longest_first: query.where: expected workloads of the configured gemm, layernorm, got"
    assert expected in done.stdout
    overlay = tmp_path / OVERLAY
    overlay.write_text(overlay.read_text().replace("baseline: ours", "baseline: theirs", 1))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = made.snakemake("paper.pdf")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Processor time: tests run beside this one.
    assert used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime < 8
    assert done.returncode != 0 and study.jobs(done.stdout) == {}
    message = next(line for line in done.stdout.splitlines() if "config: " in line)
    assert "comparisons.0.baseline: expected" in message and 'got "theirs"' in message
    assert not (tmp_path / "results" / "full").exists()


def test_missing_tex_and_graphviz_are_found_before_anything_is_measured(tmp_path):
    made = study.make(tmp_path)
    # A PATH that has everything but them.
    lacking = ("latexmk", "pdflatex", "bibtex", "kpsewhich", "dot")
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for path in study.Path(folder).iterdir():
            link = tools / path.name
            if path.name not in lacking and not link.exists():
                link.symlink_to(path)
    done = made.snakemake("paper.pdf", PATH=str(tools))
    assert done.returncode != 0
    assert f"missing: {', '.join(lacking)};" in done.stdout and "apt-get install" in done.stdout
    assert not list((tmp_path / "results").rglob("process*.json"))
