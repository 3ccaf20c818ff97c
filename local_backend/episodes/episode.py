"""One run's conversation from its last committed turn to its answer, or to whatever stops it. It asks the ledger before every call."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Protocol

from msgspec import Struct
from pydantic import JsonValue

from local_backend.budgets.keeper import LOOK_SECONDS
from local_backend.episodes.conversation import Answered, CallModel, OutOfTurns, RunTools, next_step
from local_backend.episodes.metering import GroupBooks, Reservation, message_of
from local_backend.episodes.stop import StoppedError, StopSignal
from local_backend.episodes.workplace import BudgetError, SandboxLimitError, SpoiltError, Workplace
from local_backend.models.catalogue import ResolvedModel
from local_backend.models.retries import RetryPolicy
from local_backend.models.served import ModelDoor
from local_backend.models.token_bound import LastCall, input_bound
from local_backend.models.wire import CallOutcome, ChatMessage, ModelCallError, ModelReply, ModelRequest, ToolCall
from local_backend.sandboxes.interface import SandboxError
from local_backend.scheduling.admission import call_does_not_fit
from local_backend.storage.records import RunRecord, TurnRow
from local_backend.storage.space import SPACE_LOOK_SECONDS
from local_backend.tools.definitions import definitions
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.phases import Reason

_log = logging.getLogger(__name__)

MODEL_LOOK_SECONDS = 0.5
"""While a model server is not up, it is looked for this often."""


class ProviderPlace(Protocol):
    """A place among the provider's calls in flight."""

    @property
    def taken(self) -> int:
        """Places that other calls hold."""
        ...

    def try_enter(self) -> bool:
        """Enter if nobody must be waited for."""
        ...

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class Models(Protocol):
    """What an episode needs of the models room; `ModelClient` has it."""

    def slot(self, model: ResolvedModel) -> ProviderPlace:
        """A place among the provider's calls in flight; waits while it is full or the provider asked for a pause."""
        ...

    def paused_until(self, model: ResolvedModel) -> datetime | None:
        """Until when the provider asked for a pause."""
        ...

    async def attempt(self, model: ResolvedModel, request: ModelRequest) -> ModelReply:
        """Send the request once."""
        ...

    def note(self, model: ResolvedModel, error: ModelCallError | None) -> None:
        """Tell how the attempt ended."""
        ...


class Parked(Struct, frozen=True):
    """The next call might not fit the run's cap."""

    message: str
    needed: int
    """The cap that the next call needs, in nano-dollars."""


class Broke(Struct, frozen=True):
    """The run ended without an answer."""

    reason: Reason
    message: str


class Stopped(Struct, frozen=True):
    """The run was told to stop; what it paid for is kept."""


class Unserved(Struct, frozen=True):
    """The job that serves the model has ended: the run waits again, without a slot, and what it paid for is kept."""


class Blocked(Struct, frozen=True):
    """A budget does not pay for the next call, or for a sandbox."""

    message: str


class Spoilt(Struct, frozen=True):
    """The agent left files that cannot be judged: an answer that nobody can read."""

    message: str


Ending = Answered | Parked | Broke | Stopped | Unserved | Blocked | Spoilt


async def broke_by_fault(books: GroupBooks, run: RunRecord, error: Exception) -> Broke:
    """The end of a run in which a fault of ours came up: the log has its traceback, and what may have been paid is charged.

    Raises the error itself where it is that the store takes nothing any more, which is nothing of this run's.
    """
    if books.store.failure is not None:
        raise error
    _log.error("run %s was ended by a fault of the scheduler", run.name, exc_info=error)
    await books.charge_what_is_under_way(run, f"a fault of the scheduler came while the call was under way: {type(error).__name__}")
    said = error.detail if isinstance(error, NodusError) else type(error).__name__
    return Broke(Reason.INFRASTRUCTURE_FAILURE, f"a fault of the scheduler ended it ({said}); the scheduler's log has the details")


