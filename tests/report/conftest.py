"""A browser, and the document of the reference."""

import pickle

import pytest

from chromium import Chromium
from report_fixture import reference_document


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    made = Chromium(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def document(made_once, reference_tables):
    """The reference's, without its programs, which are made in the environment of a framework."""

    def make(folder):
        (folder / "document").write_bytes(pickle.dumps(reference_document(reference_tables)))

    return pickle.loads((made_once("document", make) / "document").read_bytes())
