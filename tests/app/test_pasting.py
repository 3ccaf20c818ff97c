"""What is pasted is text, whatever stands in it: no key, no click, and no megabytes that hold the console up."""

import unicodedata
from pathlib import Path

import pytest
from console_driver import console, press, screen_text, settled, wire_text
from console_records import every_kind_of_run, group
from scripted_backend import ScriptedBackend
from test_console_hostile_text import ATTACKS
from textual.events import Key, Paste
from textual.message import Message

from nodus_tui.app import NodusApp
from nodus_tui.authoring.templates import TEMPLATES
from nodus_tui.pasting import MOST_PASTED, KeysAndPastes, TooMuchPasted
from nodus_tui.screens.launch import EstimateScreen
from nodus_tui.screens.specs import SpecsScreen
from nodus_tui.widgets.text_entry import MOST_CHARACTERS, TextEntry

START, END = "\x1b[200~", "\x1b[201~"
HOSTILE = (
    "kill\x1b\x1b\x1b\r",
    "\x1b]52;c;" + "x" * 40 + "XXX\r\t\r",
    "\x1b[" + "9" * 60 + "q\x03",
    "\x1b[<0;5;5M\x1b[A\x1bOP\x1b[?2026;2$y",
    "a: [\r\n\x1b[2004~\x9b31m",
    "\x1b[200~ again \x1b[201",
    "\x1b",
)


def assert_drawn_harmless(app: NodusApp) -> None:
    bad = {f"U+{ord(char):04X}" for char in wire_text(app) if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"}}
    assert not bad


def events_of(*pieces: str) -> list[Message]:
    parser = KeysAndPastes()
    return [event for piece in pieces for event in parser.feed(piece)]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_pasted_is_no_key_however_the_stream_is_cut(text: str) -> None:
    stream = f"a{START}{text}{END}b"
    for cut in range(len(stream)):
        for second in (cut, min(cut + 3, len(stream))):
            before, paste, after = events_of(stream[:cut], stream[cut:second], stream[second:])
            assert (before.key, paste.text, after.key) == ("a", text, "b")  # type: ignore[attr-defined]
    assert [type(event) for event in events_of(*stream)] == [Key, Paste, Key]


def test_one_paste_after_the_other() -> None:
    events = events_of(f"{START}one{END}{START}{END}{START}two\x00{END}x")
    assert [event.text if isinstance(event, Paste) else event.key for event in events] == ["one", "two", "x"]  # type: ignore[attr-defined]


def test_of_a_paste_that_is_too_long_nothing_is_taken_or_kept() -> None:
    piece = "x" * 65_536
    parser = KeysAndPastes()
    events = list(parser.feed(START))
    for _ in range(2 * MOST_PASTED // len(piece)):
        events += parser.feed(piece)
    assert events == []
    assert parser._sieve._parts == []
    told, key = [*parser.feed(END), *parser.feed("j")]
    assert isinstance(told, TooMuchPasted)
    assert isinstance(key, Key)


def test_a_paste_whose_end_never_comes_is_ended_by_ctrl_c_and_keys_are_keys_again() -> None:
    now = 0.0
    parser = KeysAndPastes(clock=lambda: now)
    assert list(parser.feed(f"{START}half a\x1b[20")) == []
    now = 0.9
    assert list(parser.feed("\x03")) == [], "it may be a part of what is pasted"
    now = 1.95
    assert list(parser.feed("x\x03")) == []
    now = 3.0
    (paste,) = parser.feed("\x03")
    assert isinstance(paste, Paste)
    assert paste.text == "half a\x1b[20\x03x\x03"
    assert [event.key for event in (*parser.feed("\x03"), *parser.feed("q"))] == ["ctrl+c", "q"]  # type: ignore[attr-defined]


def test_half_of_a_character_does_not_end_the_keys() -> None:
    # What the decoder gives while the rest of a character is still to come.
    assert [event.key for event in events_of("a", "", "b")] == ["a", "b"]  # type: ignore[attr-defined]


async def test_who_pastes_too_much_is_told() -> None:
    async with console(ScriptedBackend([group()], every_kind_of_run())) as (app, pilot):
        app.post_message(TooMuchPasted())
        await settled(app, pilot)
        assert "nothing of it was taken" in screen_text(app)


async def test_a_line_takes_the_first_line_and_nothing_that_is_too_long() -> None:
    async with console(ScriptedBackend([group()], every_kind_of_run())) as (app, pilot):
        await press(app, pilot, "slash")
        entry = app.screen.query_one(TextEntry)
        for text, held in (("x" * (MOST_CHARACTERS + 1), ""), ("\n\r\n", ""), ("\nfleet\nother", "fleet")):
            app.post_message(Paste(text))
            await settled(app, pilot)
            assert entry.value == held
        assert not isinstance(app.screen, SpecsScreen)


async def test_what_is_pasted_into_a_line_is_drawn_without_what_a_terminal_obeys() -> None:
    async with console(ScriptedBackend([group()], every_kind_of_run())) as (app, pilot):
        for opens in ("slash", "l", "ctrl+p", "e"):
            await press(app, pilot, opens)
            entry = app.focused
            assert isinstance(entry, TextEntry)
            entry.value = ""
            for attack in ATTACKS.values():
                app.post_message(Paste(f"a{attack}"))
            await settled(app, pilot)
            assert_drawn_harmless(app)
            assert "\x1b]52;c;" in entry.value, "it stays what it is"
            await press(app, pilot, "home", "right", "right", "backspace")
            assert "\x1b]52;c;" not in entry.value
            await press(app, pilot, "escape", "escape")


async def test_names_of_files_are_put_in_as_they_are_and_drawn_harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = "\x1b]0;owned\x07\udce9\u202e.yaml"
    (tmp_path / name).write_text(TEMPLATES["Agent"], encoding="utf-8")
    async with console(ScriptedBackend(), state_folder=tmp_path / "state") as (app, pilot):
        await press(app, pilot, "l")
        await app.workers.wait_for_complete(worker for worker in app.workers if worker.node is app.screen)
        await press(app, pilot, "tab")
        entry = app.focused
        assert isinstance(entry, TextEntry)
        assert entry.value == name
        assert_drawn_harmless(app)
        await press(app, pilot, "enter")
        assert isinstance(app.screen, EstimateScreen)
        assert app.screen.path == str(tmp_path / name)


async def test_halves_of_characters_are_copied_as_a_clipboard_takes_them(tmp_path: Path) -> None:
    async with console(ScriptedBackend(), state_folder=tmp_path) as (app, pilot):
        await press(app, pilot, "l")
        entry = app.focused
        assert isinstance(entry, TextEntry)
        entry.choose("a\udce9.yaml")
        await press(app, pilot, "ctrl+x")
        assert (app.clipboard, entry.value) == ("a?.yaml", "")


async def test_a_click_in_a_line_goes_to_the_character_that_is_drawn_there() -> None:
    async with console(ScriptedBackend()) as (app, pilot):
        await press(app, pilot, "l")
        entry = app.focused
        assert isinstance(entry, TextEntry)
        entry.value = "\x1b\x1b日e\u0301z"
        for cell, index in enumerate((0, 1, 2, 2, 3, 5, 6)):
            assert entry._cell_offset_to_index(cell) == index
        assert [entry._position_to_cell(position) for position in range(7)] == [0, 1, 2, 4, 5, 5, 6]
