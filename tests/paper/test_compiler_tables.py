"""Tables of the split, of what fits and of the programs: every row, and nothing blank."""

from __future__ import annotations

import json
import re

import pandas
import pytest
from test_tables import rows_of, tables_of

import paper_fixture
from claim_edits import edit
from compiler_fixture import EDIT, NEW, OLD, SIDES, SUCCESSOR
from stackwars import frameworks
from stackwars.frameworks import title
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables import tabular
from stackwars.paper.tables.memory import gib
from stackwars.paper.tables.split import INTERVALS
from stackwars.paper.tables.stacks import explained
from stackwars.paper.tables.successor import operations_table

TORCH = escape(title("torch_xla"))


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    folder = paper_fixture.write(tmp_path_factory.mktemp("full"))
    return folder, tables_of(folder)


def filled(rows: list[list[str]]) -> list[list[str]]:
    """Rows with the workload's name in each of its group."""
    name = ""
    for row in rows:
        name = row[0] = row[0] or name
    return rows


SPREAD = re.compile(r"\\tiny ([\d.]+)--([\d.]+)")
SPLIT_SIGNS = {
    **{"slower": "$>$", "faster": "$<$", "no difference found": "$=$", "unresolved": "?"},
    **{"holds": "$=$", "off": r"$\ne$"},
}


def test_the_split_table_has_both_compilers_and_the_data_s_numbers(full):
    folder, tables = full
    split = pandas.read_csv(folder / "split.csv").set_index(["title", "compiler"])
    rows = filled(rows_of(tables["split"]))
    failed = split.ir_verdict == "no data"
    assert len(rows) == 2 * (~failed).sum() + failed.sum()
    below = iter([row for row in rows if row[1] == INTERVALS])
    for row in (row for row in rows if row[1] != INTERVALS):
        one = split.loc[(row[0], row[1].replace(" ", "-"))]
        if one.ir_verdict == "no data":
            assert row[2].startswith(r"\multicolumn{9}{c}{oom: no cell of jax is ok}")
            continue
        ends = next(below)
        assert row[2] == "4"
        for place, name in ((5, "native"), (6, "ir"), (7, "runtime"), (9, "control")):
            if pandas.isna(one[f"{name}_ratio"]):
                assert (row[place], ends[place]) == ("---", "")
                continue
            sign = SPLIT_SIGNS[one[f"{name}_verdict"]]
            assert row[place] == rf"{sign}\,{significant(one[f'{name}_ratio'])}"
            shown = [significant(one[f"{name}_ratio_{end}"]) for end in ("low", "high")]
            assert ends[place] == rf"{{\tiny [{shown[0]}, {shown[1]}]}}"
        reasons = {"the program": "program", "the runtime": "runtime", "not separated": "?"}
        assert row[8] == reasons.get(one.source_verdict, "---")
        assert (row[7] == "---") == (one.name[1] == NEW)
        assert all(ends[place] for place in range(3, 7))
        for place in (3, 4):
            middle, (low, high) = float(row[place]), SPREAD.search(ends[place]).groups()
            assert float(low) <= middle <= float(high)


def test_the_edit_table_shows_the_share(full):
    rows = rows_of(full[1]["edits"])
    assert [row[2] for row in rows[::2]] == ["jaxlib 0.7.1", "jaxlib 0.10.2"]
    assert [row[-1] for row in rows[::2]] == [r"87\,\%", r"89\,\%"]
    assert rows[0][1] == "torch\\_xla, explicit layernorm"
    replay = pandas.read_csv(full[0] / "replay.csv")
    replay = replay.set_index(["workload", "compiler", "framework"])
    edited = replay.loc[("bert_base", OLD, f"torch_xla+{EDIT}")]
    low, high = (significant(edited[f"edited_ratio_{end}"]) for end in ("low", "high"))
    assert (rows[0][6], rows[1][6]) == (
        significant(edited.edited_ratio),
        rf"{{\tiny [{low}, {high}]}}",
    )
    assert all(rows[1][3:7])


