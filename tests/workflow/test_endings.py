"""Cells that end badly are data: each has its status, and the paper is finished."""

import time

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


@pytest.fixture(scope="module")
def ended(tmp_path_factory, jax_python):
    """A study whose cells end as BAD says, MHA's well, those of two products with other outputs."""
    made = study.make(
        tmp_path_factory.mktemp("ended"),
        workloads=("gemm", "layernorm", "mha", "two_matmuls"),
        **{"rounds": 1, "timeout_s": 6, "memory_cap_gib": 1.0},
    )
    fakes = {f"STACKWARS_FAKE_{f}_{w}": does for (f, w), (does, *_) in BAD.items()}
    made.run("all", STACKWARS_FAKE_theirs_two_matmuls="disagree", **fakes)
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


def test_a_bad_request_is_refused_before_anything_is_measured(tmp_path):
    made = study.make(tmp_path)
    done = made.snakemake("claim_bert_longest_first")
    assert done.returncode != 0
    expected = "bert_longest_first: query.where: expected workloads of the configured gemm, layernorm, got"
    assert expected in done.stdout
    overlay = tmp_path / OVERLAY
    overlay.write_text(overlay.read_text().replace("baseline: ours", "baseline: theirs", 1))
    start = time.monotonic()
    done = made.snakemake("paper.pdf")
    assert time.monotonic() - start < 8
    assert done.returncode != 0
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
