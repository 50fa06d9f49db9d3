"""fused.csv from the forms of cells."""

import pandas as pd

from stackwars.results import fused
from stackwars.results.folder import REFERENCE, Folder
from stackwars.study.config import load


def written(results, measured) -> pd.DataFrame:
    fused.write(load(), Folder(results, measured))
    return pd.read_csv(results / "fused.csv")


def test_the_sum_of_the_elementwise_chain_is_fused_by_one_compiler_alone(tmp_path):
    found = written(tmp_path, REFERENCE)
    keys = found["workload"], found["operation"], found["framework"]
    verdicts = dict(zip(zip(*keys, strict=True), found["verdict"], strict=True))
    assert verdicts["elementwise_chain", "sum", "jax"] == "apart"
    assert verdicts["elementwise_chain", "sum", "torch_inductor"] == "fused"
    assert verdicts["ffn", "product", "torch_inductor"] == "apart"


def test_a_run_without_forms_gives_the_header_alone(tmp_path):
    found = written(tmp_path, tmp_path)
    assert found.empty and list(found) == list(fused.COLUMNS)
