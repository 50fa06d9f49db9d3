"""Claims: sentences that the tables of a run support or contradict.

A claim is a query over the columns of one table, with a quantifier (`config/claims.yaml`). Each row that it
selects votes for the claim, against it, or leaves it open. `decide` writes claims.csv, or decides a
single claim from what that claim alone needs, and `compare` says which results of the reference a run reproduces.
"""
