"""A text whose lines are never broken is where the library's own view of it says that it is, after any edits."""

from hypothesis import given
from hypothesis import strategies as st
from textual.document._document import Document
from textual.document._wrapped_document import WrappedDocument
from textual.geometry import Offset

from nodus_tui.widgets.flat_text import FlatDocument, FlatLines

TAB = 2
TEXTS = st.text(st.sampled_from("ab:\t 表\n"), max_size=40)
EDITS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), TEXTS), max_size=6)


@given(TEXTS, EDITS)
def test_it_is_as_the_librarys_own(text: str, edits: list[tuple[int, int, int, int, str]]) -> None:
    ours, theirs = FlatDocument(text), Document(text)
    flat, wrapped = FlatLines(ours, TAB), WrappedDocument(theirs, 0, TAB)
    assert ours.get_size(TAB) == theirs.get_size(TAB)
    for row, column, other_row, other_column, put_in in edits:
        rows = [each % ours.line_count for each in (row, other_row)]
        places = sorted((each, at % (len(ours.get_line(each)) + 1)) for each, at in zip(rows, (column, other_column), strict=True))
        end = ours.replace_range(*places, put_in).end_location
        theirs.replace_range(*places, put_in)
        flat.wrap_range(*places, end)
        wrapped.wrap_range(*places, end)
    assert (ours.text, ours.get_size(TAB), flat.height) == (theirs.text, theirs.get_size(TAB), wrapped.height)
    for line in range(ours.line_count):
        assert flat._offset_to_line_info[line] == wrapped._offset_to_line_info[line]
        assert (flat.get_offsets(line), flat.get_sections(line)) == (wrapped.get_offsets(line), wrapped.get_sections(line))
        assert flat.get_tab_widths(line) == wrapped.get_tab_widths(line)
        for at in range(len(ours.get_line(line)) + 1):
            assert flat.location_to_offset((line, at)) == wrapped.location_to_offset((line, at))
        for x in range(12):
            assert flat.offset_to_location(Offset(x, line)) == wrapped.offset_to_location(Offset(x, line))