def test_one_round_has_no_row_of_intervals(tmp_path):
    folder = paper_fixture.write(tmp_path)
    for name in ("split", "replay"):
        table = pandas.read_csv(folder / f"{name}.csv")
        ends = table.filter(regex="_(low|high)$").columns
        table[ends] = float("nan")
        table.to_csv(folder / f"{name}.csv", index=False)
    (folder / "replayed.csv").write_text(
        (folder / "replayed.csv").read_text().partition("\n")[0] + "\n"
    )
    tables = tables_of(folder)
    assert INTERVALS not in tables["split"] and INTERVALS not in tables["edits"]
    assert rows_of(tables["edits"])


def test_the_fit_table_has_every_size_beside_the_published_outcome(full):
    folder, tables = full
    ahead = pandas.read_csv(folder / "compile_ahead.csv")
    newest = ahead[(ahead.compiler == NEW) & (ahead.target == "tpu-v6e") & ahead.edit.isna()]
    newest = newest[~newest.framework.isin(SUCCESSOR["programs"])]
    rows = filled(rows_of(tables["fits"]))
    assert len(rows) == len(newest) == 2 * (12 + 1 + 2 + 2)
    neo = next(r for r in rows if r[0] == "GPT-Neo 1.3B" and r[2] == TORCH)
    one = newest[(newest.workload == "gpt_neo_1p3b") & (newest.framework == "torch_xla")].iloc[0]
    assert neo[3] == "oom"
    assert neo[4:8] == [gib(one[f"{n}_bytes"]) for n in ("argument", "output", "temp", "alias")]
    assert neo[8:12] == [gib(one.hbm_bytes), gib(one.usable_bytes - one.hbm_bytes), "fits", "bytes"]
    large = next(r for r in rows if r[0] == "LLaMA-3.1 8B" and "512" in r[1] and r[2] == "JAX")
    assert large[8:14] == ["32.20", "$-$0.950", "oom", "compiler", "32.20", "oom, bytes"]
    ratios = {row[14] for row in rows if row[2] == TORCH}
    assert "---" in ratios  # the refused ones
    assert len(ratios) > 1


def test_the_body_has_what_both_programs_of_every_model_need(full):
    folder, tables = full
    ahead = pandas.read_csv(folder / "compile_ahead.csv")
    newest = ahead[(ahead.compiler == NEW) & (ahead.target == "tpu-v6e") & ahead.edit.isna()]
    rows = filled(rows_of(tables["bytes"]))
    models = {"ResNet-50", "BERT-Base", "GPT-2 Small", "ViT-B/16", "GPT-Neo 1.3B", "LLaMA-3.1 8B"}
    assert {row[0] for row in rows} == models
    own = newest[(newest.workload == "gpt_neo_1p3b") & (newest.framework == "torch_xla")].iloc[0]
    other = newest[(newest.workload == "gpt_neo_1p3b") & (newest.framework == "jax")].iloc[0]
    neo = next(row for row in rows if row[0] == "GPT-Neo 1.3B")
    assert neo[2:4] == [gib(other.hbm_bytes), gib(own.hbm_bytes)]
    assert neo[4:] == [significant(own.hbm_bytes / other.hbm_bytes), "ok / oom"]
    large = next(row for row in rows if row[0] == "LLaMA-3.1 8B" and "512" in row[1])
    assert large[2].startswith(r"\textbf{")  # does not fit


def test_the_frontier_is_a_number_or_a_bracket(full):
    rows = {(r[0], r[2]): r for r in filled(rows_of(full[1]["largest_batch"]))}
    assert rows[("BERT-Base", "jaxlib 0.7.1")][1:5] == ["64", "jaxlib 0.7.1", "200", "208"]
    assert rows[("ViT-B/16", "jaxlib 0.10.2")][3:5] == [r"$\geq$200", "208 to 237"]


def test_every_target_and_compiler_has_a_row(full):
    rows = filled(rows_of(full[1]["targets"]))
    assert [(row[0], row[1]) for row in rows] == [
        (target, name.replace("-", " ")) for target in ("TPU v6e", "TPU v5e") for name in (OLD, NEW)
    ]
    assert [int(n) for n in rows[3][3:6]] == [30, 4, 0]


