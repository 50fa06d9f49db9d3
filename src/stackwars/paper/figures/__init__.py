"""The paper's figures, in one style.

They read frame.csv, calls.csv, ratios.csv, replay.csv, split.csv and graphs.json; `write` and `graph` write
one PDF for each figure.
"""
