"""A long text of which only what is on the screen is wrapped."""

from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.text import wrap
from nodus_tui.view_state.cells import line, plain
from nodus_tui.view_state.lazy_text import PIECE, LazyText, Piece, cut_text


def pieces_of(text: str) -> list[Piece]:
    return [Piece(part, lambda width, part=part: [line(each) for each in wrap(part, width)]) for part in cut_text(text)]


def shown(text: LazyText, top: int, rows: int) -> list[str]:
    return [plain(text.line(top + y)) for y in range(rows)]


def all_lines(text: LazyText) -> list[str]:
    return [plain(each) for at in range(len(text.pieces)) for each in text.lines_of(at)]


@given(st.text(st.sampled_from("ab \n"), max_size=300), st.integers(min_value=1, max_value=30))
def test_the_parts_of_a_text_are_the_text(text: str, size: int) -> None:
    parts = list(cut_text(text, size))
    assert all(len(part) <= size for part in parts)
    assert "".join(parts).replace("\n", "") == text.replace("\n", "")


def test_ten_megabytes_are_wrapped_where_somebody_looks() -> None:
    text = LazyText()
    text.put(pieces_of("some words that are said again and again\n" * 250_000), 60)
    assert text.settle(0, 20) == 0
    assert shown(text, 0, 2) == ["some words that are said again and again"] * 2
    assert text.wrapped_pieces == 1
    end = text.total - 20
    top = text.settle(end, 20)
    assert len(shown(text, top, 20)) == 20
    assert text.wrapped_pieces < 5


def test_scrolling_up_into_what_nobody_has_seen_goes_on_line_by_line() -> None:
    # Guesses are wrong here: words of three letters leave room at the end of each line.
    numbers = " ".join(f"{number:07d}" for number in range(40_000))
    text, whole = LazyText(), LazyText()
    text.put(pieces_of(numbers), 20)
    whole.put(pieces_of(numbers), 20)
    expected = all_lines(whole)
    top = text.settle(text.total - 10, 10)
    seen = shown(text, top, 10)
    for _step in range(3 * PIECE // 20):
        before = shown(text, top, 10)
        top = text.settle(top - 1, 10)
        now = shown(text, top, 10)
        assert now[1:] == before[:-1]
        seen.insert(0, now[0])
    place = expected.index(seen[0])
    assert expected[place : place + len(seen) - 10] == seen[:-10]


def test_what_is_known_of_a_piece_stays_with_it() -> None:
    text = LazyText()
    pieces = pieces_of("word " * 5000)
    text.put(pieces, 30)
    all_lines(text)
    count, total = text.wrapped_pieces, text.total
    text.put([*pieces, *pieces_of("more")], 30)
    text.settle(0, 10)
    assert (text.wrapped_pieces, text.total) == (count, total + 1)
    text.put(pieces, 20)
    text.settle(0, 10)
    assert text.wrapped_pieces == count + 1


def test_nothing_and_below_the_end_are_empty() -> None:
    text = LazyText()
    text.put([], 10)
    assert (text.total, text.settle(5, 10), text.line(3)) == (0, 0, ())
    text.put([Piece("", lambda _width: [])], 10)
    assert text.settle(0, 5) == 0
    assert text.line(0) == text.line(7) == ()
