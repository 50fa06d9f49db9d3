"""`python -m stackwars.study.workflow.lint`: Snakemake's linter, without its request for an environment of each rule.

A rule's command names its environment itself (`stackwars.setup.environments`, pins in envs/), because one command
can have two, and a framework that this Python cannot have is a result. `conda:` or `container:` would be lines that
no run uses.
"""

from __future__ import annotations

import sys

from snakemake.cli import main
from snakemake.linting.rules import RuleLinter

# An AttributeError says that this Snakemake names the check differently.
del RuleLinter.lint_missing_software_definition

if __name__ == "__main__":
    main(["--lint", *sys.argv[1:]])
