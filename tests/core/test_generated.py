"""Random programs: none that is right is accused, and faults that are planted are found."""

import pytest

from core import generated


@pytest.mark.env
def test_right_programs_are_right_and_planted_faults_are_found(worker) -> None:
    found = generated.run(len(generated.KINDS), 2, [worker.spec], worker.spec)
    assert not [one for one in found.details if one.startswith("accused")], found.details
    assert found.right["xla-0.10.2: ok"] >= 14
    assert dict(found.faults) == {"wrong": 2}, found.details
