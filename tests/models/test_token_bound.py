"""The token bound as arithmetic; test_real_servers holds it against a real tokenizer."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from local_backend.models.token_bound import DEFAULT_SYSTEM_TOKENS, FRAME_TOKENS, MESSAGE_TOKENS, LastCall, input_bound, text_bound
from local_backend.models.wire import ChatMessage, ModelRequest, Usage


def conversation(*texts: str, system: str = "S") -> ModelRequest:
    roles = ("user", "assistant")
    return ModelRequest(system, tuple(ChatMessage(roles[place % 2], text) for place, text in enumerate(texts)), 100)


def test_a_first_call() -> None:
    assert input_bound(conversation("hello", system="SYS")) == 3 + 5 + FRAME_TOKENS
    assert input_bound(conversation("hello", system="")) == 5 + FRAME_TOKENS + DEFAULT_SYSTEM_TOKENS
    assert input_bound(conversation("a", "b", "c")) == 1 + 3 + FRAME_TOKENS + 2 * MESSAGE_TOKENS


def test_normalised_bytes_count_where_they_are_more() -> None:
    assert text_bound("\ufdfa") == len(unicodedata.normalize("NFKC", "\ufdfa").encode()) > 3
    assert text_bound("é") == 2
    assert text_bound("e\u0301") == 3
    assert text_bound("\ud800") == 3


def test_a_later_call_starts_from_what_was_reported() -> None:
    long = "word " * 2000
    request = conversation(long, "reply", "next")
    last = LastCall(Usage(input_tokens=2010, output_tokens=7), messages=1)
    assert input_bound(request, last) == 2010 + 7 + 4 + 2 * MESSAGE_TOKENS
    assert input_bound(request, last) < input_bound(request)


def test_reasoning_that_is_not_sent_again_does_not_loosen_the_bound() -> None:
    last = LastCall(Usage(input_tokens=10, output_tokens=50_000, reasoning_tokens=49_990), messages=1)
    request = conversation("hello", "reply", "next")
    assert input_bound(request, last) == input_bound(request)


def test_damaged_bytes_in_a_reply_count_three_times() -> None:
    last = LastCall(Usage(input_tokens=2010, output_tokens=7), messages=1)
    whole, damaged = (conversation("word " * 2000, reply, "next") for reply in ("abcd", "ab\ufffd\ufffd"))
    assert input_bound(damaged, last) == input_bound(whole, last) + 6


def test_a_report_that_cannot_be_true_is_not_built_upon() -> None:
    request = conversation("word " * 2000, "reply", "next")
    for usage in (Usage(0, 7), Usage(100, 7)):
        assert input_bound(request, LastCall(usage, messages=1)) == input_bound(request)


def test_a_report_of_another_conversation_is_not_built_upon() -> None:
    usage = Usage(5000, 7)
    request = conversation("a", "b", "c")
    assert input_bound(request, LastCall(usage, messages=3)) == input_bound(request)
    assert input_bound(request, LastCall(usage, messages=2)) == input_bound(request)


@given(st.text())
def test_never_below_the_bytes_of_either_form(text: str) -> None:
    assert text_bound(text) >= len(text.encode())
    assert text_bound(text) >= len(unicodedata.normalize("NFKC", text).encode())
