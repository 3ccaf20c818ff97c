"""The run view: the facts of one run, how its conversation is read, and its calls with what each reserved and cost."""

from datetime import datetime

from nodus_tui.contract.money import display_usd, enough_text
from nodus_tui.contract.phases import RunPhase
from nodus_tui.contract.resources.agent_run import AgentRun, CallRecord, RunSandbox, Transcript
from nodus_tui.view_state.call_columns import CALL_COLUMNS
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.figures import bar, clock_text, count_text, exact_span_text, reward_text, share, short_usd, span_text
from nodus_tui.view_state.image_names import short_image
from nodus_tui.view_state.key_actions import KeyNamer, own_key
from nodus_tui.view_state.money import money_of
from nodus_tui.view_state.pass_rates import honesty_marks
from nodus_tui.view_state.reading import Reading
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.run_columns import run_seconds, run_status, verdict_line, why_line
from nodus_tui.view_state.run_times import time_lines, time_parts
from nodus_tui.view_state.words import run_sign

_LABEL = 7
_STILL = frozenset({RunPhase.INTERRUPTED})
"""Unfinished, and yet nothing of it moves."""
ROOMY = 100
"""From this width on facts have room for what matters less."""


class RunState:
    """One run's facts, transcript and calls."""

    def __init__(self, name: str, key: KeyNamer = own_key) -> None:
        self.name = name
        self.key = key
        self.run: AgentRun | None = None
        self.transcript: Transcript | None = None
        self.calls: Rows[CallRecord] = Rows(CALL_COLUMNS, sort="number")
        self.reading = Reading()
        """The conversation, as the person reads it."""
        self._fetched_for: tuple[object, ...] | None = None
        self._continues = False
        """Whether what comes next only continues what is known."""

    def wants_transcript(self) -> bool:
        """Whether something happened since the transcript was asked for."""
        return self._fetched_for != self._mark()

    def asked_for_transcript(self) -> None:
        """It is being fetched; what happens from now on makes it stale."""
        self._fetched_for = self._mark()

    def transcript_failed(self) -> None:
        """It did not come: ask again with the next change."""
        self._fetched_for = None

    def begin_anew(self) -> None:
        """The conversation is another one: ask for all of it."""
        self._fetched_for = None
        self._continues = False

    @property
    def turns_known(self) -> int:
        """From which turn on to ask: what is known already need not come again over a thin line."""
        if self.transcript is None or not self._continues or not self.transcript.turns:
            return 0
        return self.transcript.turns[-1].index

    def _mark(self) -> tuple[object, ...]:
        if self.run is None:
            return ()
        status = run_status(self.run)
        return (status.phase, status.reason, status.turns, status.calls, status.cost_usd, status.in_flight_usd, status.verdict)

    def take_transcript(self, transcript: Transcript, from_turn: int = 0) -> None:
        """Show a newer transcript, which was asked for from this turn on."""
        if from_turn > 0:
            if self.transcript is None or not self._continues:
                return  # It continues what is not shown any more: the whole is asked for next.
            transcript = transcript.continuing(self.transcript)
        self._continues = True
        self.transcript = transcript
        self.reading.take(transcript)
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
                line(muted("reward "), reward_text(status.reward))
                if status.reward is not None and (width >= ROOMY or status.reward not in {0, 1})
                else (),
                honesty_marks(simulated=status.simulated, notional=notional),
                line(muted("ran "), _ran_text(run, now)),
                line(muted("turns "), str(status.turns), muted(f"/{status.max_turns}") if status.max_turns else ""),
            ),
        )
        times = time_lines(time_parts(run, self.transcript, now), width, ended=status.phase.ended)
        lines = [state, self._money_line(run, width), *times]
        if status.sandbox is not None:
            lines.append(sandbox_line(status.sandbox, width, now))
        why = self._cap_line(run) or why_line(run, now)
        if why:
            lines.append((muted(("waits" if not status.phase.ended else "why").ljust(_LABEL)), *why))
        lines.extend(_lineage(run, successor, self.key))
        return tuple(lines)

    def _money_line(self, run: AgentRun, width: int) -> Line:
        status = run_status(run)
        cap = run.spec.max_cost_usd
        parts: list[Line] = [money_of(status.cost_usd, cap) if cap is not None else line(short_usd(status.cost_usd))]
        if status.in_flight_usd:
            parts.append(line(Span(f"{short_usd(status.in_flight_usd)} in flight at most", Tone.INFO)))
        if status.carried_usd:
            parts.append(line(muted(f"{short_usd(status.carried_usd)} carried over")))
        if status.unconfirmed_usd:
            parts.append(line(Span(f"{short_usd(status.unconfirmed_usd)} unconfirmed", Tone.MARK)))
        parts.append(line(f"{count_text(status.input_tokens)} in, {count_text(status.output_tokens)} out"))
        if width >= ROOMY and self.transcript is not None and self.transcript.price_source:
            parts.append(line(muted(f"price: {self.transcript.price_source}")))
        length = 24 if width >= ROOMY else 12
        return (muted("money".ljust(_LABEL)), *bar(share(status.cost_usd, cap or 0), length), Span("  "), *joined(parts))

    def _cap_line(self, run: AgentRun) -> Line:
        """Of a run that waits at its own cap, what lets it go on; the cap itself stands beside its money. Empty of others."""
        status = run_status(run)
        if status.needed_cap_usd is None or status.phase is not RunPhase.WAITING:
            return ()
        extends = muted(f" ({key} extends it)") if (key := self.key("extend")) else ""
        words = Span("its own cap", run_sign(status.phase, status.reason).tone)
        return line(words, muted(" · "), "its next call needs at least ", strong(enough_text(status.needed_cap_usd)), extends)

    def silence(self) -> tuple[Line, ...]:
        """What stands where nothing has been said, and what has to happen first; what it waits for stands in the facts above."""
        if self.run is None:
            return ()
        status = run_status(self.run)
        if status.phase.ended:
            return (line(muted("Nothing was said.")),)
        lines = [line(muted("Nothing has been said yet."))]
        if status.phase is RunPhase.RUNNING and status.in_flight_usd:
            lines.append(line(f"Its first call is under way and costs {short_usd(status.in_flight_usd)} at most."))
        elif status.phase is RunPhase.PENDING:
            room = ", and its whole cap fits under what the group has left" if self.run.spec.max_cost_usd is not None else ""
            lines.append(line(f"It starts by itself once it has a slot{room}."))
        return tuple(lines)

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
    cost = line(short_usd(box.cost_usd), muted(" apart from models"))
    engine = line(box.engine or "for grading", *((Span(" weaker isolation", Tone.MARK),) if box.isolation == "weaker" else ()))
    if width < ROOMY:
        return (muted("sandbox "), *joined((engine, state, cost)))
    kept = line("files kept") if box.files_kept else ()
    price = (*cost, muted(f", {display_usd(box.rate_usd)}/h"))
    return (muted("sandbox "), *joined((engine, state, price, kept, line(muted(short_image(box.image or box.grader_image))))))


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