def test_the_metrics_table_marks_the_same_programs(full):
    rows = filled(rows_of(full[1]["metrics"]))
    assert len(rows) == 24
    gemm = rows[0]
    assert (gemm[6], gemm[11]) == ("no", "yes")
    assert gemm[2:6] == ["40", "9", "1.00", "17"]


def test_the_structure_table_names_both_words(full):
    rows = {row[0]: row[1:] for row in rows_of(full[1]["structure"])}
    assert len(rows) == 12
    assert rows["MHA"] == ["preserved / flattened", "---", "combined", "explicit / prepared"]
    assert rows["GEMM"][0] == "both"


def test_a_failed_compilation_is_a_row_with_its_status(tmp_path):
    tables = tables_of(paper_fixture.write(tmp_path, "one_failed"))
    failed = [row for row in rows_of(tables["fits"]) if row[2] == TORCH]
    assert len(failed) == 17
    for row in failed:
        assert row[4] == r"\multicolumn{8}{c}{error: INTERNAL: 100\% of\_it \& more}"
        assert row[6] == "error"


def test_the_operations_that_differ_most_are_named_from_one_program_to_the_next():
    kinds = {
        "torch_xla": {
            "stablehlo.reshape": 9,
            "stablehlo.add": 2,
            "stablehlo.batch_norm_training": 1,
        },
        "torch_tpu": {"stablehlo.reshape": 6, "stablehlo.add": 2, "stablehlo.multiply": 2},
        "jax": {"stablehlo.reshape": 6, "stablehlo.add": 2, "stablehlo.multiply": 2},
    }
    row = {"workload": "mha", "title": "MHA", "level": "normalised", "status": "ok"}
    metrics = pandas.DataFrame(
        row
        | {"framework": name, "operations": sum(of.values()), "operations_by_kind": json.dumps(of)}
        for name, of in kinds.items()
    )
    text = operations_table(metrics, ["jax", "torch_xla"], ["torch_xla", "torch_tpu", "jax"], "x")
    (shown,) = rows_of(text)
    minus = r"\textminus{}"
    assert shown == ["MHA", "10", "12", f"reshape {minus}3, multiply +2", "none"]
    assert "A dash" not in text
    less = metrics[metrics.framework != "jax"]
    text = operations_table(less, ["jax", "torch_xla"], ["torch_xla", "torch_tpu", "jax"], "x")
    assert rows_of(text)[0][1] == "---" and "A dash: no program." in text


def test_a_build_in_which_no_framework_has_programs_has_its_tables(tmp_path):
    folder = paper_fixture.write(tmp_path, "nothing")
    context = json.loads((folder / "context.json").read_text())
    del context["studies"]["successor"]
    context["comparisons"] = [row | {"of": ["cells"]} for row in context["comparisons"]]
    (folder / "context.json").write_text(json.dumps(context))
    assert "no program of the successor was compiled" in tables_of(folder)["successor"]


def test_every_subject_has_its_rows_and_columns(full, tmp_path):
    folder, alone = full
    tables = tables_of(paper_fixture.write(tmp_path, "two_subjects"))
    assert tables["split"].startswith(alone["split"])
    _, second = tables["split"].split(r"\label{tab:split-torch_xla_pending}")
    split = pandas.read_csv(folder / "split.csv")
    ratio = split[(split.workload == "ffn") & (split.compiler == OLD)].ir_ratio.iloc[0]
    ffn = next(row for row in rows_of(second) if row[0] == "FFN")
    assert ffn[6] == rf"$>$\,{significant(ratio * SIDES['torch_xla_pending'].replay)}"
    pending, side = escape(title("torch_xla_pending")), SIDES["torch_xla_pending"]
    cycles = {row[14] for row in rows_of(tables["fits"]) if row[2] == pending} - {"---"}
    assert cycles == {significant(side.memory * side.cycles)}
    of_the_first = [row for row in filled(rows_of(tables["fits"])) if row[2] != pending]
    assert of_the_first == filled(rows_of(alone["fits"]))
    bert = next(row for row in rows_of(tables["largest_batch"]) if row[0] == "BERT-Base")
    assert bert[3:6] == [
        str(SIDES[name].batch) for name in SIDES if name not in SUCCESSOR["programs"]
    ]
    first = rows_of(tables["targets"])[0]
    assert first[6:8] == rows_of(alone["targets"])[0][6:8]
    assert first[8] == ", ".join([significant(side.memory)] * 3)
    # Normalised, GEMM is the same program as the baseline's in the first subject alone.
    gemm = rows_of(tables["metrics"])[:3]
    assert [(row[1], row[11]) for row in gemm] == [("JAX", "---"), (TORCH, "yes"), (pending, "no")]
    mha = next(row for row in rows_of(tables["structure"]) if row[0] == "MHA")
    assert mha[1] == "preserved / flattened / preserved"


