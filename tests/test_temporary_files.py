"""TensorFlow's AutoGraph leaves temporary files, because a lowering exits without the framework's clean-up."""

import tempfile

from stackwars.measure.stablehlo import lower


def test_those_of_a_lowering_end_with_it(tmp_path, monkeypatch):
    def leave_a_file(job, has_values):
        return tempfile.mkstemp()[1], {}

    monkeypatch.setattr(lower, "lower", leave_a_file)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert lower._fork(None, tmp_path / "program", 0) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["program"]
