"""The paper: LaTeX from fixed prose about the reference, with numbers and verdicts from the tables.

It reads the tables of the run and of the reference, the templates in `paper/` and what its own tables, figures
and listings have written; `render` writes the folder of LaTeX that is typeset as paper.pdf.
"""
