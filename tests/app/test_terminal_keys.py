"""Whatever a terminal sends is keys, clicks, or nothing: no sequence ends what reads them."""

import random

import pytest
from textual.events import Key, MouseMove, Resize

from nodus_tui.pasting import KeysAndPastes

TOLD = {
    "\x1b[97;5:1u": "ctrl+a",
    "\x1b[97:65;2u": "shift+a",
    "\x1b[97::97;;97u": "a",
    "\x1b[97;1:2;97u": "a",
    "\x1b[13;1:1u": "enter",
    "\x1b[1;5:1A": "ctrl+up",
    "\x1b[3;1:2~": "delete",
    "\x1b[1;2:1R": "shift+f3",
}
"""Keys of a terminal that tells more of them than it was asked for."""
LET_GO = ("\x1b[97;1:3u", "\x1b[97;5:3;97u", "\x1b[1;1:3A", "\x1b[3;1:3~", "\x1b[57441;2:3u")
NO_KEYS = ("\x1b[1114112u", "\x1b[99999999999u", "\x1b[97;1;99999999999u", "\x1b[97;1;97:99999999999u")
NO_CLICKS = ("\x1b[<0;99999999999999999999;1M", "\x1b[<35;0;0M", "\x1b[<0;-5;-5m", "\x1b[M\xe9\xe9\xe9")


def keys_of(parser: KeysAndPastes, text: str) -> list[str]:
    return [event.key for event in parser.feed(text) if isinstance(event, Key)]


@pytest.mark.parametrize(("sequence", "key"), TOLD.items())
def test_what_else_a_terminal_tells_of_a_key_is_passed_over(sequence: str, key: str) -> None:
    assert keys_of(KeysAndPastes(), f"{sequence}j") == [key, "j"]


@pytest.mark.parametrize("sequence", [*LET_GO, *NO_KEYS, *NO_CLICKS])
def test_a_key_that_is_let_go_of_and_a_number_that_no_key_has_are_nothing(sequence: str) -> None:
    assert keys_of(KeysAndPastes(), f"{sequence}j") == ["j"]


def test_a_terminal_that_has_no_pixels_has_a_size_and_no_clicks() -> None:
    parser = KeysAndPastes()
    (size,) = parser.feed("\x1b[48;24;80;0;0t")
    assert isinstance(size, Resize)
    assert (size.size.width, size.size.height) == (80, 24)
    assert list(parser.feed("\x1b[<35;7;7M")) == []
    assert list(parser.feed("\x1b[48;0;0;0;0t\x1b[<35;7;7M")) == []
    (_, move) = parser.feed("\x1b[48;24;80;240;800t\x1b[<35;11;11M")
    assert isinstance(move, MouseMove)
    assert (move.x, move.y) == (1, 1)


def test_no_stream_ends_the_keys() -> None:
    chance = random.Random(5)
    pieces = [
        *TOLD,
        *LET_GO,
        *NO_KEYS,
        *NO_CLICKS,
        "\x1b[48;24;80;0;0t",
        "\x1b[48;0;0;0;0t",
        "\x1b[?2026;2$y",
        "\x1bOP",
        "\x1b[12;40R",
        "\x1b",
    ]
    for _ in range(2_000):
        stream = list("".join(chance.choices(pieces, k=3)))
        for _ in range(4):
            place = chance.randrange(len(stream))
            stream[place : place + chance.randrange(3)] = chance.choice("0123456789:;<M~u\x1b\x00\x9b")
        parser = KeysAndPastes()
        for event in parser.feed("".join(stream)):
            assert event
        # Longer than any sequence: what was begun above has its end there.
        assert keys_of(parser, "j" * 40)[-1] == "j"
