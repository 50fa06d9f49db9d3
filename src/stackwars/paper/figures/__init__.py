"""The paper's figures, in one style.

They read the tables of `stackwars.results`, claims.csv and graphs.json; `of_cells`, `of_compilers`, `of_claims`
and `graph` write one PDF for each figure.
"""
