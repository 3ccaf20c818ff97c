import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_backend.tools.replacing import ReplaceError, lines_text, replace


def test_one_occurrence() -> None:
    replaced = replace(b"a\nb\nc\n", b"b", b"xyz", every=False)
    assert replaced.content == b"a\nxyz\nc\n"
    assert replaced.lines == (2,)


def test_bytes_that_are_no_text_stay() -> None:
    assert replace(b"\xff\0a\xfe", b"a", b"b", every=False).content == b"\xff\0b\xfe"


@pytest.mark.parametrize(
    ("content", "old", "new", "said"),
    [
        (b"a", b"", b"x", "`old` is empty"),
        (b"a", b"a", b"a", "are the same"),
        (b"a", b"b", b"x", "not in the file. Nothing was changed."),
        (b"a\na\nb a", b"a", b"x", "occurs 3 times, at lines 1, 2 and 3"),
        (b"a\r\nb\r\n", b"a\nb", b"x", r"lines end in \r\n"),
        (b"x\n\tif a:\n\t\tb()\n", b"    if a:\n        b()", b"x", "Line 2 has the same words with other white space"),
        (b"a", b"  \n", b"x", "not in the file. Nothing"),
    ],
)
def test_refusals_say_why(content: bytes, old: bytes, new: bytes, said: str) -> None:
    with pytest.raises(ReplaceError) as caught:
        replace(content, old, new, every=False)
    assert said in str(caught.value)


@given(st.binary(max_size=60), st.binary(min_size=1, max_size=3), st.binary(max_size=3))
def test_all_occurrences_are_those_of_bytes_replace(content: bytes, old: bytes, new: bytes) -> None:
    if old == new or old not in content:
        with pytest.raises(ReplaceError):
            replace(content, old, new, every=True)
        return
    replaced = replace(content, old, new, every=True)
    assert replaced.content == content.replace(old, new)
    assert len(replaced.lines) == content.count(old)
    assert replaced.lines[0] == content[: content.find(old)].count(b"\n") + 1
    assert list(replaced.lines) == sorted(replaced.lines)


def test_many_lines_are_not_listed_all() -> None:
    assert lines_text(tuple(range(1, 1235))) == "lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 … (1,234 in all)"
