"""The book of all budgets: ceilings over model spend and compute together, across everything in scope. Pure; time is an argument.

Model spend is what calls cost, reserved at its worst before a call leaves. Compute is predictable: rate × time. So the moment at which it
would reach a ceiling is computed ahead, with the time that a graceful stop takes, and nobody has to sample it. All amounts are whole
nano-dollars, rates nano-dollars an hour, and a piece of compute is rounded up when it is booked.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from msgspec import Struct, field

from nodus_tui.contract.money import display_usd, usd_from_nano

STOP_SECONDS = 60.0
"""What a graceful stop of running compute takes at most: its files kept, its processes ended, its engine asked twice."""

_HOUR = timedelta(hours=1)
_MICROSECOND = timedelta(microseconds=1)


class Work(Struct, frozen=True):
    """What budgets see of a piece of work: where it belongs."""

    project: str | None = None
    labels: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, metadata: Mapping[str, object]) -> "Work":
        """The work of a resource's metadata."""
        project, labels = metadata.get("project"), metadata.get("labels")
        pairs = sorted((str(name), str(value)) for name, value in labels.items()) if isinstance(labels, Mapping) else []
        return cls(str(project) if project is not None else None, tuple(pairs))


class Ceiling(Struct, frozen=True):
    """One budget, as its spec has it."""

    name: str
    limit: int
    created_at: datetime
    monthly: bool = False
    block: bool = True
    project: str | None = None
    match_labels: tuple[tuple[str, str], ...] = ()
    thresholds: tuple[int, ...] = (50, 80, 100)
    """Percent of the limit, rising."""

    def covers(self, work: Work) -> bool:
        """Whether the work is in its scope."""
        return (self.project is None or self.project == work.project) and set(self.match_labels) <= set(work.labels)

    def period_start(self, now: datetime) -> datetime:
        """When the present period began: the first of the month in UTC, or the budget's creation."""
        if not self.monthly:
            return self.created_at
        now = now.astimezone(UTC)
        return now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)

    def period_end(self, now: datetime) -> datetime | None:
        """When it ends: with the month, or never."""
        if not self.monthly:
            return None
        start = self.period_start(now)
        return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)


class Refusal(Struct, frozen=True):
    """Why something may not begin, or must stop."""

    budget: str
    message: str
    until: datetime | None
    """When the budget's next period begins; None when only a higher limit helps."""
    for_now: bool = False
    """Whether only the worst cases of calls under way stand in its way: it may fit once they have ended."""


class _Compute(Struct):
    work: Work
    rate: int
    since: datetime
    stop_seconds: float


class _State(Struct):
    """One budget in its present period."""

    ceiling: Ceiling
    started_at: datetime
    spent: int = 0
    in_flight: int = 0
    computing: set[str] = field(default_factory=set)
    told: set[int] = field(default_factory=set)
    before: int = 0
    """Of what stands on record since the hour of its creation, so much was spent before it was made. With `Total` it is not in `spent`."""
    closed: bool = False
    """It did not pay for something that was asked: nothing more begins until its limit, its scope or its period changes."""
    to_come: Mapping[datetime, int] = field(default_factory=dict)
    """What stands on record in periods to come, by their beginnings: the clock was ahead once."""

    @property
    def counts_from(self) -> datetime:
        """Since when compute counts: spend stands on record by whole hours, so from the beginning of the period's first one."""
        return hour_start(self.started_at)

    def correct_before(self, compute: _Compute, now: datetime, total: int) -> None:
        """Compute has ended at less than its time × its rate: where it ran before the budget was made, less was spent before, too.

        As in the hours on record, its last moments have cost their whole rate.
        """
        made = self.ceiling.created_at
        assumed = charge(compute.rate, max(compute.since, hour_start(made)), made)
        later = charge(compute.rate, max(compute.since, made), now)
        too_much = min(self.before, max(0, assumed - max(0, total - later)))
        self.before -= too_much
        if not self.ceiling.monthly:
            self.spent += too_much


