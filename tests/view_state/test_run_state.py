"""The run's state: facts, wrapped conversation, calls."""

from datetime import timedelta

from console_records import NOW, conversation, run, tool_conversation, tool_run, usd

from nodus_tui.contract.phases import Reason, RunPhase
from nodus_tui.view_state.call_columns import no_reply_words
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.image_names import short_image
from nodus_tui.view_state.run import CALL_COLUMNS, RunState
from nodus_tui.view_state.run_columns import run_seconds


def texts(lines) -> list[str]:
    return [plain(each) for each in lines]


def state_of(item, *said: str) -> RunState:
    state = RunState(item.name)
    state.run = item
    state.take_transcript(conversation(item.name, *said))
    return state


def test_facts_name_money_in_flight_and_carried() -> None:
    item = run(
        1,
        phase=RunPhase.RUNNING,
        cost_usd=usd("0.02"),
        carried_usd=usd("0.01"),
        in_flight_usd=usd("0.03"),
        calls=1,
        predecessor="fleet-0001-a0",
    )
    facts = "\n".join(texts(state_of(item).facts(120, NOW)))
    assert "$0.03 in flight at most" in facts
    assert "$0.01 carried over" in facts
    assert "took over from fleet-0001-a0" in facts
    assert "simulated" in facts


def test_a_transcript_is_asked_for_again_only_when_something_happened() -> None:
    state = state_of(run(1, phase=RunPhase.RUNNING, calls=1))
    assert state.wants_transcript()
    state.asked_for_transcript()
    assert not state.wants_transcript()
    state.run = run(1, phase=RunPhase.RUNNING, calls=2)
    assert state.wants_transcript()


def test_a_call_in_flight_shows_bounds_not_figures() -> None:
    call = (
        conversation("x")
        .calls[0]
        .model_copy(
            update={"state": "Reserved", "input_tokens": None, "output_tokens": None, "ended_at": None, "cost_usd": usd("0")},
        )
    )
    cells = {column.key: plain(column.cell(call, NOW)) for column in CALL_COLUMNS}
    assert cells["input"] == "≤812"
    assert cells["output"] == "–"
    assert cells["cost"] == "–"


def test_usage_above_the_bound_is_an_alarm() -> None:
    call = conversation("x").calls[0].model_copy(update={"over_bound": True})
    cells = {column.key: plain(column.cell(call, NOW)) for column in CALL_COLUMNS}
    assert cells["input"].startswith("!")
    assert "above the bound" in cells["note"]


def tool_state(*, running: bool = False) -> RunState:
    state = RunState("fleet-0000-a1")
    state.run = tool_run(running=running)
    state.take_transcript(tool_conversation(state.name, ended=not running))
    return state


def test_the_sandbox_is_told_with_its_own_money() -> None:
    facts = texts(tool_state().facts(78, NOW))
    assert "sandbox bubblewrap · ■ 3m12s, stopped · $0.0004 apart from models" in facts
    wide = "\n".join(texts(tool_state().facts(118, NOW)))
    assert "$0.0004 apart from models, $0.0075/h · files kept" in wide
    assert "nodus-base@9f86d08…" in wide
    working = tool_state(running=True)
    assert any("► running since 14:00:03" in text for text in texts(working.facts(78, NOW)))
    assert "at work in its sandbox (bash, read) since 14:00:20" in texts([working.conversation_end(NOW)])[0]


def test_images_are_shown_with_the_first_digits_of_their_digests() -> None:
    digits = "9f86d081884c7d65"
    assert [short_image(image) for image in (f"nodus/base@sha256:{digits}", f"sha256:{digits}", "python:3.13", "")] == [
        "nodus/base@9f86d08…",
        "sha256:9f86d08…",
        "python:3.13",
        "",
    ]


def test_the_time_of_a_run_that_rests_stands_still() -> None:
    begun = {"started_at": NOW - timedelta(hours=2), "phase": RunPhase.INTERRUPTED, "reason": Reason.INTERRUPTED}
    rested = run(1, **begun, rested_at=NOW - timedelta(hours=1, minutes=57))
    assert run_seconds(rested, NOW) == run_seconds(rested, NOW + timedelta(days=1)) == 180
    going = run(1, started_at=NOW - timedelta(minutes=1), phase=RunPhase.RUNNING)
    assert run_seconds(going, NOW) == 60


def test_a_call_under_way_is_as_exact_as_those_that_ended() -> None:
    ended = conversation("x").calls[0]
    took = next(column for column in CALL_COLUMNS if column.key == "took")
    for seconds, told in ((0.4, "0.4s"), (12.34, "12.3s"), (59.99, "1m00s"), (83, "1m20s")):
        begun = ended.model_copy(update={"ended_at": None, "started_at": NOW - timedelta(seconds=seconds)})
        assert plain(took.cell(begun, NOW)) == told


def test_a_run_at_its_cap_names_the_amount_and_no_key_that_is_not_offered() -> None:
    item = run(
        1, phase=RunPhase.WAITING, reason=Reason.MAX_COST_REACHED, needed_cap_usd=usd("0.0641"), message="its next call may cost $0.02"
    )
    state = RunState(item.name, lambda _action: "")
    state.run = item
    state.take_transcript(conversation(item.name))
    told = "\n".join(texts((*state.facts(120, NOW), *state.silence())))
    assert "waits  its own cap · its next call needs at least $0.0641\n" in told
    assert "may cost" not in told


def test_a_call_without_a_reply_says_why_in_full() -> None:
    ended = conversation("x").calls[0]
    why = "the provider answered 429: too many requests for this key in this minute"
    assert no_reply_words(ended.model_copy(update={"number": 2, "error": why})) == f"Call 2 made no reply: {why}."
    assert no_reply_words(ended.model_copy(update={"ended_at": None})) == "Call 1 is not answered yet."
