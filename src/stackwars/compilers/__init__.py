"""One XLA for every framework's StableHLO: lower it, edit it, replay it on the CPU, compile it for targets.

It reads jobs and programs (program.mlir.gz with its arguments.json) and writes programs, replay.json and
profile.json for the replay of a workload's programs in one client, ahead.json for a compilation for a
target, and largest_batch.json for the search for the largest batch that fits one.
"""
