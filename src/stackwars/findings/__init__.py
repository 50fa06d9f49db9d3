"""Findings: what the numbers say, each an identity, a verdict in a fixed word, and the numbers behind it.

It reads the tables of `stackwars.results`, the published numbers and audits.json; `collect` writes
findings.json, from which the paper's sentences and the claims are decided.
"""
