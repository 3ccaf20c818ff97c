"""From records to runs and their conversations. Pure; the only clock is the `now` that is given."""

from collections.abc import Sequence
from datetime import datetime

from local_backend.reporting import queued_seconds, run_spec_fields, run_status_fields
from local_backend.storage.records import CallRow, GroupRecord, RunRecord, TurnRow
from nodus_tui.contract.money import usd_from_nano
from nodus_tui.contract.phases import CallState
from nodus_tui.contract.resources.agent_run import AgentRun, AgentRunSpec, AgentRunStatus, CallRecord, Transcript, TranscriptTurn
from nodus_tui.contract.resources.meta import Metadata


def run_resource(run: RunRecord, group: GroupRecord, *, max_turns: int, now: datetime) -> AgentRun:
    """A run as `get` gives it."""
    status = run_status_fields(run, max_turns=max_turns, simulated=bool(group.model.get("simulated")), now=now)
    status["queuedSeconds"] = queued_seconds(run, now)
    return AgentRun(
        metadata=Metadata(name=run.name, project=group.metadata.get("project")),
        spec=AgentRunSpec.model_validate(run_spec_fields(run, group)),
        status=AgentRunStatus.model_validate(status),
    )


def transcript_of(run: RunRecord, group: GroupRecord, turns: Sequence[TurnRow], calls: Sequence[CallRow]) -> Transcript:
    """A run's conversation and its calls."""
    return Transcript(
        run=run.name,
        turns=tuple(
            TranscriptTurn.model_validate(
                {
                    "index": t.position,
                    "role": t.role,
                    "text": t.text,
                    "at": t.at,
                    "call": t.call,
                    "toolResults" if t.role == "tool" else "toolCalls": t.tools,
                }
            )
            for t in turns
        ),
        calls=tuple(_call_record(call) for call in calls),
        simulated=bool(group.model.get("simulated")),
        price_source=str(group.model.get("priceSource", "")),
        grader_message=run.grade_message,
    )


def _call_record(call: CallRow) -> CallRecord:
    usage = call.usage or {}
    return CallRecord(
        number=call.number,
        state=call.state.value,
        attempt=call.attempt,
        turn=call.turn,
        reserved_usd=usd_from_nano(call.reserved),
        cost_usd=usd_from_nano(call.cost),
        input_bound=call.input_bound,
        input_tokens=usage.get("input") if call.state is CallState.SETTLED else None,
        cached_input_tokens=usage.get("cached"),
        output_tokens=usage.get("output"),
        reasoning_tokens=usage.get("reasoning"),
        over_bound=call.over_bound,
        started_at=call.started_at,
        ended_at=call.ended_at,
        stop_reason=call.stop_reason,
        error=call.error,
    )
