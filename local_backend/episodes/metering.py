"""The books of one group: every change of its runs, calls and money goes through here, ledger and database together.

Write before you act: a call's worst case is reserved and committed before the request leaves, and its outcome is committed before the
next step. Whatever is on the disk is therefore never less than what was spent.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from pydantic import JsonValue

from local_backend.budgets.keeper import Purse
from local_backend.models.wire import ChatMessage, ModelReply, ToolCall, ToolResult
from local_backend.reporting import account_of, group_spec_fields, group_status_fields, ledger_of, run_spec_fields, run_status_fields
from local_backend.storage.records import CallRow, GroupRecord, RunRecord, TaskRow, TurnRow, event
from local_backend.storage.store import Statement, Store
from local_backend.storage.stretches import note_stretch
from nodus_tui.contract.phases import CallState, Reason, UntilKind
from nodus_tui.contract.resources.agent import AgentSpec


class Reservation(Struct, frozen=True):
    """A call that may leave now: its worst case is durable."""

    call: CallRow


class GroupBooks:
    """The records of one group in memory, and the only hand that changes them. Used on one event loop."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Callable[[], datetime],
        group: GroupRecord,
        agent: AgentSpec,
        tasks: Sequence[TaskRow],
        runs: Iterable[RunRecord],
        purse: Purse,
    ) -> None:
        self.store = store
        self.purse = purse
        """The budgets in whose scope the group is."""
        self.clock = clock
        self.group = group
        self.agent = agent
        self.tasks = list(tasks)
        self.runs: dict[str, RunRecord] = {run.name: run for run in runs}
        for run in self.runs.values():
            run.published = self._status(run)
        self.ledger = ledger_of(group, self.runs.values())
        self._under_way: dict[str, CallRow] = {}
        """By run: the call whose worst case is set aside."""
        self.dirty = False
        """Whether the group's own status has changed since it was last told."""

    @property
    def simulated(self) -> bool:
        """Whether the group's model is simulated."""
        return bool(self.group.model.get("simulated"))

    def current(self) -> list[RunRecord]:
        """The runs that stand for their cases, in order of the cases."""
        return sorted((run for run in self.runs.values() if run.current), key=lambda run: run.case_index)

    # What is written, as statements; the caller commits.

    def told(self, run: RunRecord) -> list[Statement]:
        """The row of a changed run and the event with its changed fields."""
        rests = run.started_at is not None and not run.phase.going and not run.phase.ended
        run.rested_at = (run.rested_at or self.clock()) if rests else None
        note_stretch(run, run.rested_at or self.clock(), in_sandbox=bool(self.agent.tools))
        status = self._status(run)
        changed = {name: value for name, value in status.items() if run.published.get(name, _MISSING) != value}
        run.published = status
        self.dirty = True
        if not changed:
            return [run.save()]
        return [run.save(), event(self.clock(), "Changed", "AgentRun", run.name, group=self.group.name, status=changed)]

    def created(self, run: RunRecord) -> list[Statement]:
        """Enter a new run in the books: its account, its row and the event with everything."""
        self.runs[run.name] = run
        self.ledger.open(run.name, account_of(run))
        note_stretch(run, run.created_at, in_sandbox=bool(self.agent.tools))
        run.published = self._status(run)
        self.dirty = True
        metadata: dict[str, JsonValue] = {"name": run.name, "project": self.group.metadata.get("project"), "labels": {}}
        spec = run_spec_fields(run, self.group)
        told = event(
            self.clock(), "Created", "AgentRun", run.name, group=self.group.name, status=run.published, spec=spec, metadata=metadata
        )
        return [run.save(), told]

    def group_told(self) -> list[Statement]:
        """The group's row and the event with the changed fields of its status; nothing when nothing changed."""
        status = group_status_fields(self.group, list(self.runs.values()), self.ledger, now=self.clock())
        changed = {name: value for name, value in status.items() if self.group.status.get(name, _MISSING) != value}
        self.group.status = status
        self.dirty = False
        if not changed:
            return []
        return [self.group.save(), event(self.clock(), "Changed", "AgentGroup", self.group.name, group=self.group.name, status=changed)]

    def group_spec_told(self) -> list[Statement]:
        """The group's row and the event with the cap and maxActive in force."""
        told = event(self.clock(), "Changed", "AgentGroup", self.group.name, group=self.group.name, spec=group_spec_fields(self.group))
        return [self.group.save(), told]

    def _status(self, run: RunRecord) -> dict[str, JsonValue]:
        return run_status_fields(run, max_turns=self.agent.max_turns, simulated=self.simulated)

    # One call's life.

    async def conversation(self, run: RunRecord) -> list[ChatMessage]:
        """The run's committed messages, the system prompt left out."""
        if run.turns == 0 and run.calls == 0:
            return []
        rows = await self.store.read("SELECT * FROM turns WHERE run = ? AND role != 'system' ORDER BY position", (run.name,))
        return [message_of(TurnRow.from_row(row)) for row in rows]

    async def reserve(
        self, run: RunRecord, *, turn: int, attempt: int, worst: int, input_bound: int, new_turns: Sequence[TurnRow]
    ) -> Reservation:
        """Set the worst case aside and make it durable. Raises LedgerError when the caller did not ask first."""
        self.ledger.reserve(run.name, worst)
        self.purse.reserve(run.name, worst)
        run.in_flight = worst
        run.calls += 1
        run.reason, run.message, run.until_at = None, "", None
        call = CallRow(
            run=run.name,
            number=run.calls,
            turn=turn,
            attempt=attempt,
            reserved=worst,
            input_bound=input_bound,
            started_at=self.clock(),
        )
        self._under_way[run.name] = call
        await self.store.commit([*(turn.save() for turn in new_turns), call.save(), *self.told(run)])
        return Reservation(call)

    async def settle(self, run: RunRecord, reservation: Reservation, reply: ModelReply, cost: int, reply_turn: TurnRow) -> None:
        """Book the reported usage and keep the words that were paid."""
        call = reservation.call
        call.state = CallState.SETTLED
        call.cost = cost
        call.usage = {
            "input": reply.usage.input_tokens,
            "cached": reply.usage.cached_input_tokens,
            "output": reply.usage.output_tokens,
            "reasoning": reply.usage.reasoning_tokens,
        }
        call.over_bound = reply.usage.input_tokens > call.input_bound or cost > call.reserved
        call.stop_reason = reply.stop_reason
        run.input_tokens += reply.usage.input_tokens
        run.output_tokens += reply.usage.output_tokens
        run.turns += 1
        booked = self._book(run, call, cost)
        await self.store.commit([reply_turn.save(), call.save(), *booked, *self.told(run)])

    async def tools_done(self, run: RunRecord, turn: int, results: Sequence[Mapping[str, JsonValue]]) -> TurnRow:
        """Keep what the tool calls of a reply gave; `turn` is the reply's number. It opens the next turn."""
        row = TurnRow(run.name, 2 * turn + 1, "tool", "", self.clock(), None, results)
        await self.store.commit([row.save(), *self.told(run)])
        return row

    async def changed(self, run: RunRecord, also: Sequence[Statement] = ()) -> None:
        """Commit what changed of a run that is neither a call nor an end: its sandbox, say; and what was booked for it."""
        await self.store.commit([*also, *self.told(run)])

    async def release(self, run: RunRecord, reservation: Reservation, error: str) -> None:
        """The call certainly cost nothing."""
        call = reservation.call
        call.state = CallState.RELEASED
        call.error = error
        booked = self._book(run, call, 0)
        await self.store.commit([call.save(), *booked, *self.told(run)])

    async def charge_worst(self, run: RunRecord, reservation: Reservation, error: str) -> None:
        """The call's outcome is unknown: book its worst case and mark it so."""
        await self.store.commit(self.charge_worst_statements(run, reservation.call, error))

    async def charge_what_is_under_way(self, run: RunRecord, error: str) -> None:
        """Nobody will say any more how the run's call came out, if one was under way: book its worst case and mark it so."""
        call = self._under_way.get(run.name)
        if call is not None:
            await self.store.commit(self.charge_worst_statements(run, call, error))

    def charge_worst_statements(self, run: RunRecord, call: CallRow, error: str) -> list[Statement]:
        """The same as statements, for a recovery that commits them with other things."""
        call.state = CallState.UNCONFIRMED
        call.cost = call.reserved
        call.error = error
        run.unconfirmed += call.reserved
        booked = self._book(run, call, call.reserved)
        return [call.save(), *booked, *self.told(run)]

    def _book(self, run: RunRecord, call: CallRow, cost: int) -> list[Statement]:
        call.cost = cost
        call.ended_at = self.clock()
        self.ledger.book(run.name, cost)
        run.in_flight = 0
        run.spent += cost
        if self._under_way.pop(run.name, None) is not None:
            return self.purse.book(run.name, cost)
        return self.purse.charged(model=cost)  # A crash left it under way.

    async def waits(self, run: RunRecord, reason: Reason | None, message: str, until: datetime | None, kind: UntilKind = "Exact") -> None:
        """Say what a going run waits for."""
        if (run.reason, run.message, run.until_at, run.until_kind) != (reason, message, until, kind):
            run.reason, run.message, run.until_at, run.until_kind = reason, message, until, kind
            await self.store.commit(self.told(run))


def message_of(turn: TurnRow) -> ChatMessage:
    """A committed turn as the conversation has it."""
    if turn.role == "tool":
        results = (
            ToolResult(str(each["callId"]), str(each["name"]), str(each["text"]), is_error=bool(each["isError"])) for each in turn.tools
        )
        return ChatMessage("tool", "", tool_results=tuple(results))
    calls = (ToolCall(str(each["id"]), str(each["name"]), str(each["arguments"])) for each in turn.tools)
    return ChatMessage("assistant" if turn.role == "assistant" else "user", turn.text, tool_calls=tuple(calls))


_MISSING = object()
