"""Fewer bytes draw the same: letter by letter, with the colours and weights that each had."""

import random
import re

import pytest
from console_driver import console
from console_records import every_kind_of_run, group
from rich.console import ColorSystem
from scripted_backend import ScriptedBackend

from nodus_tui.terminal_output import compact

RED, GREEN, GROUND = "38;2;200;30;30", "38;2;30;200;30", "48;2;16;20;24"


def drawn(data: str) -> list[tuple[str, tuple[str, ...]]]:
    """Every character with all that a terminal would draw it with, read by the standard's words and not by the program's."""
    state: dict[str, str] = {}
    shown: list[tuple[str, tuple[str, ...]]] = []
    for part in re.split(r"(\x1b\[[0-9;]*[mH])", data):
        if re.fullmatch(r"\x1b\[[0-9;]*H", part):
            shown.append((part, ()))
        elif re.fullmatch(r"\x1b\[[0-9;]*m", part):
            obey(state, part[2:-1].split(";"))
        else:
            for char in part:
                # A foreground is seen in ink only; a weight may be seen in a space.
                blank = char == " " and not any(kind.startswith("weight") for kind in state)
                shown.append((char, tuple(sorted(f"{kind} {code}" for kind, code in state.items() if kind != "fg" or not blank))))
    assert state == {}, "it ends plain"
    return shown


def obey(state: dict[str, str], codes: list[str]) -> None:
    while codes:
        code = int(codes.pop(0) or 0)
        if code == 0:
            state.clear()
        elif code in {38, 48}:
            length = 4 if codes[0] == "2" else 2
            state["fg" if code == 38 else "bg"] = ";".join(codes[:length])
            del codes[:length]
        elif code in {39, 49}:
            state.pop("fg" if code == 39 else "bg", None)
        elif code >= 30:
            state["fg" if code // 10 in {3, 9} else "bg"] = str(code)
        elif code < 10:
            state[f"weight {code}"] = ""
        else:
            for weight in (1, 2) if code == 22 else (code - 20,):
                state.pop(f"weight {weight}", None)


def piece(text: str, *codes: str) -> str:
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m"


def test_a_colour_is_sent_where_it_changes() -> None:
    assert compact(piece("a", RED, GROUND) + piece("  ", GREEN, GROUND) + piece("b", RED, GROUND)) == f"\x1b[{RED};{GROUND}ma  b\x1b[0m"
    assert compact(piece("a", RED, GROUND) + piece("b", GREEN, GROUND)) == f"\x1b[{RED};{GROUND}ma\x1b[{GREEN}mb\x1b[0m"


def test_a_weight_ends_where_it_ended() -> None:
    bold = piece("a", "1", RED, GROUND) + piece("b", RED, GROUND) + piece(" ", "4", RED, GROUND)
    assert compact(bold) == f"\x1b[1;{RED};{GROUND}ma\x1b[22mb\x1b[4m \x1b[0m"
    assert drawn(compact(bold)) == drawn(bold)


def test_colours_of_the_terminal_are_taken_back() -> None:
    mixed = piece("a", "31", "44") + piece("b", "91") + piece("c", "38;5;7", "49") + piece("d")
    assert drawn(compact(mixed)) == drawn(mixed)


@pytest.mark.parametrize(
    "data", ["", "plain", "\x1b[2J\x1b[1;1H", "\x1b[58;2;1;2;3ma\x1b[0m", "\x1b[38ma\x1b[0m", "\x1b[38;2;1ma\x1b[0m", "\x1b[53ma\x1b[0m"]
)
def test_what_is_not_understood_stays_as_it_is(data: str) -> None:
    assert compact(data) == data


def test_other_sequences_stay_where_they_are() -> None:
    data = f"\x1b[?2026h\x1b[3;1H{piece('a', RED, GROUND)}\x1b]52;c;YQ==\x07\x1b[4;1H{piece('b', RED, GROUND)}\x1b[?2026l"
    red = f"\x1b[{RED};{GROUND}m"
    assert compact(data) == f"\x1b[?2026h\x1b[3;1H{red}a\x1b[0m\x1b]52;c;YQ==\x07\x1b[4;1H{red}b\x1b[0m\x1b[?2026l"
    moved = f"{piece('a', RED, GROUND)}\x1b[4;1H{piece('b', RED, GROUND)}"
    assert compact(moved) == f"{red}a\x1b[4;1Hb\x1b[0m"


def test_any_mixture_of_pieces_draws_the_same() -> None:
    chance = random.Random(11)
    for _ in range(300):
        pieces = []
        for _ in range(chance.randrange(1, 20)):
            codes = [
                *(chance.sample(["1", "2", "3", "4", "7", "9"], chance.randrange(3)) if chance.random() < 0.3 else ()),
                *([chance.choice([RED, GREEN, "31", "38;5;200"])] if chance.random() < 0.9 else ()),
                *([chance.choice([GROUND, "44", "49"])] if chance.random() < 0.9 else ()),
            ]
            text = chance.choice(["a", "word", " ", "    ", "x y", "\x1b[2;5H", ""])
            pieces.append(piece(text, *codes) if codes else text)
        data = "".join(pieces)
        assert drawn(compact(data)) == drawn(data), data
        assert len(compact(data)) <= len(data)


async def test_a_frame_of_the_console_draws_the_same_with_half_of_the_codes() -> None:
    async with console(ScriptedBackend([group()], every_kind_of_run()), size=(120, 40), start_at="fleet") as (app, _pilot):
        app.console._color_system = ColorSystem.TRUECOLOR
        update = app.screen._compositor.render_update(full=True)
        data = update.render_segments(app.console)
    assert drawn(compact(data)) == drawn(data)
    codes = len(data) - 120 * 40
    assert len(compact(data)) - 120 * 40 < codes / 2
