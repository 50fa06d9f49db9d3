"""The paper's figures, in one style.

`of_cells` and `of_compilers` write one PDF for each figure, from the tables of `stackwars.study.results.dataset`, the
calls of cells, and the graphs of programs.
"""
