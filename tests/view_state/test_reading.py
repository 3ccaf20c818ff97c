"""Reading a conversation: its parts, folding, the marked part, what is found, what is copied."""

from console_records import START, conversation, tool_conversation

from nodus_tui.contract.resources.agent_run import ToolCallRecord, ToolResultRecord, Transcript, TranscriptTurn
from nodus_tui.view_state.cells import Tone, line, plain
from nodus_tui.view_state.lazy_text import LazyText
from nodus_tui.view_state.reading import Reading


def reading_of(transcript: Transcript) -> Reading:
    reading = Reading()
    reading.take(transcript)
    return reading


def shown(reading: Reading, width: int = 78) -> list[str]:
    text = LazyText()
    text.put(reading.pieces(), width)
    return [plain(each).rstrip() for at in range(len(text.pieces)) for each in text.lines_of(at)]


def test_a_tool_call_is_one_line_with_how_it_came_out() -> None:
    lines = [each for each in shown(reading_of(tool_conversation("x"))) if each.startswith("  ▸")]
    assert [" ".join(each.split()) for each in lines] == [
        "▸ bash ls -la tests ✓ exit 0 · 0.0s · 624 B",
        "▸ bash python -m pytest -q 2>&1 | tail -3␤echo do… ! exit 1 · 1.3s · 104 B",
        "▸ read median.py ! error · 0.0s · 23 B",
        "▸ edit median.py ✓ done · 0.0s · 15 B",
        "▸ bash sleep 1000 ! killed · 2m00s · 15 B",
    ]
    assert {len(each) for each in lines} == {78}


def test_one_is_unfolded_or_all_and_all_again_are_folded() -> None:
    reading = reading_of(tool_conversation("x"))
    calls = [part for part in reading.parts if part.use is not None]
    folded = shown(reading)
    reading.turn(calls[0])
    assert any("test_case_11" in each for each in shown(reading))
    assert not any("1 failed in" in each for each in shown(reading))
    reading.turn_all()
    whole = shown(reading)
    assert all(any(words in each for each in whole) for words in ("test_case_11", "1 failed in", "timeoutSeconds: 60", "old: return"))
    reading.turn(calls[0])
    assert not any("test_case_11" in each for each in shown(reading))
    reading.turn_all()
    assert shown(reading) == folded


def test_results_belong_to_the_calls_that_they_answer() -> None:
    def call(name: str, ident: str) -> ToolCallRecord:
        return ToolCallRecord(id=ident, name=name, arguments=f'{{"command": "for {ident}"}}')

    def result(name: str, ident: str, text: str) -> ToolResultRecord:
        return ToolResultRecord(call_id=ident, name=name, text=text, exit_code=0)

    turns = (
        TranscriptTurn(index=0, role="assistant", text="", at=START, tool_calls=(call("bash", "a"), call("bash", "b"), call("read", "c"))),
        TranscriptTurn(
            index=1,
            role="tool",
            text="",
            at=START,
            tool_results=(result("bash", "b", "two"), result("bash", "a", "one"), result("bash", "z", "whose")),
        ),
    )
    reading = reading_of(Transcript(run="x", turns=turns))
    reading.turn_all()
    uses = [part.text.split("\n") for part in reading.parts if part.use is not None]
    assert uses == [["bash: for a", "one"], ["bash: for b", "two"], ["read: for c"], ["bash:", "whose"]]
    assert any("no result yet" in each for each in shown(reading))


def test_what_each_reply_cost_stands_beside_it_and_what_is_unconfirmed_says_so() -> None:
    told = conversation("x", "s", "u", "ok")
    paid = told.calls[0].model_copy(update={"cached_input_tokens": 500})
    lost = paid.model_copy(update={"number": 9, "state": "Unconfirmed"})
    lines = shown(reading_of(told.model_copy(update={"calls": (paid, lost)})))
    [head] = [each for each in lines if each.startswith("assistant · call 1")]
    assert "(500 cached) in, " in head
    assert "unconfirmed before" in head
    unsure = told.model_copy(update={"calls": (paid.model_copy(update={"state": "Unconfirmed", "input_tokens": None}),)})
    assert any(each.startswith("assistant · call 1 · $") and "unconfirmed" in each for each in shown(reading_of(unsure)))


