"""What the tests open the report in: ``python -m stackwars.setup.browser``, which only `make test` runs.

On Debian 12 it is 113 MB to fetch and 414 MB on the disk, in 20 s.
"""

from __future__ import annotations

import shutil
import sys

from stackwars.setup import preflight
from stackwars.setup.preflight import Missing

COMMAND = "chromium"
"""Debian's package of it has the same name."""
LACKING = Missing(f"{COMMAND}, in which the tests open the report: they are skipped", (COMMAND,))


def explain() -> str:
    """That it is missing, and the line that installs it on Debian."""
    return f"this machine lacks {LACKING.what}. On Debian: {preflight.install_line([LACKING])}"


def main() -> None:
    """Install the browser where it is missing, as root with apt-get; else say how. Never fails: no other test
    needs it, and not every distribution has a package of it.
    """
    if shutil.which(COMMAND) is None:
        preflight.install([LACKING], needed=False)
    if shutil.which(COMMAND) is None:
        print(f"[set-up] warning: {explain()}", file=sys.stderr)


if __name__ == "__main__":
    main()
