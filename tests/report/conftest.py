"""One browser for all tests, the document of the reference, and two reports as files."""

import pickle

import pytest

from chromium import Chromium
from report_fixture import made_document, reference_document
from stackwars.publish.report.write import page


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def reports(document, tmp_path_factory):
    """The paths of the reports of the reference and of a made run."""
    folder = tmp_path_factory.mktemp("reports")
    made = {"reference": document, "run": made_document()}
    for name, shown in made.items():
        (folder / f"{name}.html").write_text(page(shown))
    return {name: folder / f"{name}.html" for name in made}