def test_messages_are_rendered_or_as_they_were_written() -> None:
    reading = reading_of(conversation("x", "*system*", "**u**", "- *a*"))
    assert "  u" in shown(reading)
    assert "  *system*" in shown(reading)
    reading.turn_form()
    assert "  **u**" in shown(reading)


def test_a_newer_transcript_keeps_the_parts_that_are_the_same() -> None:
    reading = reading_of(tool_conversation("x", ended=False))
    before = reading.parts
    reading.turn_all()
    reading.take(tool_conversation("x"))
    assert [one is other for one, other in zip(before, reading.parts, strict=False)][:4] == [True] * 4
    assert reading.whole


def test_the_marked_part_is_told_and_moved_from() -> None:
    reading = reading_of(tool_conversation("x"))
    reading.marked = reading.parts[2].key
    assert [each for each in shown(reading) if each.endswith("←")] == [each for each in shown(reading) if "call 1" in each]
    following = reading.neighbour(reading.marked, 1)
    assert following is not None
    assert following.use is not None
    assert reading.neighbour(reading.marked, -99) is reading.parts[0]
    assert reading.neighbour(reading.marked, 99) is reading.parts[-1]


def test_words_are_found_in_what_is_folded_too() -> None:
    reading = reading_of(tool_conversation("x"))
    reading.search("TEST_CASE_07")
    assert len(reading.hits) == 1
    found = reading.go_to_hit(reading.hit_from([]))
    assert found is not None
    part, piece, nth = found
    assert reading.unfolded(part)
    assert piece is not None
    lines = piece.make(60)
    assert "test_case_07" in plain(lines[reading.line_of_hit(lines, nth)])
    painted = reading.painted(lines[reading.line_of_hit(lines, nth)], here=True)
    assert [span.text for span in painted if span.tone is Tone.MARK] == ["test_case_07"]
    assert plain(painted).startswith("▌ ")
    assert reading.go_to_hit(1) == found
    reading.search("")
    assert (reading.hits, reading.go_to_hit(0)) == ((), None)


def test_what_a_folded_call_shows_is_found_without_unfolding_it() -> None:
    reading = reading_of(tool_conversation("x"))
    reading.search("ls -la tests")
    assert len(reading.hits) == 1
    part, piece, _nth = reading.go_to_hit(0) or (None, None, 0)
    assert part is not None
    assert piece is None
    assert not reading.unfolded(part)


def test_hits_are_gone_through_in_order_and_from_the_screen_on() -> None:
    reading = reading_of(conversation("x", "aa b", "c aa aa", "aa"))
    reading.search("aa")
    assert [(hit.part, hit.nth) for hit in reading.hits] == [(0, 0), (1, 0), (1, 1), (2, 0)]
    assert reading.hit_from([reading.parts[1].key]) == 1
    reading.go_to_hit(-1)
    assert reading.hit == 3


def test_what_is_found_may_look_like_a_pattern_and_other_letters() -> None:
    reading = reading_of(conversation("x", "s", "a.*[b] STRASSE İx", "r"))
    for needle in (".*[", "strasse", "x"):
        reading.search(needle)
        assert reading.hits
        assert reading.painted(line("  a.*[b] STRASSE İx"), here=False)


def test_code_of_messages_and_calls_can_be_copied() -> None:
    reading = reading_of(conversation("x", "s", "u", "a\n```sh\nls\n```\n```\nmore\n```"))
    assert reading.parts[2].code() == ["ls\n", "more\n"]
    tools = reading_of(tool_conversation("x"))
    [listing] = [part for part in tools.parts if part.use is not None and "ls -la" in part.text]
    assert listing.code()[0] == "ls -la tests"
