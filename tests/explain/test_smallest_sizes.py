"""The smallest sizes with a fault."""

import pytest

from stackwars.explain.shapes import smallest


def search(sizes, is_faulty, limit=60):
    count = 0

    def counted(one):
        nonlocal count
        count += 1
        assert count <= limit, "too many programs are lowered"
        return is_faulty(one)

    return smallest(sizes, counted)


@pytest.mark.parametrize(
    ("sizes", "is_faulty", "least"),
    [
        ({"rows": 40961, "columns": 3}, lambda s: s["rows"] > 32768 and s["columns"] == 3, [32769, 3]),
        ({"rows": 1024, "columns": 1024}, lambda s: s["rows"] > 2, [3, 1]),
        ({"rows": 100, "columns": 100}, lambda s: s["rows"] * s["columns"] >= 4096, None),
        ({"hidden": 768, "heads": 12}, lambda s: s["hidden"] % s["heads"] == 0 and s["hidden"] > 90, [91, 1]),
        ({"hidden": 768}, lambda s: s["hidden"] % 12 == 0 and s["hidden"] > 90, [96]),
        ({"rows": 5}, lambda s: s["rows"] == 5, [5]),
        ({}, lambda s: True, []),
    ],
)
def test_none_can_be_made_smaller_alone(sizes, is_faulty, least):
    found = search(sizes, is_faulty)
    assert is_faulty(found)
    if least is None:
        assert not any(is_faulty({**found, name: extent - 1}) for name, extent in found.items())
    else:
        assert list(found.values()) == least


def test_the_smallest_so_far_is_the_answer_once_time_is_up():
    count = 0

    def is_faulty(sizes):
        nonlocal count
        count += 1
        if count > 6:
            raise TimeoutError
        return sizes["rows"] > 10

    found = smallest({"rows": 1000}, is_faulty)
    assert 10 < found["rows"] < 1000
