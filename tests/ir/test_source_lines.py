"""Where the source of each line of a text is."""

import pytest

from stackwars.ir.source_lines import dump, load, of_plain, source_lines

TEXT = """#loc1 = loc("x"("x"))
module @jit_f {
  func.func public @main(%arg0: tensor<2xf32> loc("x"("x"))) -> tensor<2xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<2xf32> loc(#loc5)
    %1 = stablehlo.add %0, %0 : tensor<2xf32> loc(callsite("jit(f)/add"("/a/b/in_jax.py":7:4 to :12) at #loc2))
    return %1 : tensor<2xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc2 = loc("/a/b/caller.py":99:0)
#loc4 = loc("/a/b/in_jax.py":3:8)
#loc5 = loc("jit(f)/tanh"(#loc4))
"""


def test_a_location_is_followed_to_its_file():
    found = source_lines(TEXT)
    assert [(line, source) for line, source in enumerate(found) if source] == [
        (3, "b/in_jax.py:3"),
        # Where it was called from is not where it is.
        (4, "b/in_jax.py:7"),
    ]


def test_a_text_without_locations_has_none():
    assert source_lines("%0 = stablehlo.tanh %a : tensor<2xf32>\nreturn %0") is None


def test_a_location_that_refers_to_itself_is_unknown():
    assert source_lines("%0 = a.b %a loc(#loc1)\n#loc1 = loc(#loc2)\n#loc2 = loc(#loc1)") is None


def test_a_text_without_locations_takes_those_of_the_same_text_with_them():
    plain = [line.split(" loc(")[0] for line in TEXT.splitlines() if not line.startswith("#loc")]
    found = of_plain("\n".join(plain), TEXT)
    assert [(plain[place].strip()[:2], source) for place, source in enumerate(found) if source] == [
        ("%0", "b/in_jax.py:3"),
        ("%1", "b/in_jax.py:7"),
    ]
    assert load(dump(found)) == found
    assert of_plain("return %0", "") is None


def test_locations_of_another_text_are_refused():
    with pytest.raises(ValueError, match="expected the 1 lines of the text; 7"):
        of_plain("return %0", TEXT)
