"""Listings side by side as LaTeX: the style that they share, one listing, the figure of two or more.

The font follows from the number of columns: as large as lets that many characters fill the column,
so a line broken to that number can never run over, whatever width the column has.
"""

from __future__ import annotations

from string import ascii_lowercase

from stackwars.paper.latex import escape

LEADING = 1.13  # line spacing over font size

_STYLE = r"""% Style of the StableHLO listings, for package listings; COLUMNS characters a line.
% In OT1, braces and angles would come from other fonts, of another width.
\RequirePackage[T1]{fontenc}
\newlength{\stablehlocell}
\newlength{\stablehlosize}
\newcommand{\stablehlofont}{%
  \fontencoding{T1}\fontfamily{txtt}\fontsize{10}{10}\selectfont
  \settowidth{\stablehlocell}{0}%
  \setlength{\stablehlosize}{\dimexpr
    9.99pt*\number\linewidth/\numexpr COLUMNS*\number\stablehlocell\relax\relax}%
  \ifdim\stablehlosize>8pt \setlength{\stablehlosize}{8pt}\fi
  \fontsize{\stablehlosize}{LEADING\stablehlosize}\selectfont}
\lstdefinestyle{stablehlo}{basicstyle=\stablehlofont,columns=fullflexible,keepspaces=true,
  showstringspaces=false,breaklines=false,morecomment=[l]{//},commentstyle=\itshape,
  xleftmargin=0pt,framesep=0pt,aboveskip=0pt,belowskip=2pt}
"""


def style(columns: int) -> str:
    """Definition of the listings style `stablehlo`, for the preamble."""
    return _STYLE.replace("COLUMNS", str(columns)).replace("LEADING", str(LEADING))


def page_lines(columns: int, listings: int = 2) -> int:
    """Lines of each of some listings, two beside each other, that fit a page of IEEEtran above a caption, at
    the size that `columns` gives.

    620 pt of height over line spacing; a line of half the width, 250 pt, holds `columns` characters
    of 0.525 em (txtt).
    """
    size = min(8.0, 250 / (0.525 * columns))
    rows = -(-listings // 2)
    return int(620 / (LEADING * size) / rows)


def listing(lines: list[str]) -> str:
    """One lstlisting environment. Raises ValueError for text that would end it early."""
    if any("\\end{lstlisting}" in line for line in lines):
        raise ValueError(
            "expected StableHLO lines, one holds \\end{lstlisting}: the name of a function or "
            "target must not contain it"
        )
    return "\n".join([r"\begin{lstlisting}[style=stablehlo]", *lines, r"\end{lstlisting}", ""])


def figure(listings: list[tuple[str, list[str]]], caption: str, key: str) -> str:
    """A figure over both columns of (title, lines), two beside each other, labelled `fig:listing-<key>`.

    Titles and caption are plain text.
    """
    halves = [
        r"\begin{minipage}[t]{0.485\textwidth}"
        f"\n{listing(lines)}"
        rf"\centering\footnotesize ({letter}) {escape(title)}"
        "\n\\end{minipage}"
        for letter, (title, lines) in zip(ascii_lowercase, listings, strict=False)
    ]
    # The space between the halves is \hfill alone: no line may end without a comment sign.
    rows = ["\\hfill%\n".join(halves[at : at + 2]) for at in range(0, len(halves), 2)]
    return "\n".join(
        [
            r"\begin{figure*}[!tp]",
            "\n\n\\medskip\n".join(rows),
            rf"\caption{{{escape(caption)}}}\label{{fig:listing-{key}}}",
            r"\end{figure*}",
            "",
        ]
    )
