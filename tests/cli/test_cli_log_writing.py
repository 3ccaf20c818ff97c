"""The log of a job on a terminal: what was written over is written over, and nothing in it is obeyed."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.cli.log_writing import writer_to


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO) -> list[str]:
    """What stands on a terminal that is wide enough."""
    screen = []
    for line in stream.getvalue().split("\n"):
        row = ""
        for part in line.split("\r"):
            row = part + row[len(part) :]
        screen.append(row.rstrip())
    return screen


def written(*pieces: str, stream: io.StringIO) -> io.StringIO:
    write = writer_to(stream)
    for piece in pieces:
        write(piece)
    return stream


def test_a_progress_bar_stands_as_it_was_last() -> None:
    log = ("fetching\n\r  0%|    |", "\r 50%|##  |", "\r100%|####| done", "\r100%\r", "\nscored\r\n", "the end")
    assert shown(written(*log, stream=Terminal())) == ["fetching", "100%", "scored", "the end"]


def test_a_line_that_is_written_over_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    told = written("\r" + "#" * 50, "#" * 50, "\rdone\n", stream=Terminal()).getvalue()
    assert max(map(len, told.split("\r"))) <= 20
    whole = written("x" * 50 + "\n", stream=Terminal()).getvalue()
    assert whole == "x" * 50 + "\n", "what was not written over is told whole"


@given(st.text(st.sampled_from("ab \r\n\x1b[K日")), st.integers(0, 30))
def test_pieces_make_no_difference_and_no_control_character_gets_through(text: str, at: int) -> None:
    once, twice = written(text, stream=Terminal()), written(text[:at], text[at:], stream=Terminal())
    assert not set(once.getvalue()) & {"\x1b"}
    assert [row.strip() for row in shown(once)] == [row.strip() for row in shown(twice)]


def test_a_pipe_gets_it_as_it_is() -> None:
    log = "a\r\n\x1b[1mb\rc"
    assert written(log, stream=io.StringIO()).getvalue() == log
