"""What is pasted is text, whatever stands in it: no key, no click, and no megabytes that hold the console up."""

import pytest
from console_driver import console, press, screen_text, settled
from console_records import every_kind_of_run, group
from scripted_backend import ScriptedBackend
from textual.events import Key, Paste
from textual.message import Message

from nodus_tui.pasting import MOST_PASTED, KeysAndPastes, TooMuchPasted
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
