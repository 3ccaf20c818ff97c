"""What holds for every view and dialog, each visited once: readable in every theme, ASCII where that is wanted, whole at every size."""

import asyncio
import contextlib
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from console_driver import Driver, console, screen_lines, settled, wire_text
from console_stops import STOPS, go_to
from textual.screen import ModalScreen

from nodus_tui.app import NodusApp
from nodus_tui.contract.console_configuration import ConsoleSettings
from nodus_tui.drawing import OnlyAscii
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.room import LOW_HEIGHT, MIN_HEIGHT, MIN_WIDTH
from nodus_tui.theme_shelf import ThemeShelf, packaged_folder
from nodus_tui.theming import ThemeFile, contrast
from nodus_tui.view_state.cells import Tone
from nodus_tui.view_state.views import View

GROUNDS = ("background", "surface", "panel", "cursor")
TEXT, OTHER = 4.5, 3.0
"""WCAG 2.1 level AA: of text, and of bars, borders and marks."""
SIZES = ((60, 15), (80, 24), (132, 43), (300, 100))


def probe_colours() -> dict[str, str]:
    """A colour of its own for everything that a theme names, so that what is drawn can be told back to names."""
    names = [*(f"on {ground}" for ground in GROUNDS), *(tone.value for tone in Tone)]
    return {f"#{place * 37 % 251:02x}{place * 91 % 241:02x}{place * 53 % 239:02x}": name for place, name in enumerate(names, start=1)}


PROBE = probe_colours()
_BY_NAME = {name: colour for colour, name in PROBE.items()}
PROBE_FILE = f"""\
name: probe
dark: true
grounds: {{{", ".join(f'{ground}: "{_BY_NAME[f"on {ground}"]}"' for ground in GROUNDS)}}}
tones: {{{", ".join(f'{tone.value}: "{_BY_NAME[tone.value]}"' for tone in Tone)}}}
"""


def name_of(colour: str) -> str:
    """The name of a colour; Textual's arithmetic may be off by one or two of 255."""
    parts = bytes.fromhex(colour.removeprefix("#"))
    for known, name in PROBE.items():
        if max(abs(one - other) for one, other in zip(parts, bytes.fromhex(known[1:]), strict=True)) <= 2:
            return name
    return colour


def drawn_pairs(app: NodusApp) -> Iterator[tuple[str, str, bool, str]]:
    """Colour, ground, whether it is text, and a piece of it, of everything that stands on the screen but what a dialog dims."""
    dialog = app.screen.query("#dialog") if isinstance(app.screen, ModalScreen) else None
    region = dialog.first().region if dialog else app.screen.region
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        x = 0
        for segment in strip:
            style, text = segment.style, segment.text.strip()
            if text and style is not None and region.contains(x, y):
                colour, ground = (str(each.triplet.hex if each and each.triplet else each) for each in (style.color, style.bgcolor))
                if style.reverse:
                    colour, ground = ground, colour
                yield colour, ground, not all(_is_drawing(char) for char in text), text[:20]
            x += segment.cell_length


def _is_drawing(char: str) -> bool:
    """Bars, borders, scrollbars, the cursor's mark."""
    return 0x2500 <= ord(char) < 0x25A0


THEMES = [theme for theme in _shelf.themes.values() if not theme.ansi] if (_shelf := ThemeShelf((packaged_folder(),))).read() else []


def colour_of(theme: ThemeFile, name: str) -> str:
    ground = name.removeprefix("on ")
    return getattr(theme.grounds, ground) if name != ground else theme.tones.by_tone()[Tone(name)]


