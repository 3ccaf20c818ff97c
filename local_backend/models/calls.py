"""The door to the models: one try of one call, the gate before it, and what its outcome teaches.

The loop of a conversation uses it like this, so that a reservation is committed before every try that goes out, and settled after it:

    policy = RetryPolicy(model.max_tries, key)
    for attempt in itertools.count(1):
        async with client.slot(model):             # waits for a place, and while the provider asked for a pause
            ...                                    # reserve the worst case and commit it
            try:
                reply = await client.attempt(model, request)
            except ModelCallError as error:
                client.note(model, error)
                ...                                # settle: FREE costs nothing, UNKNOWN the worst case
            else:
                client.note(model, None)
                ...                                # settle by reply.usage
        # after an error, outside the slot: pause = policy.delay(attempt, error); None means policy.gave_up(attempt, error)

A call that is cancelled after it was sent has an unknown outcome: `attempt` lets CancelledError through, and the caller charges the worst
case.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from local_backend.models.catalogue import ModelCatalogue, ResolvedModel
from local_backend.models.providers.simulated import Simulated
from local_backend.models.rate_limits import ConcurrencyGate, Slot
from local_backend.models.wire import ModelCallError, ModelReply, ModelRequest, Provider
from nodus_tui.contract.configuration import SimulatedBehaviour

if TYPE_CHECKING:
    from local_backend.models.providers.opening import RealProviders


def _now() -> datetime:
    return datetime.now(UTC)


class ModelClient:
    """All model calls of one process, over shared connections. Belongs to one event loop."""

    def __init__(self, catalogue: ModelCatalogue, *, clock: Callable[[], datetime] = _now) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._real: RealProviders | None = None
        self._providers: dict[tuple[str, str, str], Provider] = {}
        self._gates: dict[tuple[str, str, str], ConcurrencyGate] = {}

    async def attempt(self, model: ResolvedModel, request: ModelRequest) -> ModelReply:
        """One try, sent once. Raises ModelCallError. Call it inside `slot`, after the worst case is reserved."""
        # A family that a job serves may have another address tomorrow.
        key = (model.family, model.name, model.base_url)
        provider = self._providers.get(key)
        if provider is None:
            provider = self._providers[key] = self._open(model)
        return await provider.complete(request, timeout=model.timeout.total_seconds())

    def slot(self, model: ResolvedModel) -> Slot:
        """A place among the calls in flight to this endpoint and model: `async with client.slot(model): …`."""
        return Slot(self.gate(model))

    def paused_until(self, model: ResolvedModel) -> datetime | None:
        """Until when the provider asked for a pause; None when calls may go out."""
        return self.gate(model).paused_until()

    def note(self, model: ResolvedModel, error: ModelCallError | None) -> None:
        """Tell the gate how a try ended (None: well), so that it narrows, pauses or widens. Once for each try."""
        self.gate(model).note(error)

    def gate(self, model: ResolvedModel) -> ConcurrencyGate:
        """The gate of the model's endpoint and name, which families may share."""
        key = (model.provider, model.base_url or model.family, model.name)
        gate = self._gates.get(key)
        if gate is None:
            gate = self._gates[key] = ConcurrencyGate(model.max_concurrency, self._clock)
        return gate

    async def aclose(self) -> None:
        """Close all connections; calls that still wait for a place get a ModelCallError."""
        for gate in self._gates.values():
            gate.close()
        if self._real is not None:
            await self._real.aclose()

    def _open(self, model: ResolvedModel) -> Provider:
        if model.simulated:
            return Simulated(model.behaviour or SimulatedBehaviour())
        if self._real is None:
            from local_backend.models.providers.opening import RealProviders  # noqa: PLC0415 - aiohttp is loaded for real models only

            self._real = RealProviders(self._catalogue, self._clock)
        return self._real.open(model)
