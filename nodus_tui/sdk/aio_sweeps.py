"""The handle of a sweep, to be awaited on any event loop: the same calls as the synchronous one, on the same backend."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

from nodus_tui.contract.actions import Kill, PauseSweep, ResumeSweep, RetryCells
from nodus_tui.contract.outcomes import ActionOutcome
from nodus_tui.contract.resources.sweep import SweepStatus
from nodus_tui.contract.results import PairedDifference
from nodus_tui.contract.sweep_results import SweepResults
from nodus_tui.sdk import operations, sweep_operations
from nodus_tui.sdk.bridge import BRIDGE
from nodus_tui.sdk.documents import Money, checked_money, checked_timeout


class Sweep:
    """One template over a matrix under one cap, by name. Made by `create` or `get`. Its cells are groups and jobs of their own names."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Sweep({self.name!r})"

    @classmethod
    async def create(
        cls,
        name: str,
        *,
        template: Mapping[str, object],
        matrix: Mapping[str, object],
        max_cost: Money,
        max_parallel: int = 1,
        repetitions: int = 1,
        project: str | None = None,
        labels: Mapping[str, str] | None = None,
        exist_ok: bool = False,
    ) -> "Sweep":
        """Create a sweep and have its cells run.

        `template` has the kind and the spec of one cell, `matrix` the axes, both under the names of the spec; `max_cost` is what all cells
        together may cost in US dollars, as text or Decimal. Raises NodusError with every fault of the values, or Conflict where a sweep of
        this name exists; with `exist_ok` one that exists with the same spec is given instead. Raises TypeError for a float.
        """
        work = partial(
            sweep_operations.create,
            name=name,
            template=template,
            matrix=matrix,
            max_cost=checked_money(max_cost, "max_cost"),
            max_parallel=max_parallel,
            repetitions=repetitions,
            project=project,
            labels=labels,
            exist_ok=exist_ok,
        )
        await BRIDGE.arun("work", work)
        return cls(name)

    @classmethod
    async def get(cls, name: str) -> "Sweep":
        """The handle of a sweep that exists. Raises NodusError NotFound."""
        await BRIDGE.arun("look", partial(sweep_operations.status, name=name))
        return cls(name)

    @classmethod
    async def list(cls) -> "tuple[Sweep, ...]":
        """All sweeps, in order of creation."""
        return tuple(cls(name) for name in await BRIDGE.arun("look", sweep_operations.names))

    async def status(self) -> SweepStatus:
        """How it stands now."""
        return await BRIDGE.arun("look", partial(sweep_operations.status, name=self.name))

    async def wait(self, timeout: float | timedelta | None = None, *, through_stalls: bool = False) -> SweepStatus:
        """Wait until nothing of it goes on, and give its status.

        That is when every cell has ended, when it is paused or interrupted, or when it stands stalled: nothing can go on under the caps,
        and the status's message says which to raise. `through_stalls` waits on then. Raises TimeoutError after `timeout` seconds.
        """
        work = partial(sweep_operations.wait, name=self.name, timeout=checked_timeout(timeout), through_stalls=through_stalls)
        return await BRIDGE.arun("work", work)

    async def results(self) -> SweepResults:
        """Its cells, and what cells that differ by shard and repetition only come to together."""
        return await BRIDGE.arun("look", partial(sweep_operations.results, name=self.name))

    async def compare(self) -> Sequence[PairedDifference]:
        """Its first variant with each other one, task by task, shards and repetitions taken together."""
        return await BRIDGE.arun("look", partial(sweep_operations.compare, name=self.name))

    async def kill(self) -> ActionOutcome:
        """End every unfinished cell gracefully: calls under way get a few seconds to end, jobs their grace. No other cell starts."""
        return await BRIDGE.arun("act", partial(operations.act, action=Kill(kind="Sweep", name=self.name)))

    async def extend_cap(self, cap: Money) -> ActionOutcome:
        """Raise its cap in place to this many US dollars; cells that waited for it start."""
        amount = operations.amount(cap, "cap")
        return await BRIDGE.arun("act", partial(operations.extend_cap, kind="Sweep", name=self.name, cap=amount))

    async def retry(self, cells: Sequence[str] = ()) -> ActionOutcome:
        """Try its cells again that ended broken, all of them or those named, under its cap and in its places. A verdict stands."""
        return await BRIDGE.arun("act", partial(operations.act, action=RetryCells(name=self.name, cells=tuple(cells))))

    async def pause(self) -> ActionOutcome:
        """Let no further cell start; those that are going go on to their ends."""
        return await BRIDGE.arun("act", partial(operations.act, action=PauseSweep(name=self.name)))

    async def resume(self) -> ActionOutcome:
        """Let it start cells again, and its interrupted cells go on."""
        return await BRIDGE.arun("act", partial(operations.act, action=ResumeSweep(name=self.name)))

    async def delete(self) -> None:
        """Remove it with its groups and jobs and all their records; what of it is unfinished is killed first."""
        await BRIDGE.arun("act", partial(sweep_operations.delete, name=self.name))
