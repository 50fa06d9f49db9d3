"""Everything that tells Snakemake what to run: plan, targets, job files, locks, messages.

Only `publish.accept` imports it from another room. It reads the configuration, the devices of this machine and what
results there are; it writes job files, the plan of a run and its locks under `.snakemake/`, and devices.json.
"""
