"""LaTeX of the listings: plain text."""

import pytest

from stackwars.paper import listing_figure


def test_a_figure_holds_both_listings_and_escapes_its_text():
    columns = [[("JAX", ["%0 = a_b"])], [("torch_xla", ["}"])]]
    text = listing_figure.figure(columns, "50 % of {...}", "ffn")
    assert text.count(r"\begin{lstlisting}[style=stablehlo]") == 2
    assert "%0 = a_b\n" in text  # verbatim in the listing
    assert r"(b) torch\_xla" in text
    assert r"\caption{50 \% of \{...\}}\label{fig:listing-ffn}" in text


def test_the_listings_of_a_column_stand_below_each_other():
    text = listing_figure.figure([[("one", ["1"]), ("two", ["2"])], [("three", ["3"])]], "x", "y")
    places = [text.index(part) for part in ("(a) one", r"\medskip", "(b) two", r"\hfill", "(c) three")]
    assert places == sorted(places) and text.count(r"\begin{minipage}") == 2


def test_style_fits_the_characters():
    assert r"\numexpr 62*\number\stablehlocell" in listing_figure.style(62)


def test_more_characters_are_smaller_and_so_more_lines():
    assert listing_figure.page_lines(62) < listing_figure.page_lines(76) < 100
    # The font grows no further than 8 pt.
    assert listing_figure.page_lines(40) == listing_figure.page_lines(50)


def test_text_that_would_end_the_listing_is_refused():
    with pytest.raises(ValueError, match="fix: rename"):
        listing_figure.listing([r"call @\end{lstlisting}"])
