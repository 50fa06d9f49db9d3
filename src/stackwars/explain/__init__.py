"""Why one program is slower than another, wrong, or refused: regions, layouts, passes, flags and releases.

The process that searches handles programs as text and values as NumPy arrays. Everything that compiles or
runs does so in a worker process in a compiler's environment, which may crash. Nothing here needs Snakemake or
a results folder.
"""
