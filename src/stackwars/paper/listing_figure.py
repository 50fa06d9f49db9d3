"""Listings side by side as LaTeX: the style that they share, and the figure of two columns of them.

The font follows from the number of characters in a line: as large as lets that many fill the column, so a line
broken to that number can never run over, whatever width the column has.
"""

from __future__ import annotations

from string import ascii_lowercase

from stackwars.paper.latex import escape

LEADING = 1.13  # line spacing over font size
Listing = tuple[str, list[str]]
"""Title and lines."""

_STYLE = r"""% Style of the StableHLO listings, for package listings; CHARACTERS in a line.
% In OT1, braces and angles would come from other fonts, of another width.
\RequirePackage[T1]{fontenc}
\newlength{\stablehlocell}
\newlength{\stablehlosize}
\newcommand{\stablehlofont}{%
  \fontencoding{T1}\fontfamily{txtt}\fontsize{10}{10}\selectfont
  \settowidth{\stablehlocell}{0}%
  \setlength{\stablehlosize}{\dimexpr
    9.99pt*\number\linewidth/\numexpr CHARACTERS*\number\stablehlocell\relax\relax}%
  \ifdim\stablehlosize>8pt \setlength{\stablehlosize}{8pt}\fi
  \fontsize{\stablehlosize}{LEADING\stablehlosize}\selectfont}
\lstdefinestyle{stablehlo}{basicstyle=\stablehlofont,columns=fullflexible,keepspaces=true,
  showstringspaces=false,breaklines=false,morecomment=[l]{//},commentstyle=\itshape,
  xleftmargin=0pt,framesep=0pt,aboveskip=0pt,belowskip=2pt}
"""


def style(characters: int) -> str:
    """Return the definition of the listings style `stablehlo`, for the preamble."""
    return _STYLE.replace("CHARACTERS", str(characters)).replace("LEADING", str(LEADING))


def page_lines(characters: int) -> int:
    """Return the lines that fit a page of IEEEtran above a caption, at the size that `characters` gives.

    620 pt of height over line spacing; a line of half the width, 250 pt, holds that many characters of 0.525 em
    (txtt).
    """
    return int(620 / (LEADING * min(8.0, 250 / (0.525 * characters))))


def listing(lines: list[str]) -> str:
    """Return one lstlisting environment.

    :raises ValueError: for text that would end it early.
    """
    if any("\\end{lstlisting}" in line for line in lines):
        raise ValueError(
            "expected lines of a program, got one with \\end{lstlisting}; fix: rename the function or target that "
            "contains it"
        )
    return "\n".join([r"\begin{lstlisting}[style=stablehlo]", *lines, r"\end{lstlisting}", ""])


def figure(columns: list[list[Listing]], caption: str, key: str) -> str:
    """Return a figure over both columns of the page, labelled `fig:listing-<key>`.

    columns: two, the listings of each below each other. Titles and caption are plain text.
    """
    letters = iter(ascii_lowercase)
    # The space between the columns is \hfill alone: no line may end without a comment sign.
    halves = "\\hfill%\n".join(
        "\\begin{minipage}[t]{0.485\\textwidth}\n"
        + "\n\n\\medskip\n".join(_titled(lines, next(letters), title) for title, lines in column)
        + "\n\\end{minipage}"
        for column in columns
    )
    label = rf"\caption{{{escape(caption)}}}\label{{fig:listing-{key}}}"
    return "\n".join([r"\begin{figure*}[!tp]", halves, label, r"\end{figure*}", ""])


def _titled(lines: list[str], letter: str, title: str) -> str:
    return rf"{listing(lines)}{{\centering\footnotesize ({letter}) {escape(title)}\par}}"
