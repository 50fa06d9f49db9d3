"""The study: cells, programs, replays and compilations that the configuration selects, and what their results say.

The modules here read `config/config.yaml` and refuse a mistake before anything runs; they name the jobs, their
settings, their source files and where their results lie. Three of them are jobs themselves, because they order
searches of `explain` for programs of the study: `releases` and `searches`. `results` turns measurements
into tables, `audits` tests the harness, `claims` decides sentences, and `workflow` tells Snakemake what to run.

It imports `measure`, `explain`, `setup` and `core`, and nothing of `publish`.
"""
