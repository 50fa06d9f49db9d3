"""Measuring: the parent that starts and limits a process, the process that times, and the statistics.

It reads a job (framework, workload, sizes, settings) and writes one folder for each process, with its events,
output sample and StableHLO; `cell` puts the processes of a cell together as cell.json. An interleaved run is
two such processes, one of them of the baseline, that alternate. The statistics take values of processes and
know nothing of files.
"""
