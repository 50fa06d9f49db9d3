"""Several steps in one process: `python -m stackwars.workflow.steps MODULE... --config FILE --results FOLDER`.

Each module has `write(config, folder)`, and they are called in this order. To start Python and to load pandas
takes longer than most of them.
"""

from __future__ import annotations

import sys
from importlib import import_module

from stackwars.claims.definitions import ClaimError
from stackwars.results.folder import chosen, parser


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("modules", nargs="+", metavar="MODULE")
    a = arguments.parse_args()
    config, folder = chosen(a)
    try:
        for name in a.modules:
            import_module(name).write(config, folder)
    except ClaimError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
