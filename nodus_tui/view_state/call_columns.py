"""The calls of a run as rows: what each reserved and cost, the tokens that it reported."""

from datetime import datetime

from nodus_tui.contract.phases import CallState
from nodus_tui.contract.resources.agent_run import CallRecord
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted
from nodus_tui.view_state.columns import Column
from nodus_tui.view_state.figures import NOTHING, column_span_text, count_text, exact_span_text, seconds_between, short_usd
from nodus_tui.view_state.money import usd_cell_forms

_MINUTE = 60
_CALL_TONES = {
    CallState.RESERVED.value: Tone.INFO,
    CallState.SETTLED.value: Tone.GOOD,
    CallState.UNCONFIRMED.value: Tone.MARK,
    CallState.RELEASED.value: Tone.MUTED,
}


def _cost_cell(call: CallRecord, _now: datetime) -> Line:
    if call.state == CallState.RESERVED.value:
        return line(NOTHING)
    return line(Span(short_usd(call.cost_usd), _cost_tone(call)))


def _cost_tone(call: CallRecord) -> Tone:
    return Tone.MARK if call.state == CallState.UNCONFIRMED.value else Tone.PLAIN


def _input_cell(call: CallRecord, _now: datetime) -> Line:
    if call.input_tokens is None:
        return line(muted(f"≤{count_text(call.input_bound)}"))
    alarm = line(Span("!", Tone.BAD)) if call.over_bound else ()
    cached = line(muted(f" ({count_text(call.cached_input_tokens)} cached)")) if call.cached_input_tokens else ()
    return (*alarm, *line(count_text(call.input_tokens)), *cached)


def _shorter_input(call: CallRecord, _now: datetime) -> tuple[Line, ...]:
    if call.input_tokens is None:
        return ()
    alarm = line(Span("!", Tone.BAD)) if call.over_bound else ()
    return ((*alarm, *line(count_text(call.input_tokens))),)


def _output_cell(call: CallRecord, _now: datetime) -> Line:
    return line(NOTHING) if call.output_tokens is None else line(count_text(call.output_tokens))


def _took_cell(call: CallRecord, now: datetime) -> Line:
    """As exact for one under way as for one that ended: figures of a column are read beside each other."""
    seconds = seconds_between(call.started_at, call.ended_at or now)
    if call.ended_at is not None:
        return line(exact_span_text(seconds))
    return line(Span(exact_span_text(seconds) if seconds < _MINUTE else column_span_text(seconds, going=True), Tone.INFO))


def _note_cell(call: CallRecord, _now: datetime) -> Line:
    again = f"try {call.attempt}" if call.attempt > 1 else ""
    over = "usage above the bound: please report it" if call.over_bound else ""
    parts = (line(Span(over, Tone.BAD)), line(muted(again)), line(Span(call.error, Tone.WARN)), line(muted(call.stop_reason)))
    return joined(parts)


def no_reply_words(call: CallRecord) -> str:
    """Why a call has no reply to go to, whole: its row may be too narrow for that."""
    if call.ended_at is None:
        return f"Call {call.number} is not answered yet."
    why = f": {call.error.rstrip('.')}" if call.error else " that was kept"
    return f"Call {call.number} made no reply{why}."


CALL_COLUMNS: tuple[Column[CallRecord], ...] = (
    Column("number", "CALL", 5, lambda call, _now: line(muted(str(call.number))), lambda call: call.number, right=True),
    Column(
        "state",
        "STATE",
        11,
        lambda call, _now: line(Span(call.state, _CALL_TONES.get(call.state, Tone.PLAIN))),
        lambda call: call.state,
    ),
    Column(
        "reserved",
        "RESERVED",
        9,
        lambda call, _now: line(muted(short_usd(call.reserved_usd))),
        lambda call: call.reserved_usd,
        grow=4,
        right=True,
        shorter=lambda call, _now: usd_cell_forms(call.reserved_usd, Tone.MUTED),
    ),
    Column(
        "cost",
        "COST",
        9,
        _cost_cell,
        lambda call: call.cost_usd,
        grow=4,
        right=True,
        shorter=lambda call, _now: usd_cell_forms(call.cost_usd, _cost_tone(call)),
    ),
    Column("input", "IN", 6, _input_cell, lambda call: call.input_tokens, grow=8, right=True, shorter=_shorter_input),
    Column("output", "OUT", 5, _output_cell, lambda call: call.output_tokens, right=True),
    Column("took", "TOOK", 6, _took_cell, lambda call: call.started_at.timestamp(), priority=2, right=True),
    Column("note", "NOTE", 10, _note_cell, lambda call: call.error, priority=1, grow=60),
)
