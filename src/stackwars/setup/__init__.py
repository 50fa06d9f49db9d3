"""Set-up: what this machine must have, and the pinned Python environments in which everything else runs.

It reads the pins files in `envs/` and the machine (Python, TeX, disk, package index); it writes one virtual
environment for each pins file, in `.envs/` or the folder named by STACKWARS_ENVS. Standard library only, so
that it runs before anything is installed.
"""
