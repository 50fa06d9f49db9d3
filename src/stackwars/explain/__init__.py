"""Explain programs: which is slow, large, wrong, crashed or refused in which compiler, and why.

`explain` tries every program in every compiler, prints the table of outcomes, and searches the cause of each gap in
time, memory or compiling and of each fault: regions, layouts, passes and flags. It finds where programs that compute
different things part. `recompilation.explain` searches why calls compile again. Both return an `answer.Answer`.
`capture` runs a script and finds the module that it spends most time in.

Programs are text and values are arrays: everything that compiles or runs does so in a worker process, which may crash.
This room imports `stackwars.core` alone. It knows no frontend, no workload, no results folder and no Snakemake: who
calls it gives it programs, and compilers as Pythons that have them.
"""

from stackwars.explain.driver import explain

__all__ = ["explain"]
