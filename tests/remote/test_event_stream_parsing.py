"""Server-sent events are read to the same events whatever pieces they come in, and a cut one does not count."""

import itertools
from collections.abc import AsyncIterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.remote.stream import events

TEXT = st.text(st.characters(blacklist_characters="\n\r", blacklist_categories=["Cs"]), min_size=1, max_size=40)


async def pieces_of(data: bytes, cuts: Sequence[int]) -> AsyncIterator[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in itertools.pairwise(places):
        yield data[start:end]


async def read(data: bytes, cuts: Sequence[int] = ()) -> list[tuple[str, bytes]]:
    return [event async for event in events(pieces_of(data, cuts))]


@given(texts=st.lists(TEXT, max_size=5), cuts=st.lists(st.integers(0, 10_000), max_size=12), ending=st.sampled_from(["\n", "\r\n"]))
async def test_pieces_do_not_matter(texts: list[str], cuts: list[int], ending: str) -> None:
    lines = [line for text in texts for line in (": a heartbeat", "", "id: 7", "event: batch", f"data: {text}", "")]
    data = "".join(line + ending for line in lines).encode()
    assert await read(data, cuts) == [("batch", text.encode()) for text in texts]


async def test_an_event_that_is_cut_off_does_not_count() -> None:
    whole = b"event: batch\ndata: 1\n\n"
    assert await read(whole + b"event: batch\ndata: 2\n") == [("batch", b"1")]


async def test_characters_that_break_lines_elsewhere_do_not_here() -> None:
    text = "a\u2028b\u0085c\x0bd\x1ce"
    assert await read(f"data: {text}\n\n".encode()) == [("message", text.encode())]


async def test_several_lines_of_data_are_one_value() -> None:
    assert await read(b"data: a\ndata:b\nunknown: x\n\n\n\n") == [("message", b"a\nb")]
