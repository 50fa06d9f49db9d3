"""The report: one self-contained HTML file with the raw calls, ratios, programs, profiles and claims of a run.

It reads the tables of a folder of results, the cells, profiles and programs that they are made from, and the
audits, and writes report.html. It opens from disk: nothing is fetched. What it shows is gathered and packed
here; the page in `page/` draws it, a script for each view.
"""