class Episode:
    """The conversation of one run."""

    def __init__(
        self,
        *,
        books: GroupBooks,
        run: RunRecord,
        prompts: Sequence[str],
        models: Models,
        door: ModelDoor,
        stop: StopSignal,
        shortage: Callable[[], str],
        workplace: Workplace | None = None,
    ) -> None:
        self._books = books
        self._run = run
        self._prompts = prompts
        self._models = models
        self._door = door
        self._model = door.model
        """As it is reached for the try at hand."""
        self._stop = stop
        self._shortage = shortage
        """Why the disk has no room for another call, as a sentence; empty when it has."""
        self._workplace = workplace
        """The run's sandbox; None for an agent without tools."""
        self._tools = (
            definitions(books.agent.tools, command_seconds=books.agent.sandbox.command_timeout.total_seconds(), workdir=workplace.workdir)
            if workplace is not None
            else ()
        )
        self._last: LastCall | None = None
        self._opened_turn = 0
        """The newest turn whose user message this episode committed: a further try does not commit it again."""

    async def converse(self) -> Ending:
        """Go on until the answer, a cap, an error or a stop. Every committed turn is kept whatever the ending.

        A run with tools leaves its sandbox with its files kept; an answer whose files could not be kept is no answer.
        """
        messages = await self._books.conversation(self._run)
        if self._workplace is None:
            return await self._go_on(messages)
        try:
            ending, worked = await self._work(messages)
        except Exception as error:  # noqa: BLE001 - whatever it is, the sandbox is ended, and its files are kept
            ending, worked = await broke_by_fault(self._books, self._run, error), False
        kept = await self._workplace.leave()
        use = self._run.sandbox
        if isinstance(ending, Answered) and self._workplace.spoilt:
            return Spoilt(self._workplace.spoilt)
        if worked and not kept and use is not None and use.not_kept:
            use.lost = self._run.turns > 0
            if isinstance(ending, Answered):
                return Stopped() if self._stop.now else Broke(Reason.INFRASTRUCTURE_FAILURE, use.not_kept)
        return ending

    async def _work(self, messages: list[ChatMessage]) -> tuple[Ending, bool]:
        """Go on with a sandbox: how it ended, and whether the sandbox was well at the end."""
        try:
            return await self._go_on(messages), True
        except (BudgetError, SpoiltError) as ended:
            return (Blocked if isinstance(ended, BudgetError) else Spoilt)(str(ended)), False
        except SandboxLimitError as limit:
            return Broke(Reason.SANDBOX_LIMIT_REACHED, str(limit)), False
        except SandboxError as error:
            return Broke(Reason.INFRASTRUCTURE_FAILURE, f"the sandbox failed: {error}"), False
        except OSError as error:  # This machine's own doing: the disk with the kept files, say.
            return Broke(Reason.INFRASTRUCTURE_FAILURE, f"the sandbox failed: {error.strerror or type(error).__name__}"), False
        except StoppedError:
            return Stopped(), False

    async def _go_on(self, messages: list[ChatMessage]) -> Ending:
        while True:
            step = next_step(self._prompts, messages, self._books.agent.max_turns)
            if isinstance(step, Answered):
                self._run.answered = True
                return step
            if isinstance(step, OutOfTurns):
                limit = self._books.agent.max_turns
                return Broke(Reason.TURN_LIMIT_REACHED, f"the agent's maxTurns ({limit}) was used up before the answer")
            if isinstance(step, RunTools):
                done = await self._use_tools(step)
                if isinstance(done, Stopped):
                    return done
                messages = [*messages, done]
                continue
            ending = await self._turn(step)
            if not isinstance(ending, ChatMessage):
                return ending
            messages = [*step.messages, ending]

    async def _use_tools(self, step: RunTools) -> ChatMessage | Stopped:
        """Do what the reply asks for, in order. Raises SandboxError, SandboxLimitError."""
        results: list[dict[str, JsonValue]] = []
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            for call in step.calls:
                began = clock()
                results.append(await self._use_tool(call))
        except StoppedError:
            lasted = round(clock() - began, 3)
            results += [_not_run(call, lasted=lasted if place == 0 else None) for place, call in enumerate(step.calls[len(results) :])]
            await self._books.tools_done(self._run, step.turn, results)
            return Stopped()
        row = await self._books.tools_done(self._run, step.turn, results)
        self._opened_turn = step.turn + 1
        return message_of(row)

    async def _use_tool(self, call: ToolCall) -> dict[str, JsonValue]:
        if self._workplace is None:
            said = f"there is no tool {call.name}: this agent has none; answer in words"
            return {"callId": call.id, "name": call.name, "text": said, "isError": True, "exitCode": None, "seconds": 0}
        outcome = await self._workplace.call(call)
        return {
            "callId": call.id,
            "name": call.name,
            "text": outcome.result.text,
            "isError": outcome.result.is_error,
            "exitCode": outcome.exit_code,
            "seconds": round(outcome.seconds, 3),
        }

    async def _turn(self, step: CallModel) -> ChatMessage | Parked | Broke | Stopped | Unserved | Blocked:
        """One reply, in as many tries as it takes."""
        request = ModelRequest(
            system=self._books.agent.system,
            messages=step.messages,
            max_tokens=self._books.agent.model.max_tokens,
            temperature=self._books.agent.model.temperature,
            tools=self._tools,
            case_key=self._case_key(step.turn),
        )
        bound = input_bound(request, self._last)
        worst = self._model.price.worst_case_nano(bound, request.max_tokens)
        attempt = 0
        while True:
            attempt += 1
            sentence = call_does_not_fit(self._books.ledger, self._run.name, worst)
            if sentence is not None:
                return Parked(sentence, self._run.carried + self._run.spent + worst)
            if self._stop.soon:
                return Stopped()
            try:
                await self._wait_for_room()
                if not await self._wait_for_model():
                    return Unserved()
                if self._workplace is not None:
                    await self._workplace.ready()
                tried = await self._try_once(step, request, attempt=attempt, worst=worst, bound=bound)
                if isinstance(tried, float):
                    await self._stop.wait_softly(asyncio.sleep(tried))
                    continue
            except StoppedError:
                return Stopped()
            return tried

    async def _try_once(
        self, step: CallModel, request: ModelRequest, *, attempt: int, worst: int, bound: int
    ) -> ChatMessage | float | Broke | Stopped | Blocked:
        """One try: the reply, or the seconds to wait before the next try, or how it ended. May raise StoppedError between calls."""
        await self._tell_pause()
        slot = self._models.slot(self._model)
        if not slot.try_enter():
            await self._tell_crowd(slot.taken)
            await self._stop.wait_softly(_enter(slot))
        try:
            refused = await self._wait_for_budgets(worst)
            if refused is not None:
                return Blocked(refused)
            reservation = await self._books.reserve(
                self._run, turn=step.turn, attempt=attempt, worst=worst, input_bound=bound, new_turns=self._opening(step)
            )
            try:
                reply = await self._stop.wait(self._models.attempt(self._model, request))
            except StoppedError:
                await self._books.charge_worst(self._run, reservation, "stopped while the call was under way")
                return Stopped()
            except ModelCallError as error:
                self._models.note(self._model, error)
                return await self._after_error(error, reservation, attempt, step.turn)
            except Exception as error:  # noqa: BLE001 - whatever broke here, the call may have been paid
                await self._books.charge_worst(self._run, reservation, f"the model adapter failed: {type(error).__name__}")
                return Broke(Reason.INFRASTRUCTURE_FAILURE, f"the model adapter failed: {type(error).__name__}")
            self._models.note(self._model, None)
            if not self._model.price.free and _costs_nothing(reply):
                sentence = "the server answered, but says that it counted no tokens: what the call cost is not known"
                await self._books.charge_worst(self._run, reservation, sentence)
                return Broke(Reason.INFRASTRUCTURE_FAILURE, f"{sentence}; it is charged its worst case, unconfirmed")
            return await self._settle(step, reservation, reply)
        finally:
            await slot.__aexit__(None, None, None)

    async def _settle(self, step: CallModel, reservation: Reservation, reply: ModelReply) -> ChatMessage:
        calls: list[dict[str, JsonValue]] = [
            {"id": _clean(call.id), "name": _clean(call.name), "arguments": _clean(call.arguments)} for call in reply.tool_calls
        ]
        turn = TurnRow(self._run.name, 2 * step.turn, "assistant", _clean(reply.text), self._books.clock(), reservation.call.number, calls)
        await self._books.settle(self._run, reservation, reply, self._model.price.cost_nano(reply.usage), turn)
        self._last = LastCall(reply.usage, len(step.messages))
        return message_of(turn)

    async def _after_error(self, error: ModelCallError, reservation: Reservation, attempt: int, turn: int) -> float | Broke:
        if error.outcome is CallOutcome.UNKNOWN:
            await self._books.charge_worst(self._run, reservation, error.message)
            if not self._model.served_by:
                return Broke(Reason.INFRASTRUCTURE_FAILURE, f"{error.message}; the call is charged its worst case, unconfirmed")
            # The worst case of a model that a job serves is nothing: asking it again costs nobody anything.
            error = error.to_be_repeated()
        else:
            await self._books.release(self._run, reservation, error.message)
        if error.retryable:
            await self._door.look()
        policy = RetryPolicy(self._model.max_tries, self._case_key(turn))
        delay = policy.delay(attempt, error)
        if delay is None:
            return Broke(Reason.INFRASTRUCTURE_FAILURE, policy.gave_up(attempt, error))
        until = self._books.clock() + timedelta(seconds=delay)
        reason = Reason.RATE_LIMITED if error.rate_limited else Reason.RETRYING
        await self._books.waits(self._run, reason, f"try {attempt + 1} of {self._model.max_tries} follows: {error.message}", until)
        return float(delay)

    async def _tell_pause(self) -> None:
        until = self._models.paused_until(self._model)
        if until is not None and until > self._books.clock():
            await self._books.waits(self._run, Reason.RATE_LIMITED, f"the provider of {self._model.name} asked for a pause", until)

    async def _tell_crowd(self, taken: int) -> None:
        if self._models.paused_until(self._model) is None:
            calls = "1 call of it is" if taken == 1 else f"{taken} calls of it are"
            sentence = f"waits for a place at {self._model.name}: {calls} under way, as many as its provider gets at once"
            await self._books.waits(self._run, Reason.RATE_LIMITED, sentence, None)

    async def _wait_for_room(self) -> None:
        """No call leaves while the disk might not take its outcome. May raise StoppedError."""
        while sentence := self._shortage():
            await self._books.waits(self._run, Reason.DISK_ALMOST_FULL, sentence, None)
            await self._stop.wait_softly(asyncio.sleep(SPACE_LOOK_SECONDS))

    async def _wait_for_model(self) -> bool:
        """Wait until the model can be called, and take its address. False where that takes somebody to act. May raise StoppedError."""
        while (obstacle := self._door.obstacle) is not None:
            if obstacle.gone:
                return False
            await self._books.waits(self._run, Reason.WAITING_FOR_MODEL, obstacle.message, None)
            await self._stop.wait_softly(asyncio.sleep(MODEL_LOOK_SECONDS))
        self._model = self._door.model
        return True

    async def _wait_for_budgets(self, worst: int) -> str | None:
        """Why no budget pays for a call of this worst case, or None when all do. Waits while only other calls under way leave no room.

        What it gives holds until the next await: the caller reserves at once. May raise StoppedError.
        """
        while (refusal := self._books.purse.refusal(worst)) is not None:
            if not refusal.for_now:
                self._books.purse.refused(refusal)
                return refusal.message
            await self._books.waits(self._run, Reason.BUDGET_EXCEEDED, refusal.message, None)
            await self._stop.wait_softly(asyncio.sleep(LOOK_SECONDS))
        return None

    def _opening(self, step: CallModel) -> list[TurnRow]:
        """The turns that the call's reservation commits with it."""
        if step.new_user_text is None or self._opened_turn >= step.turn:
            return []
        now = self._books.clock()
        turns = []
        if step.turn == 1 and self._books.agent.system:
            turns.append(TurnRow(self._run.name, 0, "system", self._books.agent.system, now))
        turns.append(TurnRow(self._run.name, 2 * step.turn - 1, "user", step.new_user_text, now))
        self._opened_turn = step.turn
        return turns

    def _case_key(self, turn: int) -> str:
        run = self._run
        return f"{self._books.group.digest}/{run.task_id}#{run.repetition}.{run.attempt}/{turn}"


def _costs_nothing(reply: ModelReply) -> bool:
    """Whether a report cannot be true: a call always sends a prompt, and words come out of tokens."""
    return reply.usage.input_tokens == 0 or (reply.usage.output_tokens == 0 and bool(reply.text or reply.tool_calls))


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _not_run(call: ToolCall, *, lasted: float | None) -> dict[str, JsonValue]:
    """The result of a call that a stop came before; `lasted` is for how many seconds it ran, None where it had not begun."""
    said = "not run: the run was stopped from outside" if lasted is None else "stopped from outside while it ran; it may have run in part"
    return {"callId": call.id, "name": call.name, "text": said, "isError": True, "exitCode": None, "seconds": lasted or 0}


async def _enter(slot: ProviderPlace) -> None:
    await slot.__aenter__()
