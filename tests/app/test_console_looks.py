"""How the console looks in a terminal with less: few colours, none, no UTF-8; and what a person wishes goes first."""

from pathlib import Path

import pytest
from console_driver import console, press, screen_text, wire_text
from console_records import every_kind_of_run, group
from scripted_backend import ScriptedBackend

from nodus_tui.app import NodusApp
from nodus_tui.contract.console_configuration import ConsoleSettings
from nodus_tui.contract.errors import NodusError
from nodus_tui.terminal_facts import TerminalFacts, terminal_facts
from nodus_tui.wishes import Wishes

KNOWN = {"vt100": 0, "xterm": 8, "linux": 8, "screen": 8, "xterm-256color": 256, "tmux-256color": 256, "xterm-direct": 0x1000000}


def facts(*, c_locale: bool = False, **environment: str) -> TerminalFacts:
    return terminal_facts({"TERM": "xterm-256color", **environment}, c_locale=c_locale, colours_of=KNOWN.get)


@pytest.mark.parametrize(
    ("environment", "colours"),
    [
        ({}, "many"),
        ({"TERM": "tmux-256color"}, "many"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "many"),
        ({"TERM": "xterm"}, "sixteen"),
        ({"TERM": "linux"}, "sixteen"),
        ({"TERM": "screen"}, "sixteen"),
        ({"TERM": "vt100"}, "none"),
        ({"TERM": "vt100", "COLORTERM": "truecolor"}, "none"),
        ({"TERM": "unheard-of-m"}, "none"),
        ({"TERM": "unheard-of"}, "sixteen"),
        ({"NO_COLOR": "1"}, "none"),
        ({"NO_COLOR": "1", "COLORTERM": "truecolor"}, "none"),
        ({"NO_COLOR": ""}, "many"),
    ],
)
def test_colours_of_a_terminal(environment: dict[str, str], colours: str) -> None:
    found = facts(**environment)
    assert found.colours == colours
    assert bool(found.why) == (colours != "many")


@pytest.mark.parametrize(
    ("environment", "c_locale", "utf8"),
    [
        ({}, True, True),
        ({"LC_CTYPE": "C.UTF-8"}, True, True),
        ({"LANG": "en_US.UTF-8"}, False, True),
        ({"LANG": "de_DE.utf8"}, False, True),
        ({"LC_CTYPE": "UTF-8"}, False, True),
        ({"LANG": "en_US"}, False, True),
        ({"LANG": "C"}, True, False),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True, False),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False, True),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, True, False),
        ({"LC_ALL": "POSIX"}, True, False),
        ({"LC_ALL": "C.UTF-8"}, False, True),
        ({"LANG": "de_DE.ISO-8859-1"}, False, False),
        ({"LANG": "de_DE.ISO-8859-1", "LC_CTYPE": "C.UTF-8"}, True, False),
        ({"LANG": "de_DE@euro"}, False, False),
        ({"LANG": "ca_ES.UTF-8@valencia"}, False, True),
        ({"LC_CTYPE": "ja_JP.eucJP", "LANG": "en_US.UTF-8"}, False, False),
    ],
)
def test_whether_a_locale_is_one_of_utf8(environment: dict[str, str], c_locale: bool, utf8: bool) -> None:
    assert facts(c_locale=c_locale, **environment).utf8 is utf8


def world() -> ScriptedBackend:
    return ScriptedBackend([group()], every_kind_of_run())


NONE = TerminalFacts("none", "NO_COLOR is set")
SIXTEEN = TerminalFacts("sixteen", "a terminal of the kind xterm has sixteen, as far as is known")


def colours_sent(app) -> set[str]:
    styles = [segment.style for strip in app.screen._compositor.render_strips() for segment in strip if segment.style is not None]
    return {str(colour) for style in styles for colour in (style.color, style.bgcolor) if colour is not None}


@pytest.mark.parametrize(
    ("terminal", "wishes", "configured", "shown"),
    [
        (TerminalFacts(), Wishes(), "nodus-light", "nodus-light"),
        (TerminalFacts(), Wishes(theme="nodus-tritanopia"), "nodus-light", "nodus-tritanopia"),
        (SIXTEEN, Wishes(), "nodus-dark", "nodus-ansi"),
        (SIXTEEN, Wishes(), "nodus-mono", "nodus-mono"),
        (SIXTEEN, Wishes(theme="nodus-light"), "nodus-dark", "nodus-light"),
        (NONE, Wishes(), "nodus-light", "nodus-mono"),
        (NONE, Wishes(theme="nodus-light"), "nodus-dark", "nodus-light"),
    ],
)
async def test_the_theme_to_begin_with(terminal: TerminalFacts, wishes: Wishes, configured: str, shown: str) -> None:
    settings = ConsoleSettings(theme=configured)
    async with console(world(), terminal=terminal, wishes=wishes, settings=settings, size=(120, 30)) as (app, _):
        assert app.theme == shown
        told = terminal is SIXTEEN and not wishes and configured not in ("nodus-dark", shown)
        assert ("is shown instead of" in screen_text(app)) is told


async def test_a_theme_that_was_configured_is_told_of_where_another_is_shown() -> None:
    async with console(world(), terminal=SIXTEEN, settings=ConsoleSettings(theme="nodus-light"), size=(120, 30)) as (app, _):
        assert "nodus-ansi is shown instead of nodus-light: a terminal of the kind xterm" in screen_text(app)


async def test_without_colours_none_is_sent_and_every_state_is_a_word() -> None:
    async with console(world(), terminal=NONE, size=(120, 40)) as (app, pilot):
        for keys in ((), ("enter",), ("x",), ("escape", "t")):
            await press(app, pilot, *keys)
            assert colours_sent(app) == set()
        assert "No colours are drawn: NO_COLOR is set." in " ".join(screen_text(app).split())
        await press(app, pilot, "home", "down")
        assert app.theme == "nodus-dark"
        assert colours_sent(app) == set(), "whatever theme is chosen"


async def test_a_theme_that_the_command_line_names_has_its_colours_with_no_color_too() -> None:
    async with console(world(), terminal=NONE, wishes=Wishes(theme="nodus-dark")) as (app, _):
        assert colours_sent(app)


def test_an_unknown_theme_on_the_command_line_is_refused_with_the_nearest() -> None:
    with pytest.raises(NodusError, match=r'there is no theme "nodus-lihgt" \(did you mean "nodus-light"\?\); the themes are nodus-ansi,'):
        NodusApp(world(), wishes=Wishes(theme="nodus-lihgt"))


@pytest.mark.parametrize(
    ("terminal", "wishes", "characters", "ascii_only"),
    [
        (TerminalFacts(), Wishes(), "auto", False),
        (TerminalFacts(utf8=False), Wishes(), "auto", True),
        (TerminalFacts(utf8=False), Wishes(), "unicode", False),
        (TerminalFacts(), Wishes(ascii=True), "unicode", True),
        (TerminalFacts(), Wishes(), "ascii", True),
    ],
)
async def test_which_characters_are_drawn(terminal: TerminalFacts, wishes: Wishes, characters: str, ascii_only: bool) -> None:
    settings = ConsoleSettings.model_validate({"characters": characters})
    async with console(world(), terminal=terminal, wishes=wishes, settings=settings) as (app, _):
        assert wire_text(app).isascii() is ascii_only


def test_the_mouse_is_the_consoles_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    assert NodusApp(world()).looks.mouse
    assert not NodusApp(world(), wishes=Wishes(mouse=False)).looks.mouse
    assert not NodusApp(world(), settings=ConsoleSettings(mouse=False), state_folder=tmp_path).looks.mouse
