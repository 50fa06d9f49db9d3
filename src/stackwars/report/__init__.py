"""The report: one self-contained HTML file with the raw calls, ratios, programs and claims of a run.

It reads the tables of a folder of results, the cells that they are made from, and the audits, and writes
report.html. It opens from disk: nothing is fetched.
"""
