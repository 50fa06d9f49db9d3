"""docs/claims_changes.md: what became of every earlier claim, and why."""

import re

from claims_fixture import claims
from stackwars.core.launch import REPOSITORY

PAGE = (REPOSITORY / "docs" / "claims_changes.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| `")
]


def name(cell: str) -> str:
    """Return the id at the start of a cell."""
    return re.match(r"`(\w+)`", cell)[1]


def test_each_of_75_claims_has_a_reason_and_what_is_left_of_it_is_a_claim():
    assert len({name(before) for before, _, _ in ROWS}) == len(ROWS) == 75
    assert all(why for *_, why in ROWS)
    left = {one.id: one.sentence for one in claims().claims}
    after = {}
    for before, now, _ in ROWS:
        if now == "unchanged":
            after[name(before)] = before
        elif now != "struck":
            after[name(now)] = now
    added = set(re.findall(r"`(\w+)`", re.search(r"^Added since.*$", PAGE, re.MULTILINE)[0]))
    assert after.keys() | added == left.keys() and not added & after.keys()
    assert all(left[identity] in text for identity, text in after.items())
