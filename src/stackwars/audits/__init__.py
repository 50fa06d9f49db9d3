"""Audits: checks of the harness. Does it time what it says, reject what is broken, find what is there?

They read the results of a run and measure processes of their own, one module for each check; `snakemake
audits` runs them all, and `report` writes every audit's verdict, with its figures, to audits.json.
"""
