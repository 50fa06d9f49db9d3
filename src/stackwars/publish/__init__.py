"""Publishing: the paper, the report, and the acceptance of a run into the reference.

It reads the tables that the study wrote and the raw results below them. `paper` renders LaTeX, `report` one HTML file,
and `accept` puts a run into `results/reference` and draws the figure of the README.
"""
