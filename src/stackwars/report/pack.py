"""What only one view of the report needs, packed: the page unpacks it when that view is asked for."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any


def packed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the details of cells, the texts of programs, graphs and profiles as packed texts."""
    timeline = document["timeline"]
    return {
        **document,
        **{
            name: {key: pack(one) for key, one in document[name].items()}
            for name in ("details", "replays")
        },
        "rounds": pack(document["rounds"]),
        "programs": [{**one, "forms": pack(one["forms"])} for one in document["programs"]],
        "graphs": [
            {**one, **{name: one[name] and pack(one[name]) for name in ("graph", "unfolded")}}
            for one in document["graphs"]
        ],
        "timeline": {
            **timeline,
            "calls": [
                {**call, "profile": call["profile"] and pack(call["profile"])}
                for call in timeline["calls"]
            ],
        },
    }  # fmt: skip


def pack(value: object) -> str:
    """Base64 of gzip of JSON; the same text for the same value.

    >>> unpack(pack({"ms": [1.5, None]}))
    {'ms': [1.5, None]}
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def unpack(text: str) -> Any:
    """The value of a packed text."""
    return json.loads(gzip.decompress(base64.b64decode(text)))
