"""The tables of the paper: a specification of each (`table.Table`), and one renderer for all.

A module here has the tables of one subject. `REGISTRY` in :mod:`stackwars.publish.paper.tables.write` lists them all.
"""
