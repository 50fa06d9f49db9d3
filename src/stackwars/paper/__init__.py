"""The paper: LaTeX from templates whose sentences are decided by findings.

It reads findings.json, context.json, claims.csv, the templates in `paper/` and what its own tables, figures
and listings have written; `render` writes the folder of LaTeX that is typeset as paper.pdf.
"""
