"""Measuring: the parent that starts and limits a process, the process that times, and the statistics.

It reads a job (framework, workload, sizes, settings) and writes one folder for each process, with its events,
output sample and StableHLO; `cell` puts the processes of a cell together as cell.json. An interleaved run is
two such processes, one of them of the baseline, that alternate. The statistics take values of processes and
know nothing of files.
"""

PROTOCOL = 3
"""Version of the measuring protocol: raised when a ratio measured before can no longer be combined with one
measured after. 2: steady ratios are of interleaved slices, a round is a fresh process of every framework. 3: whole
loops of subject and baseline alternate, a round is a fresh process of both."""
NEGLIGIBLE = 0.05
"""Two times are called equal where the whole interval of their ratio lies within this share of 1."""
FORMS = "forms"
"""The folder beside a cell of what the framework's compiler makes of the workload: a file for each form."""
