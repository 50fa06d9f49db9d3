"""The folder of results, the columns of its tables, and that a table is read as it was written."""

import json
import math
import sys

import numpy as np
import pandas as pd
import pytest

from stackwars.core.documents import Damaged
from stackwars.study.config import load
from stackwars.study.keys import Config
from stackwars.study.results import folder, schema
from stackwars.study.results.folder import Folder


def test_keys_are_columns_and_a_column_of_two_tables_is_of_one_kind():
    assert all(set(schema.KEYS[name]) <= columns.keys() for name, columns in schema.TABLES.items())
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
        {"ratio": number, "detail": texts[n % len(texts)], "contended": flags[n % 3], "verdict": "slower"}
        for n, number in enumerate(numbers)
    ]
    table = schema.table("comparisons", rows)
    path = tmp_path / "new" / "comparisons.csv"
    schema.write(table, path)
    found = schema.read(path)
    pd.testing.assert_frame_equal(found, table, check_exact=True)
    assert list(found["contended"][:3]) == flags and found["detail"][9] == ""
    schema.write(found, tmp_path / "comparisons.csv")
    assert (tmp_path / "comparisons.csv").read_bytes() == path.read_bytes()


def test_a_column_that_no_table_has_is_refused():
    with pytest.raises(ValueError, match=r"expected columns of .*, got colour, taste; fix: describe them"):
        schema.table("cells", [{"taste": 1, "mode": "native"}, {"colour": 2}])


def test_a_file_without_what_identifies_a_row_is_refused_and_one_without_a_younger_column_is_not(tmp_path):
    keys = [name for name in schema.CELL_KEYS if name != "compiler"]
    (tmp_path / "cells.csv").write_text(",".join(keys) + "\n")
    with pytest.raises(Damaged, match="got one without the columns compiler; fix: make it again"):
        schema.read(tmp_path / "cells.csv")
    (tmp_path / "cells.csv").write_text(
        ",".join(schema.CELL_KEYS) + "\nnative" + "," * (len(schema.CELL_KEYS) - 1) + "\n"
    )
    found = schema.read(tmp_path / "cells.csv").iloc[0]
    assert math.isnan(found["steady_ms"]) and (found["status"], found["gated"]) == ("", None)


def test_a_column_that_tables_have_no_more_is_not_read_of_an_older_file(tmp_path):
    columns = [*schema.CELL_KEYS, "operations", "steady_ms"]
    (tmp_path / "cells.csv").write_text(",".join(columns) + "\nnative" + "," * (len(columns) - 2) + ",1.5\n")
    found = schema.read(tmp_path / "cells.csv")
    assert list(found.columns) == list(schema.CELLS) and found["steady_ms"].tolist() == [1.5]


@pytest.fixture
def arguments(tmp_path, monkeypatch):
    """A function that sets a step's arguments."""
    (tmp_path / "config.json").write_text(json.dumps(load(preset="smoke").step_document()))

    def given(*more: str) -> None:
        argv = ["step", "--config", str(tmp_path / "config.json"), "--results", "made", *more]
        monkeypatch.setattr(sys, "argv", argv)

    return given


def test_a_step_gets_the_configuration_and_the_folder(arguments):
    steps = []
    for more in ((), ("--measured", "elsewhere")):
        arguments(*more)
        folder.command(lambda config, made: steps.append((config.preset, made)))
    assert [preset for preset, _ in steps] == ["smoke", "smoke"]
    assert [(str(f.results), str(f.measured)) for _, f in steps] == [*[("made", "made"), ("made", "elsewhere")]]


def test_an_error_that_says_all_ends_the_command_and_another_one_is_raised(arguments):
    def step(config: Config, made: Folder) -> None:
        raise ValueError("compile it again")

    arguments()
    with pytest.raises(SystemExit, match="compile it again"):
        folder.command(step, ValueError)
    with pytest.raises(ValueError, match="compile it again"):
        folder.command(step, KeyError)
