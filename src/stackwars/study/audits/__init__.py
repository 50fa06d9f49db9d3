"""Audits of the harness: does it time what it claims, reject what is broken, and find the differences that exist?

A module for each audit that is measured; `snakemake audits` runs them all, and `report` writes every verdict with
its figures to audits.json.
"""
