"""What the tables call the compilers, and which of them are generations of XLA."""

import pandas
import pytest

from stackwars.results import read_compilers

NAMES = ["other-3.13", "jaxlib-0.10.2-no-ynn", "jaxlib-0.10.2", "jaxlib-0.7.1"]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("jaxlib-0.7.1", "jaxlib 0.7.1"),
        ("jaxlib-0.10.2-no-ynn", "jaxlib 0.10.2 without YNN"),
        ("other-3.13", "OTHER 3.13"),
    ],
)
def test_title(name, title):
    assert read_compilers.compiler_title(name) == title


def test_generations_are_releases_of_jaxlib_as_they_come():
    assert read_compilers.generations(NAMES) == ["jaxlib-0.7.1", "jaxlib-0.10.2"]


def test_tables_of_generations_leave_the_others_out(tmp_path):
    row = dict.fromkeys(read_compilers.REPLAY_KEYS, "x") | {"device": "cpu"}
    rows = [row | {"compiler": name} for name in NAMES]
    pandas.DataFrame(rows).to_csv(tmp_path / "replay.csv", index=False)
    assert len(read_compilers.read_replay(tmp_path / "replay.csv")) == 2
    pandas.DataFrame(columns=list(row)).to_csv(tmp_path / "replay.csv", index=False)
    assert read_compilers.read_replay(tmp_path / "replay.csv").empty
