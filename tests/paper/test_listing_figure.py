"""LaTeX of the listings: plain text."""

import pytest

from stackwars.paper import listing_figure


def test_a_figure_holds_both_listings_and_escapes_its_text():
    text = listing_figure.figure(
        [("JAX", ["%0 = a_b"]), ("torch_xla", ["}"])], "50 % of {...}", "ffn"
    )
    assert text.count(r"\begin{lstlisting}[style=stablehlo]") == 2
    assert "%0 = a_b\n" in text  # verbatim in the listing
    assert r"(b) torch\_xla" in text
    assert r"\caption{50 \% of \{...\}}\label{fig:listing-ffn}" in text


def test_a_third_listing_stands_below_and_all_are_shorter():
    text = listing_figure.figure([("one", ["a"]), ("two", ["b"]), ("three", ["c"])], "x", "y")
    assert text.count(r"\begin{lstlisting}") == 3 and text.count(r"\hfill") == 1
    assert text.index("(b) two") < text.index(r"\medskip") < text.index("(c) three")
    assert 2 * listing_figure.page_lines(76, 3) <= listing_figure.page_lines(76, 2)


def test_style_fits_the_columns():
    assert r"\numexpr 62*\number\stablehlocell" in listing_figure.style(62)


def test_more_columns_are_smaller_and_so_more_lines():
    assert listing_figure.page_lines(62) < listing_figure.page_lines(76) < 100
    assert listing_figure.page_lines(40) == listing_figure.page_lines(
        50
    )  # the font grows no further than 8 pt


def test_text_that_would_end_the_listing_is_refused():
    with pytest.raises(ValueError, match="must not contain it"):
        listing_figure.listing([r"call @\end{lstlisting}"])
