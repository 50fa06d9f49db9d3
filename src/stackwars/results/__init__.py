"""Results as tidy tables: from the files of cells, replays and compilations to CSV, and reading the CSV back.

It reads a folder of results (cell.json, replay.json, profile.json, ahead.json, programs) and the published
numbers; it writes frame.csv, calls.csv, ratios.csv, context.json, replay.csv, split.csv, op_times.csv,
gap_causes.csv, compile_ahead.csv, largest_batch.csv, ir_metrics.csv and structure.csv. Every column is
described where it is computed.
"""
