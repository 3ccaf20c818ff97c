"""The run view: the facts of one run, its conversation as wrapped lines, and its calls with what each reserved and cost."""

from bisect import bisect_right
from datetime import datetime

from nodus_tui.contract.money import display_usd, usd_text
from nodus_tui.contract.phases import CallState, RunPhase
from nodus_tui.contract.resources.agent_run import AgentRun, CallRecord, RunSandbox, Transcript, TranscriptTurn
from nodus_tui.text import safe_text, wrap
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.columns import Column
from nodus_tui.view_state.figures import NOTHING, bar, clock_text, count_text, exact_span_text, seconds_between, share, span_text
from nodus_tui.view_state.key_actions import KeyNamer, own_key
from nodus_tui.view_state.money import money_of, usd_cell_forms
from nodus_tui.view_state.pass_rates import honesty_marks
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.run_columns import queue_seconds, run_seconds, run_status, verdict_line, why_line
from nodus_tui.view_state.tool_turns import call_lines, result_lines
from nodus_tui.view_state.words import run_sign

TURN_LIMIT = 200_000
"""Characters of one turn that are shown; the whole stays in the backend."""
_LABEL = 7
_STILL = frozenset({RunPhase.INTERRUPTED})
"""Unfinished, and yet nothing of it moves."""
_ROLE_TONES = {"system": Tone.MUTED, "user": Tone.INFO, "assistant": Tone.GOOD, "tool": Tone.WARN}
ROOMY = 100
"""From this width on facts have room for what matters less."""
_CALL_TONES = {
    CallState.RESERVED.value: Tone.INFO,
    CallState.SETTLED.value: Tone.GOOD,
    CallState.UNCONFIRMED.value: Tone.MARK,
    CallState.RELEASED.value: Tone.MUTED,
}


def _cost_cell(call: CallRecord, _now: datetime) -> Line:
    if call.state == CallState.RESERVED.value:
        return line(NOTHING)
    return line(Span(display_usd(call.cost_usd), _cost_tone(call)))


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
    if call.ended_at is None:
        return line(Span(span_text(seconds_between(call.started_at, now)), Tone.INFO))
    return line(exact_span_text(seconds_between(call.started_at, call.ended_at)))


def _note_cell(call: CallRecord, _now: datetime) -> Line:
    again = f"try {call.attempt}" if call.attempt > 1 else ""
    over = "usage above the bound: please report it" if call.over_bound else ""
    parts = (line(Span(over, Tone.BAD)), line(muted(again)), line(Span(call.error, Tone.WARN)), line(muted(call.stop_reason)))
    return joined(parts)


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
        lambda call, _now: line(muted(display_usd(call.reserved_usd))),
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


