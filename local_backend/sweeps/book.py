"""The book of one sweep: its cap, its places, and how each cell stands with both. Pure; the ledger is a group's, one level up.

A cell's cap is set aside while it goes. One that stalls at caps, rests or has ended holds what it spent and has no place; to go on it asks
again, and is let on like one that was never launched: when a place is free and its cap fits under what is left.
"""

from enum import StrEnum

from msgspec import Struct

from local_backend.scheduling.admission import CELLS, Waits, admit, display_ceiling, money, what_is_left
from local_backend.scheduling.ledger import Ledger, LedgerError, RunAccount
from nodus_tui.contract.phases import Reason


class CellState(StrEnum):
    """How a cell stands with its sweep."""

    WAITING = "Waiting"
    """Not launched."""
    GOING = "Going"
    """It holds a place and its cap."""
    STALLED = "Stalled"
    """All its unfinished cases wait at caps: only a person lets it go on."""
    RESTING = "Resting"
    """Interrupted: only a person lets it go on."""
    ENDED = "Ended"
    """Only a retry lets it go on."""


class _Entry(Struct):
    state: CellState
    asking: bool
    """It was launched, gave its place back, and is to go on."""


class SweepBook:
    """The cells of one sweep, in the order in which they start, and its money.

    Invariant (tests/sweeps): what is spent, and what going cells may yet spend under their caps, is never above the sweep's cap, as long as
    no cell spends more than its own, and none that is not GOING spends anything.
    """

    def __init__(self, sweep: str, cap: int, max_parallel: int) -> None:
        self.sweep = sweep
        self.max_parallel = max_parallel
        self._ledger = Ledger(cap)
        self._cells: dict[str, _Entry] = {}

    # The cells as they are.

    def open(self, name: str, *, cap: int, spent: int, state: CellState, asking: bool) -> None:
        """Enter a cell."""
        self._ledger.open(name, RunAccount(cap=cap, spent=spent, going=state is CellState.GOING))
        self._cells[name] = _Entry(state, asking)

    def state(self, name: str) -> CellState:
        """How a cell stands."""
        return self._cells[name].state

    def names(self, *states: CellState) -> list[str]:
        """The cells in these states."""
        return [name for name, entry in self._cells.items() if entry.state in states]

    @property
    def waiting(self) -> list[str]:
        """The cells that are to start or to go on, in order."""
        return [name for name, entry in self._cells.items() if entry.state is CellState.WAITING or entry.asking]

    @property
    def going(self) -> int:
        """Places taken."""
        return len(self.names(CellState.GOING))

    def cap_of(self, name: str) -> int:
        """A cell's own cap."""
        return self._ledger.account(name).cap

    def spent_by(self, name: str) -> int:
        """What a cell has spent."""
        return self._ledger.account(name).spent

    # The money.

    @property
    def cap(self) -> int:
        """The sweep's cap."""
        return self._ledger.cap

    @property
    def settled(self) -> int:
        """Spent by cells that are not going."""
        return self._ledger.settled

    @property
    def reserved(self) -> int:
        """Held by those that are."""
        return self._ledger.reserved

    @property
    def left(self) -> int:
        """What nobody holds."""
        return self._ledger.left

    @property
    def spent(self) -> int:
        """Spent by all cells so far."""
        return self._ledger.committed

    @property
    def missing(self) -> int:
        """What the cap lacks for every cell that waits to go at once; 0 where nothing is lacking."""
        accounts = [self._ledger.account(name) for name in self.waiting]
        return max(0, sum(max(0, each.own_cap - each.committed) for each in accounts) - self.left)

    # What happens.

    def admit(self) -> tuple[list[str], dict[str, Waits]]:
        """Let on what fits, in order: the cells that start or go on now, and why each other one that waits does not."""
        started, waits = admit(self.waiting, self._ledger, going=self.going, max_active=self.max_parallel, words=CELLS)
        for name in started:
            self._cells[name] = _Entry(CellState.GOING, asking=False)
        return started, waits

    def refusal(self, name: str, cap: int) -> str:
        """Why a cell may not go, or go on, under that cap, as a sentence; empty where the sweep's money allows it."""
        shortfall = self._ledger.shortfall_to_hold(name, max(cap, self.cap_of(name)))
        if shortfall <= 0:
            return ""
        return (
            f"{name} is a cell of sweep {self.sweep}, and a cap of {money(cap)} for it does not fit under what the sweep has left: "
            f"{what_is_left(self._ledger, self.going, CELLS)}; raise the sweep's cap to at least {display_ceiling(self.cap + shortfall)}"
        )

    def ask(self, name: str, cap: int) -> None:
        """A cell that was launched and holds no place is to go on, under this cap if it is higher than its own."""
        entry = self._cells[name]
        if entry.state in {CellState.GOING, CellState.WAITING}:
            raise LedgerError(f"{name} does not rest")
        self._ledger.extend(name, max(cap, self.cap_of(name)))
        entry.asking = True

    def withdraw(self, name: str) -> None:
        """It is not to go on after all."""
        self._cells[name].asking = False

    def extend(self, name: str, cap: int) -> None:
        """A higher cap for a cell; for one that goes, `refusal` was asked in the same step."""
        self._ledger.extend(name, cap)

    def correct(self, name: str, cap: int) -> None:
        """A higher cap was set aside for a cell and not given to it."""
        self._ledger.correct(name, cap=cap)

    def booked(self, name: str, spent: int) -> None:
        """What a cell has spent so far, in all. While it goes that may be an estimate, which its end puts right."""
        if self.state(name) is CellState.GOING or spent > self.spent_by(name):
            self._ledger.correct(name, spent=spent)

    def stop(self, name: str, state: CellState) -> None:
        """A cell does not go any more: it gives back its place and what it did not spend."""
        self._ledger.stop(name)
        self._cells[name] = _Entry(state, asking=False)

    def rests(self, name: str, state: CellState) -> None:
        """A cell that does not go stands so now: it was killed before its launch, say, or waits again. One that asks goes on asking."""
        entry = self._cells[name]
        if CellState.GOING in {entry.state, state}:
            raise LedgerError(f"{name} goes on")
        entry.state = state
        entry.asking = entry.asking and state is not CellState.WAITING

    def goes(self, name: str) -> None:
        """A cell goes on, whoever let it: its cap is set aside. Raises LedgerError where it does not fit."""
        self._ledger.start(name)
        self._cells[name] = _Entry(CellState.GOING, asking=False)

    def raise_cap(self, cap: int) -> None:
        """A higher cap for the sweep."""
        self._ledger.raise_cap(cap)


def reason_of(waits: Waits) -> str:
    """The reason as a cell tells it."""
    return "WaitingForPlace" if waits.reason is Reason.WAITING_FOR_SLOT else waits.reason.value
