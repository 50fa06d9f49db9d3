"""The study: which cells, programs, replays and compilations the configuration asks for.

It reads `config/config.yaml` and its schema, and refuses a mistake before anything runs; it tells the other
rooms which jobs there are, their settings, their source files, and where their results lie. Two of
its modules are jobs themselves, because they order searches of `explain` for a program of the study: `releases` and
`replay_causes`.
"""
