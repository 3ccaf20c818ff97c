"""A model that is none: replies, usage, pauses and failures made from a seed, for demonstrations, tests of caps, and benchmarks.

Everything about a call follows from the behaviour's seed, the call's case key and its conversation, whatever else runs and in whatever
order. Whether the answer is right hangs on the case alone, however many turns lead to it. It knows no answers: its replies hold the marks
of `contract.simulation`, which the grader alone can read.
"""

import asyncio
import json
import re
from hashlib import blake2b

from local_backend.models.providers.simulated_agent import Said, say
from local_backend.models.token_bound import FRAME_TOKENS
from local_backend.models.wire import CallOutcome, ChatMessage, ModelCallError, ModelReply, ModelRequest, Usage
from nodus_tui.contract.configuration import SimulatedBehaviour
from nodus_tui.contract.simulation import REFERENCE_PLACEHOLDER, UNREADABLE_REPLY, WRONG_PLACEHOLDER

_BYTES_PER_TOKEN = 4
_MOST_REFUSALS = 2
"""A call that is rate-limited is refused once or twice before it gets through."""


class _Dice:
    """Numbers from 0 to below 1, one for each question, that depend on the seed, the case key and the question's place alone."""

    def __init__(self, seed: int, case_key: str) -> None:
        digest = blake2b(f"{seed}\0{case_key}".encode("utf-8", "surrogatepass"), digest_size=48).digest()
        self._numbers = [int.from_bytes(digest[start : start + 8]) / 2**64 for start in range(0, 48, 8)]

    def __getitem__(self, question: int) -> float:
        return self._numbers[question]

    @property
    def numbers(self) -> tuple[float, ...]:
        """All of them."""
        return tuple(self._numbers)


_READABLE, _CORRECT, _LATENCY, _LENGTH, _LIMITED, _FAILS = range(6)

_TURN = re.compile(r"/[0-9]+\Z")


class Simulated:
    """A provider that makes its answers up."""

    def __init__(self, behaviour: SimulatedBehaviour) -> None:
        self._behaviour = behaviour
        self._refused: dict[str, int] = {}

    async def complete(self, request: ModelRequest, *, timeout: float) -> ModelReply:
        """What a real provider's would do, after the latency. Raises ModelCallError; `timeout` is in seconds."""
        behaviour = self._behaviour
        dice = _Dice(behaviour.seed, request.case_key)
        if behaviour.rate_limited:
            self._refuse_at_first(request.case_key, dice[_LIMITED])
        latency = _spread(behaviour.latency_seconds, behaviour.latency_spread, dice[_LATENCY])
        if latency:
            await asyncio.sleep(min(latency, timeout))
        if latency > timeout:
            raise ModelCallError(f"the simulated model gave no complete answer within {timeout:g} s", CallOutcome.UNKNOWN)
        if dice[_FAILS] < behaviour.failures:
            raise ModelCallError("the connection to the simulated model broke before a complete answer came", CallOutcome.UNKNOWN)
        # The fate of a case is that of its first turn's key, on every turn.
        fate = _Dice(behaviour.seed, _TURN.sub("/1", request.case_key))
        said = say(behaviour, request, _mark(behaviour, fate), fate.numbers)
        wanted = round(_spread(behaviour.output_tokens, behaviour.output_spread, dice[_LENGTH]))
        if not said.is_mark:
            wanted = max(wanted, 1, _size_of(said) // _BYTES_PER_TOKEN)
        return ModelReply(
            text=said.text,
            usage=Usage(input_tokens=_input_tokens(request), output_tokens=min(wanted, request.max_tokens)),
            stop_reason="tool_calls" if said.calls else "length" if wanted > request.max_tokens else "stop",
            reported_model="simulated",
            tool_calls=said.calls,
        )

    async def aclose(self) -> None:
        """Nothing to close."""

    def _refuse_at_first(self, case_key: str, number: float) -> None:
        share = self._behaviour.rate_limited
        if number >= share:
            return
        refusals = 1 + int(number / share * _MOST_REFUSALS)
        so_far = self._refused.get(case_key, 0)
        if so_far < refusals:
            self._refused[case_key] = so_far + 1
            raise ModelCallError(
                "the simulated model answered 429 Too Many Requests",
                CallOutcome.FREE,
                retryable=True,
                retry_after=self._behaviour.retry_after_seconds,
                rate_limited=True,
                status=429,
            )
        del self._refused[case_key]


def _mark(behaviour: SimulatedBehaviour, dice: _Dice) -> str:
    if dice[_READABLE] < behaviour.invalid:
        return UNREADABLE_REPLY
    return REFERENCE_PLACEHOLDER if dice[_CORRECT] < behaviour.accuracy else WRONG_PLACEHOLDER


def _spread(middle: float, share: float, number: float) -> float:
    """A value within `share` of the middle, either way."""
    return middle * (1 + share * (2 * number - 1))


def _input_tokens(request: ModelRequest) -> int:
    """About what a real tokenizer gives, and never more than the bound made before the call."""
    definitions = "".join(f"{tool.name}{tool.description}{json.dumps(dict(tool.parameters))}" for tool in request.tools)
    size = _bytes(request.system, definitions) + sum(map(_message_size, request.messages))
    return FRAME_TOKENS // 8 + size // _BYTES_PER_TOKEN


def _message_size(message: ChatMessage) -> int:
    called = [text for call in message.tool_calls for text in (call.name, call.arguments)]
    return _bytes(message.text, *called, *(result.text for result in message.tool_results))


def _size_of(said: Said) -> int:
    return _message_size(ChatMessage("assistant", said.text, tool_calls=said.calls))


def _bytes(*texts: str) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
