"""Tables from synthetic results: what is in the frame is what stands in the LaTeX."""

from __future__ import annotations

import re

import pandas
import pytest

import paper_fixture
from stackwars.latex import significant
from stackwars.tables import write_tables

PUBLISHED = paper_fixture.PUBLISHED


def tables_of(folder) -> dict[str, str]:
    write_tables(paper_fixture.files(folder), folder / "tables")
    return {path.stem: path.read_text() for path in (folder / "tables").glob("*.tex")}


def rows_of(text: str) -> list[list[str]]:
    """The cells of every row of a tabular below its header."""
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0]
    lines = [line for line in body.splitlines() if line.endswith(r"\\")]
    return [[cell.strip() for cell in line.removesuffix(r"\\").split(" & ")] for line in lines]


def test_every_number_of_tables_one_to_three_is_the_frames(tmp_path):
    tables = tables_of(paper_fixture.write(tmp_path))
    frame = pandas.read_csv(tmp_path / "frame.csv")
    for position, number in enumerate(("I", "II", "III"), start=1):
        cells = frame[(frame.table == number) & (frame.device == "cpu")]
        rows = rows_of(tables[f"table{position}"])
        assert len(rows) == len(cells)
        for row, (_, cell) in zip(rows, cells.iterrows(), strict=True):
            assert row[-1] == "measured"
            if cell.status == "ok":
                shown = [cell.first_ms, cell.second_ms, cell.steady_ms]
                assert row[2:5] == [significant(value, 4) for value in shown]
                low, high = significant(cell.steady_low_ms), significant(cell.steady_high_ms)
                assert row[5] == f"[{low}, {high}]"


@pytest.mark.parametrize("variant", paper_fixture.VARIANTS)
def test_no_cell_of_a_row_is_blank(tmp_path, variant):
    for number, text in tables_of(paper_fixture.write(tmp_path, variant)).items():
        for row in rows_of(text):
            # Only the workload's name may be blank: it stands in the first row of its group.
            assert all(row[1:]), f"table {number}: {row}"
        assert "nan" not in text.lower().replace("attention", "")
        assert "origin" in text.lower()


def test_a_cell_without_numbers_shows_its_status(tmp_path):
    tables = tables_of(paper_fixture.write(tmp_path))
    llama = [row for row in rows_of(tables["table3"]) if "oom, refused at build" in row[2]]
    assert len(llama) == 3


def test_a_log_line_in_a_status_is_escaped(tmp_path):
    paper_fixture.write(tmp_path)
    frame = pandas.read_csv(tmp_path / "frame.csv")
    frame.loc[0, ["status", "status_detail"]] = ["error", "50% of_it & #1 \\x{}"]
    frame.to_csv(tmp_path / "frame.csv", index=False)
    assert r"error, 50\% of\_it \& \#1 \textbackslash{}x\{\}" in tables_of(tmp_path)["table1"]


def test_absent_devices_have_no_rows_and_present_ones_do(tmp_path):
    paper_fixture.write(tmp_path)
    assert "cuda" not in tables_of(tmp_path)["table1"]
    frame = pandas.read_csv(tmp_path / "frame.csv")
    frame.loc[frame.device == "cuda", "status"] = "timeout"
    frame.to_csv(tmp_path / "frame.csv", index=False)
    assert "JAX, cuda" in tables_of(tmp_path)["table1"]


def test_the_published_ratio_stands_beside_ours_with_its_verdict(tmp_path):
    rows = {
        row[0]: row for row in rows_of(tables_of(paper_fixture.write(tmp_path))["table4"]) if row[0]
    }
    published = pandas.read_csv(PUBLISHED).set_index(["workload", "framework"])
    there = published.steady_state_ms["bert_base", "torch_xla"]
    there /= published.steady_state_ms["bert_base", "jax"]
    assert rows["BERT-Base"][4] == significant(there)
    assert rows["BERT-Base"][-1] == "agrees"
    assert rows["GPT-2 Small"][-1] == "differs"
    assert rows["GEMM"][-1] == "interval spans 1"
    assert rows["ViT-B/16"][-1] == "not comparable"
    assert "oom in PyTorch" in rows["ViT-B/16"][2]


def test_flipping_the_ratios_flips_the_agreement(tmp_path):
    tables = tables_of(paper_fixture.write(tmp_path, "flipped"))
    rows = {row[0]: row for row in rows_of(tables["table4"]) if row[0]}
    assert rows["BERT-Base"][-1] == "differs"
    assert rows["GPT-2 Small"][-1] == "agrees"


def test_without_intervals_nothing_is_decided(tmp_path):
    tables = tables_of(paper_fixture.write(tmp_path, "single"))
    rows = {row[0]: row for row in rows_of(tables["table4"]) if row[0]}
    assert rows["BERT-Base"][-1] == "no interval"
    assert all(row[5] == "---" for row in rows_of(tables["table1"]))


def test_the_audit_table_has_the_split_and_the_compilations(tmp_path):
    text = tables_of(paper_fixture.write(tmp_path, "invalid"))["audit"]
    invalid = [row for row in rows_of(text) if "invalid" in row[2]]
    assert len(invalid) == 3
    assert all(re.search(r"infty|---", row[4]) for row in invalid)
    pending = [row for row in rows_of(text) if row[1].endswith("pending") and row[2] == "ok"]
    assert all(row[5:8] == ["1", "1", "0"] for row in pending)
