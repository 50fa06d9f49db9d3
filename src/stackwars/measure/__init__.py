"""Measuring: the process that times, a worker of core; the order of its commands; and the statistics.

It reads a job (framework, workload, sizes, settings) and writes a cell: in each of its rounds a fresh process and one
of its baseline, which take turns (`conduct`) and whose loops alternate (`loops`). The statistics take values of
processes and know nothing of files. `frameworks` and `workloads` are what is measured; `stablehlo` lowers, checks,
replays and compiles their programs.

It imports `setup` and `core`. What runs in a framework's environment imports no package that the environment lacks.
"""

PROTOCOL = 3
"""Version of the measuring protocol: raised when a ratio measured before can no longer be combined with one
measured after. 3: every ratio is of a process and its partner in the same round, a steady one of their loops."""
FORMS = "forms"
"""The folder beside a cell of what the framework's compiler makes of the workload: a file for each form."""
