"""screenshots/ shows what the console shows: each has the text of the picture of the same place, with which the console is compared."""

from pathlib import Path

import pytest
from shots import SHOT_SIZES, SHOTS, THEME_SIZE, slug, text_of

PICTURES = Path(__file__).parent / "pictures"
SCREENSHOTS = Path(__file__).parents[2] / "screenshots"
AGAIN = "Make the screenshots anew and look at them: python scripts/screenshots.py"
PLACES = {f"{slug(stop)}-{width}x{height}": height for stop in SHOTS for width, height in SHOT_SIZES}
THEMES = {path.stem: THEME_SIZE[1] for path in PICTURES.glob("theme-*.txt") if path.stem != "theme-nodus-dark"}


def shown(name: str, height: int) -> list[str]:
    lines = (PICTURES / f"{name}.txt").read_text(encoding="utf-8").split("\n")[:height]
    return [line.rstrip() for line in lines]


@pytest.mark.parametrize(("name", "height"), [*PLACES.items(), *THEMES.items()])
def test_a_screenshot_shows_what_the_console_shows(name: str, height: int) -> None:
    path = SCREENSHOTS / f"{name}.svg"
    assert path.exists(), f"there is no screenshot {name}. {AGAIN}"
    drawn = text_of(path.read_text(encoding="utf-8"))
    # Nothing is drawn for empty lines at the end.
    assert drawn + [""] * (height - len(drawn)) == shown(name, height), AGAIN


def test_no_screenshot_is_left_of_what_is_gone() -> None:
    assert {path.stem for path in SCREENSHOTS.iterdir()} == {*PLACES, *THEMES}, AGAIN


def test_what_the_documents_show_is_there() -> None:
    documents = [Path(__file__).parents[2] / "README.md", *(Path(__file__).parents[2] / "docs").glob("*.md")]
    texts = [path.read_text(encoding="utf-8") for path in documents]
    named = {part.partition(")")[0] for text in texts for part in text.split("screenshots/")[1:] if ".svg)" in part}
    assert named
    assert all((SCREENSHOTS / name).exists() for name in named)
