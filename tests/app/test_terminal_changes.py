"""Of a frame only what differs is sent, and the terminal shows the same as if all of it were."""

import random

import pytest
from test_terminal_output import GREEN, GROUND, RED, obey, piece
from textual._ansi_sequences import SYNC_END, SYNC_START
from textual.drivers.linux_driver import LinuxDriver

from nodus_tui.terminal_changes import Shown
from nodus_tui.terminal_input import SteadyInput

SIZE = (40, 6)


class Terminal:
    """Cells as a terminal has them, by the standard's words and not by the program's."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], tuple[str, tuple[str, ...]]] = {}

    def take(self, data: str) -> None:
        state: dict[str, str] = {}
        row = column = 1
        rest = data
        while rest:
            if rest.startswith("\x1b["):
                end = next(at for at, char in enumerate(rest) if at > 1 and char.isalpha())
                codes, final, rest = rest[2:end], rest[end], rest[end + 1 :]
                if final == "m":
                    obey(state, codes.split(";"))
                else:
                    row, column = (int(each) for each in codes.split(";"))
            elif rest[0] == "\n":
                row, column, rest = row + 1, 1, rest[1:]
            else:
                blank = rest[0] == " " and not any(kind.startswith("weight") for kind in state)
                look = tuple(sorted(f"{kind} {code}" for kind, code in state.items() if kind != "fg" or not blank))
                self.cells[row, column] = (rest[0], look)
                column, rest = column + 1, rest[1:]
        assert state == {}, "it ends plain"


def at(row: int, column: int, *pieces: str) -> str:
    return f"\x1b[{row};{column}H{''.join(pieces)}"


def test_what_stands_there_is_not_sent_again() -> None:
    shown, frame = Shown(), at(2, 3, piece("running", RED, GROUND)) + at(1, 1)
    assert "running" in shown.changes(frame, SIZE)
    assert shown.changes(frame, SIZE) == ""
    one = at(2, 3, piece("runnIng", RED, GROUND)) + at(1, 1)
    assert shown.changes(one, SIZE) == f"\x1b[2;7H\x1b[{RED};{GROUND}mI\x1b[0m\x1b[1;1H"


def test_another_colour_is_a_change_but_not_that_of_a_space() -> None:
    shown = Shown()
    shown.changes(at(1, 1, piece("a  b", RED, GROUND)), SIZE)
    assert shown.changes(at(1, 2, piece("  ", GREEN, GROUND)), SIZE) == ""
    assert "b" in shown.changes(at(1, 1, piece("a  b", GREEN, GROUND)), SIZE)


def test_any_frames_leave_the_same_on_the_terminal_in_no_more_cells() -> None:
    chance = random.Random(3)
    for _ in range(100):
        shown, less, all_of_it = Shown(), Terminal(), Terminal()
        for _ in range(8):
            frame = ""
            for row in sorted(chance.sample(range(1, SIZE[1]), chance.randrange(1, 5))):
                pieces = []
                for _ in range(chance.randrange(1, 5)):
                    codes = [chance.choice([RED, GREEN]), *chance.choice([(), (GROUND,), ("1",), ("7", GROUND)])]
                    pieces.append(piece(chance.choice(["a", "word", " ", "   ", "► x", "", "Running  "]), *codes))
                frame += at(row, chance.randrange(1, 10), *pieces) + chance.choice(["", "\n"])
            frame += at(1, 1)
            all_of_it.take(frame)
            less.take(shown.changes(frame, SIZE))
            assert less.cells == all_of_it.cells


@pytest.mark.parametrize("wide", ["数", "a\u0301", "👩"])
def test_a_row_with_letters_of_which_terminals_think_differently_is_sent_whole(wide: str) -> None:
    shown, frame = Shown(), at(2, 3, piece(f"{wide} name", RED, GROUND)) + at(1, 1)
    assert shown.changes(frame, SIZE) == shown.changes(frame, SIZE)
    assert wide in shown.changes(frame, SIZE)


@pytest.mark.parametrize("other", ["\x1b[?1049h", "\x1b]52;c;YQ==\x07", "\x07", "text that goes anywhere", "\x1b[2J"])
def test_after_anything_else_nothing_is_known(other: str) -> None:
    shown, frame = Shown(), at(2, 3, piece("running", RED, GROUND)) + at(1, 1)
    shown.changes(frame, SIZE)
    assert shown.changes(other, SIZE) == other
    assert "running" in shown.changes(frame, SIZE)


def test_another_size_and_a_frame_of_the_whole_screen_are_sent_whole() -> None:
    shown, frame = Shown(), at(2, 3, piece("running", RED, GROUND)) + at(1, 1)
    shown.changes(frame, SIZE)
    assert "running" in shown.changes(frame, (41, 6))
    whole = "\n".join(at(row, 1, piece("running", RED, GROUND)) for row in range(1, 7)) + at(1, 1)
    assert shown.changes(whole, (41, 6)) == shown.changes(whole, (41, 6))
    assert shown.changes(whole, (41, 6)).count("running") == 6


class OfSize:
    """What the driver asks of the app."""

    size = SIZE


def test_a_frame_goes_out_in_one_piece_and_an_empty_one_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(LinuxDriver, "write", lambda _driver, data: written.append(data))
    driver = SteadyInput.__new__(SteadyInput)
    driver._app, driver._shown = OfSize(), Shown()
    for _ in range(2):
        for part in (SYNC_START, at(2, 3, piece("running", RED, GROUND)) + at(1, 1), SYNC_END):
            driver.write(part)
    assert written == [f"{SYNC_START}\x1b[2;3H\x1b[{RED};{GROUND}mrunning\x1b[0m\x1b[1;1H{SYNC_END}"]
    driver.write("\x07")
    assert written[1:] == ["\x07"]
