from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.contract.resources.job import JobLog
from nodus_tui.text import width_of
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.job_log import LONGEST_LINE, MOST_LINES, LogTail


def piece(text: str, offset: int = 0, *, ended: bool = False, skipped: int = 0) -> JobLog:
    end = offset + len(text.encode())
    return JobLog(job="work", offset=offset, next_offset=end, size=end, text=text, ended=ended, skipped=skipped)


def shown(tail: LogTail, width: int = 40) -> list[str]:
    return [plain(each) for each in tail.lines(width)]


def test_lines_come_as_they_are_written_and_an_unfinished_one_is_shown_too() -> None:
    tail = LogTail()
    assert tail.place < 0
    assert tail.take(piece("one\ntw"))
    assert shown(tail) == ["one", "tw"]
    assert tail.take(piece("o\n\nthree", 6, ended=True))
    assert shown(tail) == ["one", "two", "", "three"]
    assert (tail.place, tail.ended) == (14, True)
    assert not tail.take(piece("", 14, ended=True))


def test_progress_bars_show_their_last_state_colours_go_and_the_rest_is_made_visible() -> None:
    tail = LogTail()
    tail.take(piece(" 10%\r 50%\r100%\r\n\x1b[31mred\x1b[0m\n\x1b[2Jclear\x07\n 1%\r 2%"))
    assert shown(tail) == ["100%", "red", "␛[2Jclear␇", " 2%"]


def test_what_was_left_out_before_is_said() -> None:
    tail = LogTail()
    tail.take(piece("end", 1000))
    assert "earlier output" in shown(tail)[0]


def test_a_line_of_ten_million_characters_and_a_flood_of_lines_are_bounded() -> None:
    tail = LogTail()
    tail.take(piece("x" * 10_000_000))
    assert sum(len(each) for each in shown(tail, 80)) <= (2 * MOST_LINES + 2) * LONGEST_LINE
    for _ in range(5):
        tail.take(piece("line\n" * MOST_LINES))
    assert len(shown(tail)) <= 2 * MOST_LINES + 1
    assert shown(tail)[-1] == "line"
    assert "earlier output" in shown(tail)[0]


@given(texts=st.lists(st.text(max_size=60), max_size=12), width=st.integers(min_value=4, max_value=60))
def test_no_line_is_wider_than_it_may_be_however_the_text_comes_in_pieces(texts: list[str], width: int) -> None:
    whole, parts = LogTail(), LogTail()
    whole.take(piece("".join(texts)))
    for text in texts:
        parts.take(piece(text))
        parts.lines(width)
    assert shown(parts, width) == shown(whole, width)
    assert all(width_of(each) <= width for each in shown(whole, width) if "earlier" not in each)
    assert not any("\x1b" in each or "\n" in each for each in shown(whole, width))
