"""The pictures in screenshots/: which there are, how they are taken, and what text stands in one. `scripts/screenshots.py` makes them."""

import html
import re
from pathlib import Path

from console_driver import console
from console_stops import STOPS, go_to
from rich.color import Color
from rich.terminal_theme import SVG_EXPORT_THEME, TerminalTheme

from nodus_tui.app import NodusApp
from nodus_tui.contract.console_configuration import ConsoleSettings
from nodus_tui.theme_shelf import ThemeShelf, packaged_folder
from nodus_tui.theming import DEFAULT_THEME

SHOTS = (
    "campaigns",
    "group",
    "group, at work",
    "group, extend",
    "group, kill many",
    "run",
    "run with tools",
    "files",
    "results",
    "compared",
    "queue",
    "timeline",
    "what-if",
    "jobs",
    "job",
    "gpus",
    "budgets",
    "sandboxes",
    "sandbox",
    "sweeps",
    "sweep",
    "sweep, table",
    "sweep, compared",
    "environments",
    "environment",
    "log",
    "specs",
    "specs, form",
    "spec",
    "estimate",
)
"""Stops of console_stops.py."""
SHOT_SIZES = ((80, 24), (120, 40))
THEME_SIZE = (120, 40)
"""Of the group in each theme but the usual one."""
_CELL = 12.2
"""Width of a cell in a picture."""
_PIECE = re.compile(
    r'<text class="(?P<name>[^"]*)"[^>]*? x="(?P<x>[\d.]+)"[^>]*?clip-path="url\(#[^"]*-line-(?P<row>\d+)\)"[^>]*>(?P<text>[^<]*)</text>'
)


def slug(stop: str) -> str:
    """A stop's name in names of files."""
    return re.sub(r"[^a-z0-9]+", "-", stop.lower())


def text_of(svg: str) -> list[str]:
    """The lines of the screen that a picture shows, without spaces at their ends and without empty lines at the end."""
    lines: dict[int, list[tuple[int, str]]] = {}
    for piece in _PIECE.finditer(svg):
        lines.setdefault(int(piece["row"]), []).append(
            (round(float(piece["x"]) / _CELL), html.unescape(piece["text"]).replace("\xa0", " "))
        )
    found = []
    for row in range(max(lines, default=-1) + 1):
        made = ""
        for at, text in sorted(lines.get(row, [])):
            made = made.ljust(at) + text
        found.append(made.rstrip())
    return found


_XTERM = TerminalTheme(
    (0, 0, 0),
    (229, 229, 229),
    [(0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229)],
    [(127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255), (255, 255, 255)],
)
"""What the sixteen colours are in a terminal where nobody changed them."""


def _colours(theme: TerminalTheme) -> list[str]:
    sixteen = (Color.from_ansi(number).get_truecolor(theme) for number in range(16))
    return [triplet.hex for triplet in (*sixteen, theme.foreground_color, theme.background_color)]


_AS_IN_A_TERMINAL = dict(zip(_colours(SVG_EXPORT_THEME), _colours(_XTERM), strict=True))


def _save(app: NodusApp, path: Path) -> None:
    """The screen as a picture, its sixteen colours those of a terminal and not those of the library that draws."""
    drawn = re.sub("#[0-9a-f]{6}", lambda found: _AS_IN_A_TERMINAL.get(found[0], found[0]), app.export_screenshot())
    # Without this some viewers draw several spaces as one, and columns do not stand below each other.
    path.write_text(drawn.replace("<svg ", '<svg xml:space="preserve" ', 1), encoding="utf-8")
    print(path)


async def _shoot(stop: str, size: tuple[int, int], path: Path, theme: str = DEFAULT_THEME) -> None:
    async with console(STOPS[stop].world(), size=size, settings=ConsoleSettings(theme=theme)) as (app, pilot):
        await go_to(app, pilot, STOPS[stop])
        _save(app, path)


async def shoot_all(folder: Path) -> None:
    """Go to each place, and take its picture."""
    shelf = ThemeShelf((packaged_folder(),))
    shelf.read()
    for stop in SHOTS:
        for width, height in SHOT_SIZES:
            await _shoot(stop, (width, height), folder / f"{slug(stop)}-{width}x{height}.svg")
    for theme in sorted({*shelf.themes} - {DEFAULT_THEME}):
        await _shoot("group", THEME_SIZE, folder / f"theme-{slug(theme)}.svg", theme)
