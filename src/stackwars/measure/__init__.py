"""Measuring: the process that times, a worker of core; the order of its commands; and the statistics.

It reads a job (framework, workload, sizes, settings) and writes a cell: in each of its rounds a fresh process and one
of its baseline, which take turns (`conduct`) and whose loops alternate (`loops`). The statistics take values of
processes and know nothing of files. `frameworks` and `workloads` are what is measured; `stablehlo` lowers, checks,
replays and compiles their programs.

It imports `setup` and `core`. Code that runs in a framework's environment imports only packages of that environment.
"""

PROTOCOL = 3
"""Version of the measuring protocol, raised if new ratios can no longer be combined with older ones.
3: every ratio compares a process with its partner in the same round; a steady ratio compares their loops."""
FORMS = "forms"
"""Folder next to a cell's files: what the framework's compiler makes of the workload, a file for each form."""
