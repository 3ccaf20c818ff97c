"""The ledger of one group: whole nano-dollars, pure arithmetic, no I/O and no clock. A sweep's is the same one level up, over its cells.

The rules are the documents': no run spends more than its cap, no group more than its own. A run's cap is reserved while it goes; a
run that waits or has ended reserves only what it spent; a going run's own spend lies inside its reservation. All amounts here are
integers of nano-dollars.
"""

from msgspec import Struct

from nodus_tui.values import replace


class RunAccount(Struct, frozen=True):
    """One run's money."""

    cap: int
    carried: int = 0
    """Spent by a predecessor whose conversation this run took over: it counts against this cap, and in the group as the predecessor's."""
    spent: int = 0
    """Booked by this run itself, unconfirmed charges included."""
    in_flight: int = 0
    """The worst case of the call under way."""
    going: bool = False

    @property
    def own_cap(self) -> int:
        """What this run itself may still add to the group's spend, its booked spend included."""
        return self.cap - self.carried

    @property
    def committed(self) -> int:
        """Booked and under way: what this run may have cost already, at worst."""
        return self.spent + self.in_flight

    @property
    def holds(self) -> int:
        """What the group must set aside for it: its cap while it goes, else what it spent."""
        return max(self.own_cap, self.committed) if self.going else self.committed

    @property
    def room(self) -> int:
        """What its next call may cost at most."""
        return self.own_cap - self.committed


class LedgerError(Exception):
    """A booking that the rules do not allow: the caller did not ask first."""


class Ledger:
    """The money of one group and its runs, by run name.

    Invariants, held at every step (tests/scheduling): for each run, committed ≤ own cap; for the group, the sum of all holds ≤ cap.
    They rest on each booking being no more than its reservation; a provider that reports more is booked as it reports and breaks them
    by that excess only, which the caller records and alarms about.
    """

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self._accounts: dict[str, RunAccount] = {}
        self._holds = 0
        self._reserved = 0
        self._committed = 0

    def account(self, run: str) -> RunAccount:
        """The account of a run."""
        return self._accounts[run]

    @property
    def left(self) -> int:
        """The cap, less what ended and waiting runs spent, less the caps of the runs still going."""
        return self.cap - self._holds

    @property
    def reserved(self) -> int:
        """What going runs hold."""
        return self._reserved

    @property
    def settled(self) -> int:
        """What runs that are not going spent."""
        return self._holds - self._reserved

    @property
    def committed(self) -> int:
        """Everything spent or under way at worst: never above the cap."""
        return self._committed

    def open(self, run: str, account: RunAccount) -> None:
        """Enter a run that the ledger does not know."""
        if run in self._accounts:
            raise LedgerError(f"{run} has an account already")
        self._put(run, account)

    def shortfall_to_start(self, run: str) -> int:
        """How much more the group would need for this run to start; 0 or less means that it fits."""
        return self.shortfall_to_hold(run, self._accounts[run].cap)

    def shortfall_to_hold(self, run: str, cap: int) -> int:
        """How much more the group would need for this run to go under that cap; 0 or less means that it fits."""
        account = self._accounts[run]
        return max(cap - account.carried, account.committed) - account.holds - self.left

    def start(self, run: str) -> None:
        """Reserve the run's cap. The caller asked `shortfall_to_start` in the same step."""
        account = self._accounts[run]
        if account.going:
            raise LedgerError(f"{run} is going already")
        if self.shortfall_to_start(run) > 0:
            raise LedgerError(f"the cap of {run} does not fit under what its group has left")
        self._put(run, replace(account, going=True))

    def stop(self, run: str) -> None:
        """Give back what the run reserved and did not spend. No call may be under way."""
        account = self._accounts[run]
        if account.in_flight:
            raise LedgerError(f"{run} has a call under way")
        self._put(run, replace(account, going=False))

    def shortfall_to_call(self, run: str, worst: int) -> int:
        """How much more cap the run would need for a call of this worst case; 0 or less means that it fits."""
        return worst - self._accounts[run].room

    def reserve(self, run: str, worst: int) -> None:
        """Set the worst case of the next call aside, before it leaves."""
        account = self._accounts[run]
        if not account.going:
            raise LedgerError(f"{run} is not going")
        if account.in_flight:
            raise LedgerError(f"{run} has a call under way already")
        if worst < 0 or self.shortfall_to_call(run, worst) > 0:
            raise LedgerError(f"the call might not fit the cap of {run}")
        self._put(run, replace(account, in_flight=worst))

    def book(self, run: str, cost: int) -> None:
        """End the call under way at this cost: 0 when it certainly cost nothing, its worst case when its outcome is unknown."""
        account = self._accounts[run]
        if cost < 0:
            raise LedgerError("a charge cannot be negative")
        self._put(run, replace(account, in_flight=0, spent=account.spent + cost))

    def extend(self, run: str, cap: int) -> None:
        """Give an account a higher cap in place: for one that goes, more is reserved. The caller asked `shortfall_to_hold`."""
        account = self._accounts[run]
        if cap < account.cap:
            raise LedgerError("a cap is extended, never lowered")
        if account.going and self.shortfall_to_hold(run, cap) > 0:
            raise LedgerError(f"the higher cap of {run} does not fit under what its group has left")
        self._put(run, replace(account, cap=cap))

    def correct(self, run: str, *, cap: int | None = None, spent: int | None = None) -> None:
        """Put right what was entered ahead: a higher cap that was reserved and not given, the cost of something that is still going."""
        account = self._accounts[run]
        if spent is not None and spent < account.spent and not account.going:
            raise LedgerError(f"what {run} spent is settled")
        self._put(run, replace(account, cap=account.cap if cap is None else cap, spent=account.spent if spent is None else spent))

    def raise_cap(self, cap: int) -> None:
        """Raise the group's cap in place."""
        if cap < self.cap:
            raise LedgerError("a cap is raised, never lowered")
        self.cap = cap

    def _put(self, run: str, account: RunAccount) -> None:
        old = self._accounts.get(run)
        if old is not None:
            self._holds -= old.holds
            self._committed -= old.committed
            self._reserved -= old.holds if old.going else 0
        self._accounts[run] = account
        self._holds += account.holds
        self._committed += account.committed
        self._reserved += account.holds if account.going else 0
