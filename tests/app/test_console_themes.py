"""Themes: readable by WCAG, whole, and told apart from broken ones in a sentence."""

from pathlib import Path

import pytest

from nodus_tui.theming import ThemeFile, contrast, load_themes, packaged_folder
from nodus_tui.view_state.cells import Tone

PACKAGED = {theme.name: theme for theme in load_themes((packaged_folder(),)).themes}
READABLE = 4.5
"""WCAG 2.1 level AA for text."""


def test_the_packaged_themes_are_all_fit() -> None:
    loaded = load_themes((packaged_folder(),))
    assert loaded.problems == ()
    assert {theme.name for theme in loaded.themes} >= {"nodus-dark", "nodus-light", "nodus-ansi"}


@pytest.mark.parametrize("theme", [theme for theme in PACKAGED.values() if not theme.ansi], ids=lambda theme: theme.name)
def test_every_text_is_readable_on_every_ground(theme: ThemeFile) -> None:
    grounds = theme.grounds.model_dump()
    low = {
        f"{tone.value} on {name}": round(contrast(colour, ground), 2)
        for tone, colour in theme.tones.items()
        if tone is not Tone.TRACK
        for name, ground in grounds.items()
        if contrast(colour, ground) < READABLE
    }
    assert low == {}


def test_contrast_is_that_of_wcag() -> None:
    assert round(contrast("#000000", "#ffffff"), 2) == 21
    assert round(contrast("#777777", "#ffffff"), 2) == 4.48


def test_the_sixteen_colour_theme_names_only_the_terminals_own() -> None:
    theme = PACKAGED["nodus-ansi"]
    assert all(colour.startswith("ansi_") for colour in (*theme.tones.values(), *theme.grounds.model_dump().values()))


def test_all_faults_of_a_theme_are_told_at_once_with_the_file(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("name: UPPER\ndark: maybe\ncolour: red\ngrounds: {background: nocolour}\ntones: {plain: '#fff'}\n", encoding="utf-8")
    [problem] = load_themes((tmp_path,)).problems
    for part in (str(bad), "name", "dark", "colour", "grounds.background", "grounds.surface"):
        assert part in problem


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a: [", b"", b"- 1"])
def test_a_file_that_is_no_theme_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.yaml").write_bytes(content)
    loaded = load_themes((tmp_path,))
    assert loaded.themes == ()
    assert len(loaded.problems) == 1


def test_a_users_theme_replaces_one_of_the_same_name_and_a_missing_tone_is_named(tmp_path: Path) -> None:
    text = (packaged_folder() / "nodus-dark.yaml").read_text(encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(text.replace('plain: "#d3dae3"', 'plain: "#eeeeee"'), encoding="utf-8")
    loaded = load_themes((packaged_folder(), tmp_path))
    assert next(theme for theme in loaded.themes if theme.name == "nodus-dark").tones[Tone.PLAIN] == "#eeeeee"
    (tmp_path / "mine.yaml").write_text(text.replace('  mark: "#d3adff"\n', ""), encoding="utf-8")
    assert load_themes((tmp_path,)).problems[0].endswith("has no colour for mark")