def without_edited(folder, column: bool) -> None:
    """Take the edited programs out of a folder's compilations, and the column that names edits with them."""
    table = pandas.read_csv(folder / "compile_ahead.csv")
    table = table[table.edit.isna()]
    table = table if column else table.drop(columns="edit")
    table.to_csv(folder / "compile_ahead.csv", index=False)


@pytest.mark.parametrize("column", [True, False])
def test_edited_programs_are_in_their_own_table_alone(full, tmp_path, column):
    paper_fixture.write(tmp_path)
    without_edited(tmp_path, column)
    tables = tables_of(tmp_path)
    assert "not measured in this run" in tables["precision"]
    kept = {name: text for name, text in tables.items() if name != "precision"}
    assert kept == {name: text for name, text in full[1].items() if name != "precision"}


def test_the_precision_table_has_each_framework_s_bytes_over_those_at_the_highest(full, tmp_path):
    rows = rows_of(full[1]["precision"])
    assert [row[1:] for row in rows[:3]] == [["0.9000"] * 4] * 3
    paper_fixture.write(tmp_path)
    where = {"edit": "default_precision", "framework": "torch_xla", "workload": "gemm"}
    edit("compile_ahead", where, temp_bytes=None)(tmp_path)
    (gemm,) = (row for row in rows_of(tables_of(tmp_path)["precision"]) if row[0] == "GEMM")
    assert gemm == ["GEMM", "0.9000", "0.9000", "0.9000", "---"]
    context = json.loads((tmp_path / "context.json").read_text())
    (tmp_path / "context.json").write_text(json.dumps(context | {"origin": "reference"}))
    without_edited(tmp_path, column=False)
    assert "not measured in the reference" in tables_of(tmp_path)["precision"]


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0"), (1000, "$<$0.001"), (2**29, "0.500"), (-(2**30), "$-$1.000"), (None, "---")],
)
def test_gibibytes_are_never_rounded_to_nothing(size, text):
    assert gib(size) == text


def test_gaps_that_no_edit_closes_stand_with_where_they_lie(full):
    folder, tables = full
    gaps = pandas.read_csv(folder / "gap_causes.csv").fillna({"why": ""})
    rows = filled(rows_of(tables["unexplained"]))
    open_ = gaps[gaps.why == ""].drop_duplicates(["workload", "subject", "compiler"])
    assert [(row[0], row[2].replace(" ", "-")) for row in rows] == list(
        zip(open_.title, open_.compiler, strict=True)
    )
    assert r"carried by products and convolutions, share 100\,\%" in tables["unexplained"]
    # BERT's are explained by its edit; LayerNorm's profile does not add up.
    assert set(gaps[gaps.why != ""].why) == {f"torch_xla+{EDIT}"}
    assert {row[0] for row in rows if row[4].endswith(r"$^\dagger$")} == {"LayerNorm"}


def test_a_program_that_the_compiler_before_refused_is_compared_with_nothing(tmp_path):
    folder = paper_fixture.write(tmp_path)
    where = {"workload": "mha", "framework": "torch_xla", "compiler": "iree-3.13"}
    names = ("ratio", "low", "high")
    edit("matrix", where, **{f"previous_{name}": None for name in names})(folder)
    rows = filled(rows_of(tables_of(folder)["matrix"]))
    of_iree = {row[0]: row[2] for row in rows if row[1].startswith("IREE")}
    assert TORCH not in of_iree["MHA"] and TORCH in of_iree["Two products"]


