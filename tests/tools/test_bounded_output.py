import re

from hypothesis import given
from hypothesis import strategies as st

from local_backend.tools.output import BoundedOutput, on_own_line

_LEFT_OUT = re.compile(r"\[([0-9,]+) bytes? left out here\]\n")


def _of(pieces: list[bytes], limit: int) -> BoundedOutput:
    output = BoundedOutput(limit)
    for piece in pieces:
        output.add(piece)
    return output


@given(st.lists(st.binary(max_size=50), max_size=20), st.integers(2, 1000))
def test_what_fits_is_shown_whole(pieces: list[bytes], limit: int) -> None:
    whole = b"".join(pieces)
    output = _of(pieces, limit)
    assert output.total == len(whole)
    text = output.text()
    text.encode()  # No lone surrogate.
    if len(whole) <= limit:
        assert text == whole.decode(errors="replace")
    else:
        assert _LEFT_OUT.search(text)


@given(st.lists(st.text("aä€😀\n", max_size=300), max_size=10), st.integers(2, 100))
def test_characters_are_never_cut(pieces: list[str], limit: int) -> None:
    whole = "".join(pieces)
    text = _of([piece.encode() for piece in pieces], limit).text()
    assert "\ufffd" not in text
    if len(whole.encode()) > limit:
        head, left_out, tail = _LEFT_OUT.split(text)
        assert whole.startswith(head.removesuffix("\n"))
        assert whole.endswith(tail)
        shown = len(head.encode()) + len(tail.encode())
        # A line break may have been added after the head.
        assert int(left_out.replace(",", "")) - (len(whole.encode()) - shown) in {0, 1}


def test_a_flood_takes_no_memory() -> None:
    output = BoundedOutput(1000)
    for number in range(100_000):
        output.add(b"%06d\n" % number * 10)
    assert output.total == 7_000_000
    text = output.text()
    assert text.startswith("000000\n")
    assert text.endswith("099999\n")
    assert "[6,999,000 bytes left out here]" in text


def test_one_huge_piece() -> None:
    text = _of([b"a" * 100 + b"x" * 1_000_000 + b"z" * 100], 200).text()
    assert text == f"{'a' * 100}\n[1,000,000 bytes left out here]\n{'z' * 100}"


def test_control_characters_stay() -> None:
    assert _of([b"\0\x1b[31mred\x07\r\n"], 100).text() == "\0\x1b[31mred\x07\r\n"


def test_invalid_bytes_are_replaced() -> None:
    assert _of([b"\xff\xed\xa0\x80."], 100).text() == "\ufffd" * 4 + "."


def test_lines_of_their_own() -> None:
    assert (on_own_line(""), on_own_line("a"), on_own_line("a\n")) == ("", "a\n", "a\n")
