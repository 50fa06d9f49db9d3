"""Checkouts for the tests of a module."""

import pytest

import study
from checkout import copy_checkout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> study.Study:
    """A fresh checkout of this repository."""
    return study.Study(copy_checkout(tmp_path_factory.mktemp("checkout")))
