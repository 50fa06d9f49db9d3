"""Audits of the harness: does it time what it claims, reject what is broken, and find the differences that exist?

`fences`, `subjects` and `paired` measure; `snakemake audits` runs them all, and `report` writes every verdict with
its figures to audits.json.
"""
