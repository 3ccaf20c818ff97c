"""What people are told of where a file is."""

from pathlib import Path

import pytest

from nodus_tui.authoring.places import place_words


def test_a_file_is_told_from_its_folder_the_examples_or_the_home_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = tmp_path / "program" / "examples"
    monkeypatch.setattr("nodus_tui.authoring.finding.examples_folder", lambda: shipped)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    folder = tmp_path / "home" / "evaluations"
    assert place_words(folder / "nightly" / "a.yaml", folder) == "nightly/a.yaml"
    assert place_words(shipped / "sweeps" / "parameters.yaml", folder) == "examples/sweeps/parameters.yaml"
    assert place_words(tmp_path / "home" / "a.yaml", folder) == "~/a.yaml"
    assert place_words(tmp_path / "a.yaml", folder) == str(tmp_path / "a.yaml")
