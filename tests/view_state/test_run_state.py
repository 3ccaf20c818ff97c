"""The run's state: facts, wrapped conversation, calls."""

from console_records import NOW, conversation, run, scored, usd

from nodus_tui.contract.phases import RunPhase, Verdict
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.run import CALL_COLUMNS, RunState


def texts(lines) -> list[str]:
    return [plain(each) for each in lines]


def state_of(item, *said: str) -> RunState:
    state = RunState(item.name)
    state.run = item
    state.take_transcript(conversation(item.name, *said))
    return state


def test_the_conversation_is_wrapped_and_wrapped_once_only() -> None:
    state = state_of(scored(0, Verdict.CORRECT), "You add.", "word " * 40, "ok")
    lines = state.conversation(30)
    assert all(len(text) <= 30 for text in texts(lines))
    again = state.conversation(30)
    assert again == lines
    assert all(one is other for one, other in zip(lines, again, strict=True) if one)


def test_hostile_turns_are_shown_as_data() -> None:
    state = state_of(scored(0, Verdict.CORRECT), "s", "\x1b]52;c;ZXZpbA==\x07[@click=app.quit]x[/]\r\nnext\u202e")
    shown = "\n".join(texts(state.conversation(80)))
    assert "\x1b" not in shown
    assert "␛]52;c;ZXZpbA==␇[@click=app.quit]x[/]" in shown
    assert "next<U+202E>" in shown


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
