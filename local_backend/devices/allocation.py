"""Who is given which devices, and what each other one waits for. Pure; the sentences are what people read.

Whoever asks first is served first, as far as the same devices are meant: while somebody waits for an H100, nobody who came later is given
one. Who waits for what only people outside could give back holds up nobody.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct, field

from local_backend.devices.inventory import GIB, Device
from nodus_tui.contract.phases import UntilKind
from nodus_tui.values import replace

_MOST_NAMES = 3
"""Of holders in one sentence."""

_State = Literal["free", "busy", "full", "strangers", "elsewhere", "silent"]
_SAID: dict[_State, str] = {
    "free": "{count} free",
    "busy": "{count} busy with {names}",
    "full": "all {places} places of {count} taken{by}",
    "strangers": "{count} in use by others: {names}",
    "elsewhere": "{count} in use by another workspace{of}",
    "silent": "{count} {does} not answer",
}


class Request(Struct, frozen=True):
    """What somebody asks for."""

    key: str
    """Who, for programs."""
    who: str
    """The same for people: `job train`, `run hello-c003`."""
    names: tuple[str, ...]
    """Hardware of which any will do, the earlier the better; all devices are of the same."""
    count: int = 1
    memory_bytes: int = 0
    """What each must have at least."""
    shared: bool = False

    @property
    def words(self) -> str:
        """`2 × H100 or A100-80G with 60 GiB each`."""
        what = f"{self.count} × {' or '.join(self.names)}"
        memory = f" with {self.memory_bytes / GIB:g} GiB{' each' if self.count > 1 else ''}" if self.memory_bytes else ""
        return f"{what}{memory}"


class Claim(Struct, frozen=True):
    """What somebody holds."""

    key: str
    who: str
    hardware: str
    """The name that it was given under."""
    uuids: tuple[str, ...]
    shared: bool
    since: datetime
    until: datetime | None = None
    """When it is given back, as far as that is known."""
    until_kind: UntilKind = "AtLatest"


class Elsewhere(Struct, frozen=True):
    """What other workspaces and users of this machine hold of a device, through this program."""

    alone: str = ""
    """Who has it to himself; empty where nobody does."""
    shares: int = 0


class Seen(Struct, frozen=True):
    """A device as it is now, to be given or not."""

    device: Device
    strangers: tuple[str, ...] = ()
    """Who uses it that nobody gave it to."""
    elsewhere: Elsewhere = Elsewhere()


class Offer(Struct, frozen=True):
    """What can be taken now."""

    hardware: str
    uuids: tuple[str, ...]


class Waits(Struct, frozen=True):
    """Why nothing can be taken now."""

    message: str
    until: datetime | None = None
    until_kind: UntilKind = "Exact"


class Allocator(Struct):
    """All devices, who holds them, and who waits in which order. `means` says whether a name means a device."""

    means: Callable[[str, Device], bool]
    most_sharers: int = 4
    claims: dict[str, Claim] = field(default_factory=dict)
    _seen: dict[str, Seen] = field(default_factory=dict)
    _queue: dict[str, Request] = field(default_factory=dict)
    _fitting: dict[tuple[str, int], tuple[Seen, ...]] = field(default_factory=dict)
    """What fits which name and memory, of what was seen last."""
    _reach: dict[Request, frozenset[str]] = field(default_factory=dict)
    """What is kept for whom, likewise."""

    # What is known.

    def see(self, seen: Iterable[Seen]) -> None:
        """This is all there is now."""
        self._seen = {each.device.uuid: each for each in seen}
        self._fitting.clear()
        self._reach.clear()

    def devices(self) -> tuple[Device, ...]:
        """Everything that was seen last."""
        return tuple(each.device for each in self._seen.values())

    def holders(self, uuid: str) -> list[Claim]:
        """Who holds a device."""
        return [each for each in self.claims.values() if uuid in each.uuids]

    def sharers(self, uuid: str) -> int:
        """How many use a device, those elsewhere included."""
        seen = self._seen.get(uuid)
        return len(self.holders(uuid)) + (seen.elsewhere.shares if seen is not None else 0)

    @property
    def waiting(self) -> tuple[Request, ...]:
        """Who waits, the first one first."""
        return tuple(self._queue.values())

    # What is done.

    def ask(self, request: Request) -> Offer | Waits:
        """What may be taken now; whoever may not take anything has a place in the queue from the first time on."""
        self._queue[request.key] = request
        withheld = set[str]().union(*(self._within_reach(earlier) for earlier in self._before(request.key)))
        for name in request.names:
            free = [each for each in self._fit(request, name) if self._is_free(each, request) and each.device.uuid not in withheld]
            if len(free) >= request.count:
                chosen = sorted(free, key=lambda each: self._rank(each, request))[: request.count]
                in_order = sorted((each.device for each in chosen), key=lambda device: device.order)
                return Offer(name, tuple(device.uuid for device in in_order))
        return self._waits(request, withheld)

    def take(self, request: Request, offer: Offer, since: datetime) -> Claim:
        """Take what was offered in this same step; the place in the queue is given up."""
        claim = Claim(request.key, request.who, offer.hardware, offer.uuids, request.shared, since)
        for uuid in offer.uuids:
            if not self._is_free(self._seen[uuid], request):
                raise ValueError(f"{uuid} is not free for {request.key}")
        self._queue.pop(request.key, None)
        self.claims[request.key] = claim
        return claim

    def adopt(self, claim: Claim) -> None:
        """What was taken before this process began to look after it."""
        self.claims[claim.key] = claim

    def expect(self, key: str, until: datetime | None, kind: UntilKind) -> None:
        """When a holder gives back what it has, as far as that is known now."""
        if key in self.claims:
            self.claims[key] = replace(self.claims[key], until=until, until_kind=kind)

    def withdraw(self, key: str) -> bool:
        """Somebody waits no more; whether it did."""
        return self._queue.pop(key, None) is not None

    def release(self, key: str) -> None:
        """Somebody gives back what it has."""
        self.claims.pop(key, None)

    # Deciding.

    def _before(self, key: str) -> Iterator[Request]:
        for other, request in self._queue.items():
            if other == key:
                return
            yield request

    def _fit(self, request: Request, name: str) -> tuple[Seen, ...]:
        """The devices that a name means and that are large enough, free or not."""
        least = request.memory_bytes
        found = self._fitting.get((name, least))
        if found is None:
            large = (each for each in self._seen.values() if not least or (each.device.memory_bytes or 0) >= least)
            found = self._fitting[name, least] = tuple(each for each in large if self.means(name, each.device))
        return found

    def _is_ours_to_give(self, each: Seen, request: Request) -> bool:
        """Whether nobody but holders of ours stands in the way."""
        if not each.device.responding or each.strangers or each.elsewhere.alone:
            return False
        return each.elsewhere.shares < self.most_sharers if request.shared else not each.elsewhere.shares

    def _is_free(self, each: Seen, request: Request) -> bool:
        if not self._is_ours_to_give(each, request):
            return False
        holders = self.holders(each.device.uuid)
        if not request.shared:
            return not holders
        return all(holder.shared for holder in holders) and len(holders) + each.elsewhere.shares < self.most_sharers

    def _within_reach(self, request: Request) -> frozenset[str]:
        """What is kept for somebody who waits: the devices with which it would have enough once the holders of ours give them back."""
        found = self._reach.get(request)
        if found is None:
            kinds = [
                [each.device.uuid for each in self._fit(request, name) if self._is_ours_to_give(each, request)] for name in request.names
            ]
            found = self._reach[request] = frozenset(uuid for reach in kinds if len(reach) >= request.count for uuid in reach)
        return found

    def _rank(self, each: Seen, request: Request) -> tuple[int, int, tuple[int, int]]:
        """The best first: what is shared already, so that others stay whole; then the smallest that is large enough."""
        return (-self.sharers(each.device.uuid) if request.shared else 0, each.device.memory_bytes or 0, each.device.order)

    # Telling.

    def _waits(self, request: Request, withheld: set[str]) -> Waits:
        fit = {each.device.uuid: each for name in request.names for each in self._fit(request, name)}
        words = ("waits for a place on " if request.shared else "waits for ") + request.words
        if not fit:
            return Waits(f"{words}; none is here any more")
        rivals = [each.who for each in self._before(request.key) if not self._within_reach(each).isdisjoint(fit)]
        parts = self._told(request, fit, withheld)
        if rivals:
            # When those before it are done with what they wait for is not known.
            return Waits(f"{words}; {'; '.join([*parts, f'behind {_listed(rivals)}'])}")
        until, kind = self._until(request)
        return Waits(f"{words}; {'; '.join(parts)}", until, kind)

    def _told(self, request: Request, fit: Mapping[str, Seen], withheld: set[str]) -> list[str]:
        found: dict[_State, list[Sequence[str]]] = {}
        for each in fit.values():
            state, names = self._state(each, request)
            if state != "free" or each.device.uuid not in withheld:
                found.setdefault(state, []).append(names)
        return [self._said(state, found[state]) for state in _SAID if state in found]

    def _said(self, state: _State, names: Sequence[Sequence[str]]) -> str:
        who = _listed(dict.fromkeys(name for some in names for name in some))
        by, of = (f" by {who}", f" of {who}") if who else ("", "")
        does = "does" if len(names) == 1 else "do"
        return _SAID[state].format(count=len(names), places=self.most_sharers, names=who, by=by, of=of, does=does)

    def _state(self, each: Seen, request: Request) -> tuple[_State, Sequence[str]]:
        """How a device stands to somebody who wants it, and because of whom."""
        holders = self.holders(each.device.uuid)
        if not each.device.responding:
            return "silent", ()
        if holders and not (request.shared and all(holder.shared for holder in holders)):
            return "busy", [holder.who for holder in holders]
        if each.strangers:
            return "strangers", each.strangers
        if each.elsewhere.alone:
            return "elsewhere", [each.elsewhere.alone]
        if each.elsewhere.shares and not request.shared:
            return "elsewhere", ()
        return ("free", ()) if self._is_free(each, request) else ("full", [holder.who for holder in holders])

    def _until(self, request: Request) -> tuple[datetime | None, UntilKind]:
        """When enough of one kind is free, if all goes as the holders are expected to go; the earliest of the kinds."""
        ends = [end for name in request.names if (end := self._end_of_wait(request, name)) is not None]
        return min(ends, key=lambda each: each[0]) if ends else (None, "Exact")

    def _end_of_wait(self, request: Request, name: str) -> tuple[datetime, UntilKind] | None:
        reach = [each for each in self._fit(request, name) if self._is_ours_to_give(each, request)]
        free = sum(self._is_free(each, request) for each in reach)
        ends = [end for each in reach if not self._is_free(each, request) and (end := self._end(each, request)) is not None]
        missing = request.count - free
        return sorted(ends, key=lambda each: each[0])[missing - 1] if 0 < missing <= len(ends) else None

    def _end(self, each: Seen, request: Request) -> tuple[datetime, UntilKind] | None:
        """When a device that is not free will be."""
        holders = self.holders(each.device.uuid)
        known = [(holder.until, holder.until_kind) for holder in holders if holder.until is not None]
        if request.shared and all(holder.shared for holder in holders):
            # One place is enough.
            return min(known, key=lambda end: end[0]) if known else None
        return max(known, key=lambda end: end[0]) if len(known) == len(holders) else None


def refusal(request: Request, devices: Sequence[Device], means: Callable[[str, Device], bool], notes: Sequence[str] = ()) -> str:
    """Why this machine can never give what is asked for, as a sentence without its subject; empty where it can."""
    found = [[each for each in devices if means(name, each)] for name in request.names]
    if any(len([each for each in some if (each.memory_bytes or 0) >= request.memory_bytes]) >= request.count for some in found):
        return ""
    asks = f"it asks for {request.words}"
    if not any(found):
        if not devices:
            return f"{asks}, and this machine has no devices to give" + (f" ({'; '.join(notes)})" if notes else "")
        return f"{asks}, and this machine has {kinds_of(devices)}"
    most = max(found, key=len)
    if len(most) < request.count:
        return f"{asks}, and this machine has {kinds_of(most)}"
    largest = max((each.memory_bytes or 0 for each in most), default=0)
    return f"{asks}, and the largest of this machine's has {largest / GIB:.1f} GiB"


def kinds_of(devices: Iterable[Device]) -> str:
    """`2 × NVIDIA L4 and 1 × NVIDIA H100 PCIe`."""
    counts: dict[str, int] = {}
    for each in devices:
        counts[each.name or "a device without a name"] = counts.get(each.name or "a device without a name", 0) + 1
    kinds = [f"{count} × {name}" for name, count in counts.items()]
    return " and ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    if len(found) > _MOST_NAMES:
        found = [*found[:_MOST_NAMES], f"{len(found) - _MOST_NAMES} more"]
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)
