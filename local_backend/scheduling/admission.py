"""Admission: which waiting runs of a group start now, and what each other one waits for. Pure; the sentences are what people read."""

from collections.abc import Sequence

from msgspec import Struct

from local_backend.scheduling.ledger import Ledger
from nodus_tui.contract.money import display_usd, enough_text, enough_usd, exact_usd, nano_from_usd, usd_from_nano
from nodus_tui.contract.phases import Reason


class Waits(Struct, frozen=True):
    """Why a run does not start."""

    reason: Reason
    message: str
    shortfall: int = 0
    """Nano-dollars that the group's cap lacks; 0 when it waits for a slot."""


class Words(Struct, frozen=True):
    """What the sentences call the things of one level."""

    owner: str
    member: str
    place: str
    limit: str


RUNS = Words("group", "run", "slot", "maxActive")
CELLS = Words("sweep", "cell", "place", "maxParallel")


def money(nano: int) -> str:
    """Nano-dollars as people read them."""
    return display_usd(usd_from_nano(nano))


def admit(
    waiting: Sequence[str], ledger: Ledger, *, going: int, max_active: int, words: Words = RUNS
) -> tuple[list[str], dict[str, Waits]]:
    """Start what fits, in order, booking each start in the ledger.

    Returns the runs that start, and for each other one why it waits. A run whose cap does not fit does not hold up a smaller one
    behind it.
    """
    started: list[str] = []
    waits: dict[str, Waits] = {}
    for_slot = Waits(Reason.WAITING_FOR_SLOT, f"waits for one of {_count(max_active, words.place)} ({words.limit})")
    for run in waiting:
        shortfall = ledger.shortfall_to_start(run)
        if shortfall > 0:
            waits[run] = _waits_for_money(run, ledger, shortfall, going, words)
        elif going >= max_active:
            waits[run] = for_slot
        else:
            ledger.start(run)
            started.append(run)
            going += 1
    return started, waits


def _waits_for_money(run: str, ledger: Ledger, shortfall: int, going: int, words: Words) -> Waits:
    account = ledger.account(run)
    return Waits(
        Reason.MAX_COST_REACHED,
        f"waits for {display_ceiling(shortfall)} of the {words.owner}'s cap: "
        f"it needs {display_ceiling(account.own_cap - account.committed)}, "
        f"{what_is_left(ledger, going, words)}",
        shortfall,
    )


def what_is_left(ledger: Ledger, going: int, words: Words) -> str:
    """`$0.40 of $2.00 is left ($1.00 reserved by 1 run, $0.60 spent)`."""
    held = f"{money(ledger.reserved)} reserved by {_count(going, words.member)}, " if going else ""
    return f"{money(max(0, ledger.left))} of {money(ledger.cap)} is left ({held}{money(ledger.settled)} spent)"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def call_does_not_fit(ledger: Ledger, run: str, worst: int) -> str | None:
    """The sentence for a run whose next call might not fit its cap; None when it fits."""
    if ledger.shortfall_to_call(run, worst) <= 0:
        return None
    account = ledger.account(run)
    needed = account.carried + account.committed + worst
    cap = exact_usd(usd_from_nano(account.cap))
    return (
        f"its next call may cost up to {display_ceiling(worst)}, and {money(max(0, account.room))} of its cap of {cap} is left: "
        f"extend its cap to at least {display_ceiling(needed)}"
    )


def display_ceiling(nano: int) -> str:
    """An amount of at least so many nano-dollars, rounded up to a hundredth of a cent, for a cap that must suffice."""
    return enough_text(usd_from_nano(nano))


def _enough(nano: int) -> int:
    return nano_from_usd(enough_usd(usd_from_nano(nano)))


def stalled_message(*, at_own_cap: Sequence[int], cannot_start: int, shortfall_one: int, shortfall_all: int, cap: int) -> str:
    """What would free a stalled group: which cap, by how much.

    `at_own_cap` holds, for each run that waits at its own cap, the cap that its next call needs; the shortfalls are what the group's
    cap lacks for one and for all of the runs that cannot start. All in nano-dollars.
    """
    parts = []
    if at_own_cap:
        count = len(at_own_cap)
        low, high = display_ceiling(min(at_own_cap)), display_ceiling(max(at_own_cap))
        need = low if low == high else f"{low} for the first, {high} for all"
        who = "1 run waits at its own cap" if count == 1 else f"{count} runs wait at their own caps"
        parts.append(f"{who}: extend to at least {need}")
    if cannot_start:
        to_one, to_all = _enough(cap + shortfall_one), _enough(cap + shortfall_all)
        one = f"raise the group's cap by {display_ceiling(to_one - cap)} to {display_ceiling(to_one)} for the next"
        rest = f", to {display_ceiling(to_all)} for all" if to_all > to_one else ""
        parts.append(f"{cannot_start} case{'s' if cannot_start != 1 else ''} cannot start: {one}{rest}")
    return "; ".join(parts)
