"""AgentRun: one conversation of one agent; made by a group, or on its own."""

from typing import Literal

from pydantic import Field

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.money import USD, PositiveUSD
from nodus_tui.contract.phases import Reason, RunActivity, RunPhase, UntilKind, Verdict
from nodus_tui.contract.resources.meta import Name, Resource

MAX_COUNT = 2_147_483_647
"""The largest revision, place, repetition or attempt."""


class AgentRunSpec(ContractModel):
    """What the run is to do. The cap is copied when the run is created: extending it makes a successor."""

    agent: Name
    agent_revision: int | None = Field(default=None, ge=1, le=MAX_COUNT)
    """The pinned revision; absent in a spec file means the newest."""
    prompt: str = ""
    """For a run on its own."""
    max_cost_usd: PositiveUSD | None = None
    """The run's cap; absent in a spec file means the agent's `perRunMaxCostUSD`."""
    group: Name | None = None
    task_id: str = ""
    case: int = Field(default=0, ge=0, le=MAX_COUNT)
    """The case's place in its group, from 1, tasks in order and each task's repetitions together; 0 for a run on its own."""
    repetition: int = Field(default=1, ge=1, le=MAX_COUNT)
    """From 1."""
    attempt: int = Field(default=1, ge=1, le=MAX_COUNT)
    """From 1; a successor or a retry is the next attempt at the same case."""
    predecessor: Name | None = None
    """The run whose place it took."""


class RunSandbox(ContractModel):
    """The sandbox of a run: its episode's, and the one that its answer was graded in."""

    engine: str = ""
    isolation: Literal["full", "weaker"] = "full"
    """How far the engine kept the agent in; `doctor` says what was weaker."""
    image: str = ""
    """With its digest."""
    grader_image: str = ""
    """What its answer was graded in, with its digest."""
    hardware: str = "CPU"
    devices: tuple[str, ...] = ()
    """The devices that the one that runs, or ran last, was given, by uuid."""
    device_names: tuple[str, ...] = ()
    """The same for people, in that order: the driver's number and name as they were then, such as `0 NVIDIA L4`."""
    rate_usd: USD
    """An hour; where devices cost their electricity, at their power limit: no less than what is booked."""
    running: bool = False
    seconds: float = 0
    """From started to stopped, over all its sandboxes, grading included; up to now while one runs."""
    cost_usd: USD
    """The same at the rate. Apart from model spend, and under no cap of the run's."""
    started_at: UTCTime | None = None
    """Of the one that runs, or ran last."""
    files_kept: bool = False
    """Whether the agent's files were kept and can be copied out."""


class RunStretch(ContractModel):
    """What a run did from a moment on, up to the beginning of the next stretch."""

    activity: RunActivity
    reason: Reason | None = None
    """What it waited for, where it waited."""
    since: UTCTime


class AgentRunStatus(ContractModel):
    """What the backend knows of a run."""

    phase: RunPhase
    reason: Reason | None = None
    message: str = ""
    """For people: what it waits for and until when, or how it ended."""
    until: UTCTime | None = None
    """When a wait ends: a rate limit, a retry, somebody else's use of a device; null when only an action or another run ends it."""
    until_kind: UntilKind = "Exact"
    """How sure that moment is."""
    current: bool = True
    """False once another attempt took its case over."""
    verdict: Verdict | None = None
    reward: float | None = None
    cost_usd: USD
    """Model spend that counts against the cap, the predecessor's included where the run goes on from it."""
    carried_usd: USD
    """The part of it that the predecessor paid."""
    in_flight_usd: USD
    """The worst case of the call under way."""
    unconfirmed_usd: USD
    needed_cap_usd: USD | None = None
    """While it waits at its own cap: the least cap under which its next call would fit."""
    input_tokens: int = 0
    """Cached ones included."""
    output_tokens: int = 0
    """Reasoning ones included."""
    calls: int = 0
    """Model calls that were sent, tries included."""
    turns: int = 0
    """Replies in the transcript."""
    max_turns: int = 0
    created_at: UTCTime
    started_at: UTCTime | None = None
    ended_at: UTCTime | None = None
    rested_at: UTCTime | None = None
    """Since when it has not gone on, once it had started: it waits again, is interrupted, or waits at its cap; null while it goes on."""
    queued_seconds: float = 0
    """From creation to start, or to now or the end where it never started."""
    duration_seconds: float | None = None
    """From start to end; null until then."""
    stretches: tuple[RunStretch, ...] = ()
    """What it did when, oldest first; the last one goes on until `endedAt`, or now. Empty for a run of an earlier version."""
    simulated: bool = False
    sandbox: RunSandbox | None = None
    """Null for a run without tools, and until its sandbox was asked for."""


class AgentRun(Resource):
    """One conversation."""

    api_version: Literal["nodus.dev/v1"] = "nodus.dev/v1"
    kind: Literal["AgentRun"] = "AgentRun"
    spec: AgentRunSpec
    status: AgentRunStatus | None = None


class ToolCallRecord(ContractModel):
    """A tool call that a model asked for. All of it came from the model: data, for safe_text only."""

    id: str
    name: str
    arguments: str
    """JSON as the model wrote it."""


class ToolResultRecord(ContractModel):
    """What a tool gave back to the model: data, for safe_text only."""

    call_id: str
    name: str
    text: str
    """As the model was given it, cut to the tool's output limit."""
    is_error: bool = False
    exit_code: int | None = None
    """Of a command; null where it was killed for its time, and for other tools."""
    seconds: float = 0


class TranscriptTurn(ContractModel):
    """One message. Its text came from a task, a model or a sandbox: it is data, and goes to a screen through safe_text only."""

    index: int
    role: Literal["system", "user", "assistant", "tool"]
    text: str
    """Empty for role tool, whose words stand in its results."""
    at: UTCTime
    call: int | None = None
    """The number of the call that made it, for a reply."""
    tool_calls: tuple[ToolCallRecord, ...] = ()
    """For a reply that asks for tools."""
    tool_results: tuple[ToolResultRecord, ...] = ()
    """For role tool."""


class CallRecord(ContractModel):
    """One model call: what was reserved, what it cost, what was reported."""

    number: int
    """From 1 within the run."""
    state: str
    """A CallState."""
    attempt: int
    """Tries at the same turn count from 1."""
    turn: int
    reserved_usd: USD
    cost_usd: USD
    input_bound: int
    """Upper bound of the input tokens, made before the call."""
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    over_bound: bool = False
    """The reported usage was above the bound: an alarm, for it must never be."""
    started_at: UTCTime
    ended_at: UTCTime | None = None
    stop_reason: str = ""
    error: str = ""


class Transcript(ContractModel):
    """A run's conversation and its calls."""

    run: str
    turns: tuple[TranscriptTurn, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    simulated: bool = False
    price_source: str = ""
    grader_message: str = Field(default="")
    """What the grader says of the answer, without the expected one."""

    def from_turn(self, index: int) -> "Transcript":
        """The same without the turns before this index."""
        return self.model_copy(update={"turns": tuple(turn for turn in self.turns if turn.index >= index)})

    def continuing(self, before: "Transcript") -> "Transcript":
        """This one, which may begin late, with the turns that an earlier answer told of before its first."""
        earlier = tuple(turn for turn in before.turns if not self.turns or turn.index < self.turns[0].index)
        return self.model_copy(update={"turns": (*earlier, *self.turns)})
