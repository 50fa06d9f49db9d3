"""Two optimised programs side by side."""

import pytest
from compilers.hlo_texts import LOOP

from hlo_pair import OTHER, SMALL
from stackwars.publish.report import align


@pytest.fixture(scope="module")
def small():
    return align.hlo_side(SMALL)


def of(side, text: str) -> dict:
    [at] = [at for at, line in enumerate(side["texts"]) if line.strip().startswith(text)]
    return {name: side[name][at] for name in ("keys", "classes", "sources", "runs")}


def test_the_entry_stands_first_and_what_it_calls_after_it(small):
    heads = [line.split(" (")[0] for line in small["texts"] if line.endswith("{")]
    assert heads == ["ENTRY %main.9", "%parallel_fusion", "%fused_computation", "%region_0"]
    # Every line of a computation is there once.
    assert sum(" = " in line for line in small["texts"]) == SMALL.count(" = ")
    assert "metadata" not in "".join(small["texts"])


def test_an_operation_is_known_by_what_it_computes_and_a_fusion_by_what_it_holds(small):
    assert of(small, "%dot = ")["keys"] == "dot f32[2,2]"
    assert of(small, "%call = ")["keys"] == "call of add tanh f32[4]"
    assert of(small, "ROOT %add_tanh_fusion")["keys"] == "fusion of add tanh f32[4]"


def test_parameters_and_constants_are_noise_and_no_kind(small):
    quiet = [line.strip() for line, noise in zip(small["texts"], small["noise"], strict=True) if noise == "1"]
    assert any("parameter(0)" in line for line in quiet) and any("constant" in line for line in quiet)
    assert not any("dot(" in line for line in quiet)
    assert small["kinds"]["dot"] == 1 and "parameter" not in small["kinds"]


def test_time_is_that_of_the_operation_that_runs(small):
    assert of(small, "%dot = ")["runs"] == ["dot"]
    # An operation of a fusion or a reduction does not run by itself, and a call has others run.
    assert of(small, "%add.2")["runs"] == ["add_tanh_fusion"]
    assert of(small, "ROOT %maximum.1")["runs"] == ["reduce.1"]
    assert of(small, "%call = ")["runs"] == ["call", "add_tanh_fusion"]
    kinds = {text: of(small, text)["classes"] for text in ("%dot = ", "%call", "%add.2", "ROOT %max")}
    assert list(kinds.values()) == ["products", "elementwise", "elementwise", "reductions"]


def test_what_computes_nothing_takes_no_time(small):
    for text in ("%bitcast", "%constant.1", "%Arg_0.1"):
        assert (of(small, text)["classes"], of(small, text)["runs"]) == (None, [])


def test_sources_are_lines_of_the_program_or_of_a_file(small):
    assert of(small, "%add.2")["sources"] == "line 3 as emitted"
    assert of(small, "ROOT %tanh.1")["sources"] == "ffn/in_jax.py:7"
    assert of(small, "%dot = ")["sources"] is None


def test_a_line_of_the_program_has_the_source_that_its_frontend_tells():
    emitted = [None, None, "ffn/in_torch.py:9"]
    for known, expected in (
        (emitted, "ffn/in_torch.py:9 (line 3 as emitted)"),
        (emitted[:2], "line 3 as emitted"),
    ):
        made = align.hlo_side(SMALL, known)
        [at] = [at for at, line in enumerate(made["texts"]) if line.strip().startswith("%add.2")]
        assert made["sources"][at] == expected
    assert "ffn/in_jax.py:7" in made["sources"]


def test_a_loop_runs_what_is_in_its_body():
    found = of(align.hlo_side(LOOP), "%while")
    assert found["classes"] is None
    assert {"while", "product", "copy.11", "add.1"} <= set(found["runs"])
    assert "convolution.3" not in found["runs"]


def test_equal_programs_are_equal_and_shapes_part_others():
    small, other = align.hlo_side(SMALL), align.hlo_side(OTHER)
    lines = len(small["texts"])
    assert align.matched(small["keys"], small["keys"]) == {"blocks": [[0, 0, lines]], "share": 1}
    found = align.matched(small["keys"], other["keys"])
    opposite = {
        small["texts"][left + line].strip(): other["texts"][right + line].strip()
        for left, right, size in found["blocks"]
        for line in range(size)
    }
    [product] = [line for line in opposite if line.startswith("%dot")]
    assert opposite[product].startswith("%dot.8 = ")
    # Of 9 operations of each the constant, the product, the reduction and its maximum.
    assert found["share"] == 8 / 18
    assert [one["operations"].count("1") for one in (small, other)] == [9, 9]


def test_a_text_that_is_no_module_is_refused():
    with pytest.raises(ValueError, match="expected the text of an HLO module"):
        align.hlo_side("// no program: refused\n")