def test_every_program_that_ran_with_and_without_ynn_stands_with_both_outputs(tmp_path):
    folder = paper_fixture.write(tmp_path)
    where = {"framework": "torch_xla", "compiler": "jaxlib-0.10.2-no-ynn"}
    edit("matrix", where | {"workload": "mha"}, previous_verdict="unresolved", native_rel_l2=3e-7)(
        folder
    )
    edit("matrix", where | {"workload": "two_matmuls"}, status="unsupported")(folder)
    rows = {(row[0], row[1]): row[2:] for row in filled(rows_of(tables_of(folder)["ynn"]))}
    assert ("Two products", "JAX") in rows and ("Two products", TORCH) not in rows
    matrix = pandas.read_csv(folder / "matrix.csv").set_index(["workload", "framework", "compiler"])
    pair = [matrix.loc["mha", "torch_xla", name] for name in ("jaxlib-0.10.2", where["compiler"])]
    within, without, ratio, *errors = rows["MHA", TORCH]
    assert [within, without] == [significant(one.replay_ms, 4) for one in pair]
    assert ratio.startswith(rf"?\,{significant(pair[1].previous_ratio)} [")
    assert errors == ["---", r"\num{3.0e-07}"]


def test_every_stack_of_a_study_is_explained_once(tmp_path):
    folder = paper_fixture.write(tmp_path)
    told = dict(filled(rows_of(tables_of(folder)["explained"])))
    studies = json.loads((folder / "context.json").read_text())["studies"].values()
    names = {name for one in studies for name in (*one["frameworks"], *one["programs"])}
    assert set(told) == {escape(title(name)) for name in names}
    assert told["JAX"] == r"\texttt{jax.jit} over a pure function, compiled by XLA"


def test_what_explains_a_stack_fits_its_line():
    for name in frameworks.names():
        text = explained(name)
        assert 20 < len(text) < 160, text
        assert text[0].isupper() or text.startswith(r"\texttt{"), text
        assert "beside this file" not in text, text


def test_a_call_that_returns_early_stands_with_its_share(tmp_path):
    folder = paper_fixture.write(tmp_path)
    edit("stacks", {"workload": "mha", "framework": "torch_xla"}, returned_ms=None)(folder)
    tex = tables_of(folder)["returned"]
    heads = re.search(r"\nWorkload & (.*) \\\\\n", tex)[1].split(" & ")
    rows = {row[0]: row[1:] for row in rows_of(tex)}
    jax, torch = heads.index("{JAX}"), heads.index(f"{{{TORCH}}}")
    assert rows["Two products"][jax] == r"0.100 (10\,\%)"
    assert rows["Two products"][torch] == r"1.50 (100\,\%)"
    assert rows["MHA"][torch] == "---"


def test_without_gaps_the_table_says_so(tmp_path):
    tables = tables_of(paper_fixture.write(tmp_path, "nothing"))
    assert "no gap is unexplained" in tables["unexplained"]


def test_a_table_longer_than_a_page_goes_on_in_further_ones():
    spec = tabular.Float(label="tab:x", caption="X", columns="l", note="how to read it")
    blocks = [[tabular.row([f"{block}.{line}"]) for line in range(7)] for block in range(9)]
    text = tabular.tables(spec, [tabular.row(["Name"])], blocks, 20)
    floats = text.split(r"\end{table}")[:-1]
    assert len(floats) == 5
    labels = [re.search(r"\\label\{(.*?)\}", one)[1] for one in floats]
    assert labels == ["tab:x", "tab:x1", "tab:x2", "tab:x3", "tab:x4"]
    assert [one.count("(Continued)") for one in floats] == [0, 1, 1, 1, 1]
    # No block is parted, and none is lost.
    kept = [re.findall(r"^(\d)\.\d", one, re.MULTILINE) for one in floats]
    assert [len(set(one)) for one in kept] == [2, 2, 2, 2, 1]
    assert sum(map(len, kept)) == 63 and max(map(len, kept)) <= 20
