"""Results as eight tables and two summaries: from what was measured to CSV, and reading the CSV back.

It reads a folder of results (the JSON of cells, replays, causes, growth, sharding and compilations; programs), the
accepted runs and the published numbers. It writes cells.csv, programs.csv, values.csv, releases.csv, rounds.csv,
comparisons.csv, causes.csv, profile.csv, effects.csv and context.json; `schema` describes every column. Claims, the
paper and the report read them through `dataset`.
"""
