"""The columns of the tables, and that a table is read as it was written."""

import math

import numpy as np
import pandas as pd
import pytest

from stackwars.results import schema


@pytest.mark.parametrize("name", schema.TABLES)
def test_every_column_is_described_and_has_a_kind(name):
    columns = schema.TABLES[name]
    assert {column.kind for column in columns.values()} <= {"number", "text", "flag"}
    assert all(len(column.about) > 3 for column in columns.values())
    assert set(schema.KEYS[name]) <= columns.keys()
    # A time or a size is a number, whatever the table.
    sized = [column for key, column in columns.items() if key.endswith(("_ms", "_bytes", "_s"))]
    assert all(column.kind == "number" for column in sized)


def test_a_column_of_two_tables_is_of_one_kind():
    kinds: dict[str, set] = {}
    for columns in schema.TABLES.values():
        for name, column in columns.items():
            kinds.setdefault(name, set()).add(column.kind)
    assert {name: found for name, found in kinds.items() if len(found) > 1} == {}


def test_a_table_comes_back_to_the_last_bit(tmp_path):
    random = np.random.default_rng(1)
    numbers = [0.1 + 0.2, 1e-300, 2.0**60 + 1, math.inf, None, math.nan, *random.lognormal(0, 40, 500)]
    texts = ["NA", "nan", "None", "1.0", " a, b ", 'a "b"', "two\nlines", "é", "", None]
    flags = [True, False, None]
    rows = [
        {"ratio": number, "detail": texts[n % len(texts)], "gated": flags[n % 3], "verdict": "slower"}
        for n, number in enumerate(numbers)
    ]
    table = schema.table("comparisons", rows)
    path = tmp_path / "new" / "comparisons.csv"
    schema.write(table, path)
    found = schema.read(path)
    pd.testing.assert_frame_equal(found, table, check_exact=True)
    assert list(found["gated"][:3]) == flags and found["detail"][9] == ""
    schema.write(found, tmp_path / "comparisons.csv")
    assert (tmp_path / "comparisons.csv").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", schema.TABLES)
def test_an_empty_table_comes_back_with_its_columns(tmp_path, name):
    schema.write(schema.empty(name), tmp_path / f"{name}.csv")
    found = schema.read(tmp_path / f"{name}.csv")
    assert found.empty and list(found.columns) == list(schema.TABLES[name])


def test_a_column_that_no_table_has_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"expected columns of .*, got colour, taste; fix: describe them"):
        schema.table("cells", [{"taste": 1, "mode": "native"}, {"colour": 2}])
    (tmp_path / "cells.csv").write_text(",".join([*schema.CELL_KEYS, "colour"]) + "\n")
    with pytest.raises(ValueError, match=r"cells\.csv: expected columns .* got colour that are unknown"):
        schema.read(tmp_path / "cells.csv")


def test_a_file_without_what_identifies_a_row_is_refused_and_one_without_a_younger_column_is_not(tmp_path):
    keys = [name for name in schema.CELL_KEYS if name != "compiler"]
    (tmp_path / "cells.csv").write_text(",".join(keys) + "\n")
    with pytest.raises(ValueError, match="compiler missing; fix: make the file again"):
        schema.read(tmp_path / "cells.csv")
    (tmp_path / "cells.csv").write_text(
        ",".join(schema.CELL_KEYS) + "\nnative" + "," * (len(schema.CELL_KEYS) - 1) + "\n"
    )
    found = schema.read(tmp_path / "cells.csv").iloc[0]
    assert math.isnan(found["steady_ms"]) and (found["status"], found["gated"]) == ("", None)
