"""Which sandbox or job a process is in: by the names of its control groups, its mark, or its ancestors. Pure."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from local_backend.hardware.readings import Whereabouts


class Place(Struct, frozen=True):
    """A sandbox of ours on this machine, or a job of this workspace."""

    id: str
    """Its name at the engine, which stands in its control groups' names; a job's is `job-` and its launch's token."""
    run: str | None
    """The run of this workspace that it is for."""
    job: str | None = None
    """The job of this workspace that it is."""
    init: tuple[int, str] | None = None
    """Its first process and that one's start time, where the engine knows it."""


class Attribution:
    """The sandboxes that are known, and the processes that are known to be in none."""

    def __init__(self) -> None:
        self._by_id: dict[str, Place] = {}
        self._by_init: dict[tuple[int, str], Place] = {}
        self._foreign: dict[tuple[int, str], float] = {}

    def take(self, places: Iterable[Place], processes: Mapping[int, Whereabouts], now: float) -> None:
        """Every sandbox there is now. Processes that are in none of them are asked about again after a while only."""
        found = tuple(places)
        self._by_id = {place.id: place for place in found}
        self._by_init = {place.init: place for place in found if place.init is not None}
        self._foreign = {each.ancestors[0]: now for each in processes.values() if each.ancestors and self.place_of(each) is None}

    def place_of(self, process: Whereabouts) -> Place | None:
        """The sandbox that it is in; None where it is in none that is known."""
        for name in process.places:
            if name in self._by_id:
                return self._by_id[name]
        for ancestor in process.ancestors:
            if ancestor in self._by_init:
                return self._by_init[ancestor]
        return None

    def unknown(self, processes: Mapping[int, Whereabouts], now: float, *, again_seconds: float) -> bool:
        """Whether some process may be in a sandbox that is not known yet."""
        return any(
            each.ancestors and self.place_of(each) is None and now - self._foreign.get(each.ancestors[0], float("-inf")) >= again_seconds
            for each in processes.values()
        )