class RunState:
    """One run's facts, transcript and calls."""

    def __init__(self, name: str, key: KeyNamer = own_key) -> None:
        self.name = name
        self.key = key
        self.run: AgentRun | None = None
        self.transcript: Transcript | None = None
        self.calls: Rows[CallRecord] = Rows(CALL_COLUMNS, sort="number")
        self.whole = False
        """Whether tool calls and results are shown whole rather than folded."""
        self._wrapped: dict[tuple[int, int, bool], tuple[TranscriptTurn, tuple[Line, ...]]] = {}
        self._starts: list[int] = []
        """Where each turn begins in the lines that were given last."""
        self._fetched_for: tuple[object, ...] | None = None

    def wants_transcript(self) -> bool:
        """Whether something happened since the transcript was asked for."""
        return self._fetched_for != self._mark()

    def asked_for_transcript(self) -> None:
        """It is being fetched; what happens from now on makes it stale."""
        self._fetched_for = self._mark()

    def transcript_failed(self) -> None:
        """It did not come: ask again with the next change."""
        self._fetched_for = None

    def _mark(self) -> tuple[object, ...]:
        if self.run is None:
            return ()
        status = run_status(self.run)
        return (status.phase, status.reason, status.turns, status.calls, status.cost_usd, status.in_flight_usd, status.verdict)

    def take_transcript(self, transcript: Transcript) -> None:
        """Show a newer transcript."""
        self.transcript = transcript
        for call in transcript.calls:
            key = str(call.number)
            if self.calls.find(key) != call:
                self.calls.put(key, call)

    def moving(self) -> bool:
        """Whether figures of time here change by themselves."""
        return self.run is not None and run_status(self.run).phase not in _STILL and not run_status(self.run).phase.ended

    def facts(self, width: int, now: datetime, *, successor: AgentRun | None = None, notional: bool = False) -> tuple[Line, ...]:
        """The lines above the conversation."""
        if self.run is None:
            return ()
        run, status = self.run, run_status(self.run)
        sign = run_sign(status.phase, status.reason)
        state = joined(
            (
                sign.spans(),
                verdict_line(status) if status.phase.ended else (),
                line(muted("reward "), f"{status.reward:g}") if status.reward is not None else (),
                honesty_marks(simulated=status.simulated, notional=notional),
                line(muted("queued "), span_text(queue_seconds(run, now)), muted(" · ran "), _ran_text(run, now)),
                line(muted("turns "), str(status.turns), muted(f"/{status.max_turns}") if status.max_turns else ""),
            ),
        )
        lines = [state, self._money_line(run, width)]
        if status.sandbox is not None:
            lines.append(sandbox_line(status.sandbox, width, now))
        why = why_line(run, now)
        if why:
            lines.append((muted(("waits" if not status.phase.ended else "why").ljust(_LABEL)), *why))
        lines.extend(_lineage(run, successor, self.key))
        return tuple(lines)

    def _money_line(self, run: AgentRun, width: int) -> Line:
        status = run_status(run)
        cap = run.spec.max_cost_usd
        parts: list[Line] = [money_of(status.cost_usd, cap) if cap is not None else line(display_usd(status.cost_usd))]
        if status.in_flight_usd:
            parts.append(line(Span(f"{display_usd(status.in_flight_usd)} in flight at most", Tone.INFO)))
        if status.carried_usd:
            parts.append(line(muted(f"{display_usd(status.carried_usd)} carried over")))
        if status.unconfirmed_usd:
            parts.append(line(Span(f"{display_usd(status.unconfirmed_usd)} unconfirmed", Tone.MARK)))
        parts.append(line(f"{count_text(status.input_tokens)} in, {count_text(status.output_tokens)} out"))
        if self.transcript is not None and self.transcript.price_source:
            parts.append(line(muted(f"price: {self.transcript.price_source}")))
        length = 24 if width >= ROOMY else 12
        return (muted("money".ljust(_LABEL)), *bar(share(status.cost_usd, cap or 0), length), Span("  "), *joined(parts))

    def conversation(self, width: int) -> tuple[Line, ...]:
        """The transcript as lines of at most `width` cells. What was wrapped once is not wrapped again."""
        if self.transcript is None:
            return ()
        lines: list[Line] = []
        self._starts = []
        for turn in self.transcript.turns:
            self._starts.append(len(lines))
            lines.extend(self._turn_lines(turn, width))
        if self.transcript.grader_message:
            lines.append(line(strong("grader")))
            message = safe_text(self.transcript.grader_message, newlines=True)
            lines.extend(line(f"  {text}") for text in wrap(message, width - 2))
        return tuple(lines)

    @property
    def uses_tools(self) -> bool:
        """Whether there is a tool call or a result in the conversation."""
        return self.transcript is not None and any(turn.tool_calls or turn.tool_results for turn in self.transcript.turns)

    def turn_at(self, place: int) -> int:
        """Which turn a line of the conversation belongs to, counted from 0."""
        return max(0, bisect_right(self._starts, place) - 1)

    def start_of(self, turn: int) -> int:
        """The line with which a turn begins."""
        return self._starts[turn] if turn < len(self._starts) else 0

    def _turn_lines(self, turn: TranscriptTurn, width: int) -> tuple[Line, ...]:
        known = self._wrapped.get((turn.index, width, self.whole))
        if known is not None and known[0] == turn:
            return known[1]
        made = (*self._said(turn, width), *self._done_with_tools(turn, width), ())
        if len(self._wrapped) > 4 * max(16, len(self.transcript.turns if self.transcript else ())):
            self._wrapped.clear()
        self._wrapped[(turn.index, width, self.whole)] = (turn, made)
        return made

    def _said(self, turn: TranscriptTurn, width: int) -> tuple[Line, ...]:
        """Who speaks, and what is said; results of tools have heads of their own."""
        if turn.role == "tool" and turn.tool_results and not turn.text:
            return ()
        call = self.calls.find(str(turn.call)) if turn.call is not None else None
        head: list[Line] = [line(Span(turn.role, _ROLE_TONES[turn.role]))]
        if call is not None:
            head.append(line(muted(f"call {call.number}")))
            head.append(line(muted(display_usd(call.cost_usd))))
        silent = not turn.text and bool(turn.tool_calls)
        body = [] if silent else wrap(safe_text(turn.text, limit=TURN_LIMIT, newlines=True), width - 2)
        return (joined(head), *(line(Span(f"  {text}", Tone.MUTED if turn.role == "system" else Tone.PLAIN)) for text in body))

    def _done_with_tools(self, turn: TranscriptTurn, width: int) -> tuple[Line, ...]:
        return (
            *call_lines(turn.tool_calls, width, whole=self.whole),
            *result_lines(turn.tool_results, width, whole=self.whole, key=self.key("unfold")),
        )

    def silence(self, now: datetime) -> tuple[Line, ...]:
        """What stands where nothing has been said: what the run waits for, and what its next call needs."""
        if self.run is None:
            return ()
        status = run_status(self.run)
        lines = [line(muted("Nothing was said." if status.phase.ended else "Nothing has been said yet."))]
        why = why_line(self.run, now)
        if why:
            waits = "It is " if status.phase is RunPhase.INTERRUPTED else "It waits for "
            lines.append((muted("It ended: " if status.phase.ended else waits), *why))
        elif status.phase is RunPhase.RUNNING and status.in_flight_usd:
            lines.append(line(f"Its first call is under way and costs {display_usd(status.in_flight_usd)} at most."))
        lines.extend(self._needs(self.run))
        return tuple(lines)

    def _needs(self, run: AgentRun) -> tuple[Line, ...]:
        status = run_status(run)
        if status.phase.ended:
            return ()
        cap = display_usd(run.spec.max_cost_usd) if run.spec.max_cost_usd is not None else "no cap"
        if status.needed_cap_usd is not None:
            least = f"${usd_text(status.needed_cap_usd)}"
            return (
                line("Its next call needs a cap of at least ", strong(least), muted(f"; it has {cap} ({self.key('extend')} extends it)")),
            )
        if status.phase is RunPhase.PENDING and run.spec.max_cost_usd is not None:
            return (line("To start it needs a slot, and ", strong(cap), " of the group's cap to set aside."),)
        return ()

    def conversation_end(self, now: datetime) -> Line:
        """That the model is answering, as the line below the last turn; what a run waits for stands in its facts."""
        if self.run is None or self.transcript is None:
            return ()
        status = run_status(self.run)
        if status.phase is RunPhase.RUNNING and status.in_flight_usd:
            since = next((call.started_at for call in reversed(self.transcript.calls) if call.ended_at is None), None)
            running = f" since {clock_text(since, now)}" if since is not None else ""
            return line(Span(f"► the model is answering{running}", Tone.INFO))
        last = self.transcript.turns[-1] if self.transcript.turns else None
        if status.phase is RunPhase.RUNNING and last is not None and last.tool_calls and status.reason is None:
            names = ", ".join(dict.fromkeys(call.name for call in last.tool_calls))
            return line(Span(f"► at work in its sandbox ({names}) since {clock_text(last.at, now)}", Tone.INFO))
        return ()


