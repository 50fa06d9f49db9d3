"""Checks of the harness itself: does it time what it says, reject what is broken, find what is there?

`snakemake audits` runs them all; `stackwars.audits.report` puts their answers together.
"""
