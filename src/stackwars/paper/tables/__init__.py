"""The paper's tables: a function for each, from a data frame to a LaTeX table.

They read the CSV files of `stackwars.results`, audits.json and claims.csv; `write` and `claims` write one
.tex file for each table.
"""