def sandbox_line(box: RunSandbox, width: int, now: datetime) -> Line:
    """The sandbox of a run: what makes it, whether it runs, its time and its money, which is none of the model spend above it."""
    if box.running:
        since = f" since {clock_text(box.started_at, now)}" if box.started_at is not None else ""
        state = line(Span(f"► running{since}", Tone.INFO))
    else:
        state = line(f"■ {exact_span_text(box.seconds)}, stopped")
    cost = line(display_usd(box.cost_usd), muted(" apart from models"))
    engine = line(box.engine or "for grading", *((Span(" weaker isolation", Tone.MARK),) if box.isolation == "weaker" else ()))
    if width < ROOMY:
        return (muted("sandbox "), *joined((engine, state, cost)))
    kept = line("files kept") if box.files_kept else ()
    price = (*cost, muted(f", {display_usd(box.rate_usd)}/h"))
    return (muted("sandbox "), *joined((engine, state, price, kept, line(muted(short_image(box.image or box.grader_image))))))


def short_image(image: str) -> str:
    """An image with the first digits of its digest: whole ones fill a line, and `describe` shows them."""
    if image.startswith("sha256:"):  # Built on this machine: no name, an id.
        return f"{image[:14]}…"
    name, at, digest = image.partition("@")
    digits = digest.rpartition(":")[2]
    return f"{name}@{digits[:7]}…" if at and len(digits) > 7 else image


def _ran_text(run: AgentRun, now: datetime) -> str:
    status = run_status(run)
    if status.duration_seconds is not None:
        return exact_span_text(status.duration_seconds)
    return span_text(run_seconds(run, now)) if status.started_at is not None else "–"


def _lineage(run: AgentRun, successor: AgentRun | None, key: KeyNamer) -> tuple[Line, ...]:
    parts = []
    if run.spec.predecessor is not None:
        parts.append(line(muted("took over from "), run.spec.predecessor, muted(f" ({key('previous')} opens it)")))
    if successor is not None:
        parts.append(line(muted("its case goes on in "), successor.name, muted(f" ({key('next')} opens it)")))
    return (joined(parts),) if parts else ()