@pytest.mark.parametrize("stop", STOPS)
async def test_readable_in_every_theme_and_whole_at_every_size(stop: str, tmp_path: Path) -> None:
    (tmp_path / "probe.yaml").write_text(PROBE_FILE, encoding="utf-8")
    async with console(STOPS[stop].world(), theme_folders=(tmp_path,), settings=ConsoleSettings(theme="probe")) as (app, pilot):
        await go_to(app, pilot, STOPS[stop])
        check_contrast(app)
        app._own_filters = (OnlyAscii(),)
        for size in SIZES[:1] if STOPS[stop].once else SIZES:
            await check_size(app, pilot, size)
        if not STOPS[stop].once:
            await check_too_small(app, pilot)


def check_contrast(app: NodusApp) -> None:
    pairs = {(name_of(colour), name_of(ground), is_text): text for colour, ground, is_text, text in drawn_pairs(app)}
    assert len(pairs) > 2
    strange = {pair: text for pair, text in pairs.items() if not {pair[0], pair[1]} <= {*PROBE.values()}}
    assert strange == {}, "a colour that no theme names: nobody can say that it is readable"
    low = {
        f"{theme.name}: {colour} on {ground}": (round(ratio, 2), text)
        for (colour, ground, is_text), text in pairs.items()
        for theme in THEMES
        if (ratio := contrast(colour_of(theme, colour), colour_of(theme, ground))) < (TEXT if is_text else OTHER)
    }
    assert low == {}


async def check_size(app: NodusApp, pilot: Driver, size: tuple[int, int]) -> None:
    width, height = size
    await pilot.resize_terminal(width, height)
    await settled(app, pilot)
    lines = screen_lines(app)
    assert len(lines) == height
    assert max(len(line) for line in lines) <= width
    assert {*wire_text(app)} <= {*string.printable}, "ASCII, whatever is drawn"
    screen = app.screen
    if isinstance(screen, ViewScreen):
        assert lines[0].startswith(" nodus / "), lines[0]
        # In the editor letters are text.
        assert lines[-1].endswith("Esc back  F1 help") if screen.VIEW is View.SPEC else "? help" in lines[-1]
        assert lines[-1].endswith("q quit") or screen.VIEW is View.SPEC
    else:
        [dialog] = screen.query("#dialog")
        assert dialog.region in screen.region, "a dialog lies within the screen"
        if dialog.max_scroll_y and height < LOW_HEIGHT:
            assert screen.focused is not None
            assert screen.focused.region in dialog.region, "what has the keys is in sight"
        else:
            assert [part for part in dialog.children if part.display and part.region not in dialog.region] == []


async def check_too_small(app: NodusApp, pilot: Driver) -> None:
    """A sentence in place of a ruin, whatever is open; and everything again when there is room."""
    await check_size(app, pilot, (80, 24))
    for part in app.screen.query("*"):
        part.refresh()
    await settled(app, pilot)
    before = on_top(app)
    for width, height in ((MIN_WIDTH - 1, 24), (80, MIN_HEIGHT - 1), (20, 5), (1, 1)):
        await pilot.resize_terminal(width, height)
        await settled(app, pilot)
        if width >= 20:
            # A view below a dialog is drawn in its own time.
            async with asyncio.timeout(60):
                while not (words := " ".join(" ".join(screen_lines(app)).split())).startswith(f"This window is {width}x{height}."):
                    await pilot.pause(0.01)
            assert "Keys" not in words
    await check_size(app, pilot, (80, 24))
    # Where a scrollbar comes and goes, columns are laid out once more.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(60):
            while on_top(app) != before:
                await pilot.pause(0.01)
    assert on_top(app) == before


def on_top(app: NodusApp) -> list[str]:
    """The view, or of a dialog what stands in it: the view below may have scrolled to keep its cursor in sight."""
    lines = screen_lines(app)
    if isinstance(app.screen, ViewScreen):
        return lines
    region = app.screen.query_one("#dialog").region
    return [line[region.x : region.right] for line in lines[region.y : region.bottom]]


def test_every_view_is_visited() -> None:
    # The views of sweeps are looked at where they are tested.
    assert {stop.view for stop in STOPS.values()} >= {*View} - {View.SWEEPS, View.SWEEP}
