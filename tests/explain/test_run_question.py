"""A question is asked in a process of its own; a search that fails is an answer too."""

import json

import pytest

from stackwars.explain import console, run_question
from stackwars.explain.plan import Plan
from stackwars.explain.workers import CompilerSpec
from stackwars.measure import documents


def question(tmp_path, kind: str) -> dict:
    """Return a question about programs that do not exist."""
    for label in ("a", "b"):
        (tmp_path / f"{label}.mlir").write_text("nonsense")
    compilers, files = {"iree-1": CompilerSpec("iree-1", "iree")}, {"a": "a.mlir", "b": "b.mlir"}
    plan = Plan("x", "X", str(tmp_path), compilers, CompilerSpec("xla"), files, settings={"timeout_s": 20})
    row = {"kind": kind, "id": "iree-1.a", "compiler": "iree-1", "a": "a", "b": "b", "program": "a", "status": "wrong",
           "detail": "x"}  # fmt: skip
    return plan.question(row)


@pytest.mark.parametrize("kind", ["cause", "fault"])
def test_a_search_that_ends_without_an_answer_has_one_that_says_why(tmp_path, kind):
    job = tmp_path / "job.json"
    job.write_text(json.dumps(question(tmp_path, kind)))
    stale = tmp_path / "answer" / f"{kind}.json"
    stale.parent.mkdir()
    stale.write_text('{"verdict": "cause"}')
    found = run_question.run(kind, job, stale.parent)
    assert found == documents.read(stale) and found["verdict"] == "failed" and found["detail"]
    assert kind == "cause" or found["detail"].startswith("the search ended with status 1: ")
    assert (stale.parent / run_question.LOG).exists()
    said = console.paragraph(kind, found)
    assert said.startswith("a in iree-1") and "failed" in said


def test_an_answer_of_several_lines_is_printed_on_one(tmp_path, capsys, monkeypatch):
    job = tmp_path / "job.json"
    job.write_text(json.dumps(question(tmp_path, "cause")))
    answer = {"a": "a", "b": "b", "compiler": "c", "verdict": "failed", "detail": "parser:\nerror: hex"}
    monkeypatch.setattr(run_question, "run", lambda *_: answer)
    monkeypatch.setattr("sys.argv", ["x", "cause", "--job", str(job), "--output", str(tmp_path)])
    run_question.main()
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("[stackwars] a in c") and line.endswith("parser: error: hex")


def test_a_question_about_a_file_names_its_lines_by_the_file(tmp_path):
    side = question(tmp_path, "cause")["a"]
    assert side["program"].endswith("programs/a/a.mlir") and side["arguments"] == ""
