"""Random programs: none that is right is accused, and faults that are planted are found."""

import pytest

from core import generated
from core.test_judging import spec


@pytest.mark.env
def test_right_programs_are_right_and_planted_faults_are_found() -> None:
    xla = spec("xla-0.10.2")
    found = generated.run(17, 4, [xla], xla)
    assert not [one for one in found.details if one.startswith("accused")], found.details
    assert found.right["xla-0.10.2: ok"] >= 14
    assert dict(found.faults) == {"wrong": 4}, found.details