class BudgetBook:
    """All budgets of a workspace, what was spent under each in its period, and what is under way.

    Invariant (tests/scheduling): what is spent under a budget that blocks never passes its limit, as long as each call was asked for with
    `refusal` in the same step as its reservation, costs no more than that, and compute ends within STOP_SECONDS of `deadline`.
    """

    def __init__(self) -> None:
        self._states: dict[str, _State] = {}
        self._calls: dict[str, tuple[Work, int]] = {}
        self._compute: dict[str, _Compute] = {}

    # The budgets.

    def put(
        self,
        ceiling: Ceiling,
        *,
        spent: int,
        now: datetime,
        told: Iterable[int] = (),
        before: int = 0,
        closed: bool = False,
        to_come: Mapping[datetime, int] | None = None,
    ) -> None:
        """Enter a budget, or change one; `spent` is what stands on record for its scope in the period, `told` the thresholds told.

        What was spent in the hour of its creation `before` it is taken off `spent`, which is below zero where compute still runs that did.
        `to_come` is what stands on record in periods to come, by their beginnings.
        """
        state = _State(ceiling, ceiling.period_start(now), spent, told=set(told), before=before, closed=closed and ceiling.block)
        state.to_come = to_come or {}
        state.in_flight = sum(worst for work, worst in self._calls.values() if ceiling.covers(work))
        state.computing = {key for key, each in self._compute.items() if ceiling.covers(each.work)}
        self._states[ceiling.name] = state

    def remove(self, name: str) -> None:
        """Forget a budget."""
        self._states.pop(name, None)

    @property
    def names(self) -> tuple[str, ...]:
        """All budgets."""
        return tuple(self._states)

    def ceiling(self, name: str) -> Ceiling:
        """One of them."""
        return self._states[name].ceiling

    def before(self, name: str) -> int:
        """What was spent before it was made, of what stands on record since the hour of its creation."""
        return self._states[name].before

    def covering(self, work: Work) -> tuple[str, ...]:
        """The budgets in whose scope the work is."""
        return tuple(name for name, state in self._states.items() if state.ceiling.covers(work))

    def roll(self, now: datetime) -> tuple[str, ...]:
        """Begin new periods that are due; the budgets for which one began."""
        begun = []
        for name, state in self._states.items():
            start = state.ceiling.period_start(now)
            if start > state.started_at:
                state.started_at, state.spent, state.told, state.closed = start, state.to_come.get(start, 0), set(), False
                begun.append(name)
        return tuple(begun)

    # What is spent.

    def reserve(self, key: str, work: Work, worst: int) -> None:
        """A call is about to leave; `refusal` was asked in the same step."""
        self._calls[key] = (work, worst)
        for state in self._covering(work):
            state.in_flight += worst

    def book(self, key: str, cost: int) -> None:
        """A call has ended at this cost."""
        work, worst = self._calls.pop(key)
        for state in self._covering(work):
            state.in_flight -= worst
            state.spent += cost

    def add(self, work: Work, cost: int) -> None:
        """Spend that was never under way here: what a crash left, say."""
        for state in self._covering(work):
            state.spent += cost

    def begin(self, key: str, work: Work, rate: int, since: datetime, *, stop_seconds: float = STOP_SECONDS) -> None:
        """Compute starts, or has run since then: a sandbox, a job. `stop_seconds` is what its graceful stop takes at most."""
        self._compute[key] = _Compute(work, rate, since, stop_seconds)
        for state in self._covering(work):
            state.computing.add(key)

    def end(self, key: str, now: datetime, cost: int | None = None) -> list[tuple[datetime, int]]:
        """Compute has stopped and its charge counts from here on: its time × its rate, or `cost` where that is known.

        It is less where a part of the time only was paid, and more where the clock was set back since it started. Gives the hours in which
        it was spent, by their beginnings.
        """
        compute = self._compute.pop(key)
        whole = charge(compute.rate, compute.since, now)
        total = whole if cost is None else cost
        unseen = max(0, total - whole)
        for state in self._covering(compute.work):
            state.computing.discard(key)
            state.spent += unseen + min(total - unseen, charge(compute.rate, max(compute.since, state.counts_from), now))
            if total < whole:
                state.correct_before(compute, now, total)
        return _by_hour(compute, now, total)

    # What is asked.

    def spent(self, name: str, now: datetime) -> int:
        """Booked, and what running compute has cost up to now."""
        state = self._states[name]
        return state.spent + sum(
            charge(each.rate, max(each.since, state.counts_from), now) for each in map(self._compute.__getitem__, state.computing)
        )

    def running(self, ceiling: Ceiling, since: datetime, now: datetime) -> int:
        """What compute in a ceiling's scope that still runs has cost since a moment."""
        return sum(charge(each.rate, max(each.since, since), now) for each in self._compute.values() if ceiling.covers(each.work))

    def committed(self, name: str, now: datetime) -> int:
        """The same with the worst case of every call under way, and with what stopping all compute may yet cost."""
        state = self._states[name]
        return self.spent(name, now) + state.in_flight + self._stopping(state)

    def refusal(self, work: Work, cost: int, now: datetime, *, rate: int = 0, stop_seconds: float = STOP_SECONDS) -> Refusal | None:
        """Why something that costs at most so much, and starts compute at this rate, may not begin; None when it may."""
        wanted = cost + _ceiling_of(rate, stop_seconds)
        for state in self._covering(work):
            above = self.committed(state.ceiling.name, now) + wanted - state.ceiling.limit
            if state.closed or (state.ceiling.block and above > 0):
                return self._refusal(state, now, for_now=not state.closed and above <= state.in_flight)
        return None

    def close(self, name: str) -> None:
        """A budget that blocks did not pay for something: it pays for nothing more until it is changed, or its next period begins.

        Without this, what is smaller would go on beside what was stopped, and what was stopped would be tried again and again.
        """
        state = self._states.get(name)
        if state is not None and state.ceiling.block:
            state.closed = True

    def closed(self, name: str, now: datetime) -> Refusal | None:
        """Why everything in a closed budget's scope stops; None while it is open."""
        state = self._states[name]
        return self._refusal(state, now) if state.closed else None

    def blocking(self, name: str, now: datetime) -> bool:
        """Whether nothing more begins in its scope."""
        state = self._states[name]
        return state.closed or (state.ceiling.block and self.committed(name, now) >= state.ceiling.limit)

    def deadline(self, name: str, now: datetime) -> datetime | None:
        """When the compute in scope must be told to stop; None where it never reaches the ceiling. Past when it must stop at once."""
        state = self._states[name]
        rate = sum(self._compute[key].rate for key in state.computing)
        if not state.ceiling.block or rate == 0:
            return None
        # Each charge is rounded up by itself: of several that share what is left, all but one may take a nano-dollar more than their part.
        left = state.ceiling.limit - self.committed(name, now) - max(0, len(state.computing) - 1)
        return now + timedelta(microseconds=left * 3_600_000_000 // rate)

    def refused_compute(self, name: str, now: datetime) -> Refusal | None:
        """Why the compute of a budget must stop now; None while it may go on."""
        deadline = self.deadline(name, now)
        return self._refusal(self._states[name], now) if deadline is not None and deadline <= now else None

    def crossed(self, now: datetime) -> list[tuple[str, int]]:
        """The thresholds that were reached and not told yet, each once a period; they count as told from here on."""
        found = []
        for name, state in self._states.items():
            spent = self.spent(name, now)
            for percent in state.ceiling.thresholds:
                if percent not in state.told and 100 * spent >= percent * state.ceiling.limit:
                    state.told.add(percent)
                    found.append((name, percent))
        return found

    def told(self, name: str) -> tuple[int, ...]:
        """The thresholds told in the present period."""
        return tuple(sorted(self._states[name].told))

    def started_at(self, name: str) -> datetime:
        """When the present period of a budget began."""
        return self._states[name].started_at

    def _covering(self, work: Work) -> list[_State]:
        return [state for state in self._states.values() if state.ceiling.covers(work)]

    def _stopping(self, state: _State) -> int:
        return sum(_ceiling_of(each.rate, each.stop_seconds) for each in map(self._compute.__getitem__, state.computing))

    def _refusal(self, state: _State, now: datetime, *, for_now: bool = False) -> Refusal:
        ceiling = state.ceiling
        until = ceiling.period_end(now)
        used, limit = _money(self.spent(ceiling.name, now)), _money(ceiling.limit)
        under_way = state.in_flight + self._stopping(state)
        beside = f" and up to {_money(under_way)} is under way" if under_way else ""
        when = f"until the month ends ({until:%Y-%m-%d %H:%M} UTC) or its limit is raised" if until else "until its limit is raised"
        said = f"budget {ceiling.name}: {used} of {limit} is spent{beside}; nothing new starts under it {when}"
        return Refusal(ceiling.name, said, until, for_now)


def reopens(old: Ceiling, new: Ceiling) -> bool:
    """Whether a budget that is closed opens with a change: where more may be spent under it, or something else counts under it."""
    same_scope = (old.project, old.match_labels) == (new.project, new.match_labels)
    return new.limit > old.limit or not same_scope or (old.monthly, old.block) != (new.monthly, new.block)


def charge(rate: int, start: datetime, end: datetime) -> int:
    """Nano-dollars for compute at an hourly rate between two moments, rounded up; nothing for a span that ends before it begins."""
    return -(-rate * max(0, (end - start) // _MICROSECOND) // (_HOUR // _MICROSECOND))


def _by_hour(compute: _Compute, now: datetime, total: int) -> list[tuple[datetime, int]]:
    """A charge by the hours in which it arose; where it is less than time × rate, the last ones have it, as a period's spend has."""
    found: list[tuple[datetime, int]] = []
    hour, placed = hour_start(now), 0
    while placed < total:
        upto = total if hour <= compute.since else min(total, charge(compute.rate, hour, now))
        if upto > placed:
            found.append((hour, upto - placed))
        hour, placed = hour - _HOUR, upto
    return found


def hour_start(moment: datetime) -> datetime:
    """When the hour of a moment began, in UTC."""
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def _ceiling_of(rate: int, seconds: float) -> int:
    return -(-rate * round(seconds * 1_000_000) // 3_600_000_000)


def _money(nano: int) -> str:
    return display_usd(usd_from_nano(nano))
