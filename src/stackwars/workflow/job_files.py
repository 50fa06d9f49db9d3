"""What a job is handed that is too long for its command: in a file, named by what is in it.

A command then is short and can be pasted into a shell, and a job is out of date where its content changed,
for then the name is another one.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

FOLDER = Path(".snakemake", "stackwars", "handed")


def file(kind: str, content: Any, folder: Path = FOLDER) -> str:
    """The path of a JSON file with this content, written unless it is there. kind: the name's beginning.

    Keys keep their order: that of the configuration's frameworks and compilers is that of the tables.
    """
    text = json.dumps(content, indent=1)
    path = folder / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(text)
        part.replace(path)
    return str(path)
