"""The report: one self-contained HTML file to look into a run, its raw calls, comparisons, programs and claims.

It reads the tables of the run and of the reference, and the raw results, programs and profiles in the folder of
the tables. report.html opens from disk and fetches nothing. Its rows are gathered here; the page in `page/` selects and
draws them, a script for each view, with plots as inline SVG. A library for plots would weigh more than all scripts of
the page.
"""
