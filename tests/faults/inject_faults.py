"""Inject every fault into a copy of a finished smoke run: `make test-faults`, which names this file.

Its name keeps it out of the other tests, because it takes minutes and mounts small disks.
"""

import pytest

from faults import file_faults, process_faults
from faults.injection import inject
from faults.scratch import PAPER, Scratch, base
from stackwars.core.launch import REPOSITORY

HOME = REPOSITORY / ".faults"


@pytest.fixture(scope="session")
def made() -> Scratch:
    """The checkout with a finished run, kept from one call to the next."""
    return base(HOME / "base", PAPER)


@pytest.mark.parametrize("fault", [*process_faults.FAULTS, *file_faults.FAULTS], ids=lambda fault: fault.name)
def test_a_fault_is_survived(fault, made):
    inject(fault, made, HOME)
