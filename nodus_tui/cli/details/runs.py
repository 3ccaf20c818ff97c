"""A run in detail, and its conversation. Foreign text passes safe_text. Pure."""

from datetime import datetime

from nodus_tui.cli.cell_texts import time_text
from nodus_tui.cli.output import table_text
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.agent import AgentSandbox
from nodus_tui.contract.resources.agent_run import AgentRun, CallRecord, Transcript
from nodus_tui.view_state.run_facts import run_pairs
from nodus_tui.view_state.transcript_text import conversation_text

_CALL_TITLES = ("CALL", "STATE", "TURN", "TRY", "RESERVED", "COST", "BOUND", "IN", "CACHED", "OUT", "STARTED", "ENDED", "NOTE")
_CALL_FIGURES = frozenset({"CALL", "TURN", "TRY", "RESERVED", "COST", "BOUND", "IN", "CACHED", "OUT"})


def pairs(run: AgentRun, *, now: datetime | None, limits: AgentSandbox | None, transcript: Transcript | None) -> list[tuple[str, str]]:
    """What is to be known of it beside its conversation."""
    return run_pairs(run, limits=limits, transcript=transcript, now=now, moment=time_text)


def transcript_text(transcript: Transcript, *, calls: bool) -> str:
    """The conversation, one message after the other; before it, unless not wanted, the calls."""
    table = table_text(_CALL_TITLES, [_call_row(call) for call in transcript.calls], right=_CALL_FIGURES) if transcript.calls else ""
    said = conversation_text(transcript, moment=time_text)
    return "\n\n".join(part for part in (table if calls else "", said) if part) or "no conversation yet"


def _call_row(call: CallRecord) -> tuple[str, ...]:
    notes = [call.stop_reason, call.error, "usage above the bound" if call.over_bound else ""]
    return (
        str(call.number),
        call.state,
        str(call.turn),
        str(call.attempt),
        display_usd(call.reserved_usd),
        display_usd(call.cost_usd),
        f"{call.input_bound:,}",
        _count(call.input_tokens),
        _count(call.cached_input_tokens),
        _count(call.output_tokens),
        time_text(call.started_at),
        time_text(call.ended_at),
        "; ".join(note for note in notes if note),
    )


def _count(tokens: int | None) -> str:
    return "-" if tokens is None else f"{tokens:,}"
