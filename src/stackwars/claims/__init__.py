"""Claims: sentences that the findings of a run support or contradict.

It reads `config/claims.yaml` and findings.json; it writes claims.csv for the paper, the verdict of a single
claim from what that claim alone needs, and the tables of claims in README.md and docs/claims.md.
"""
