"""One new cap for many at once: what it would do, in numbers, before a person says yes. Pure."""

from collections.abc import Sequence
from decimal import Decimal

from msgspec import Struct

from nodus_tui.contract.money import cap_text, display_usd, enough_text, enough_usd, exact_usd
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.figures import short_usd
from nodus_tui.view_state.key_actions import KeyNamer, own_key
from nodus_tui.view_state.many import counted
from nodus_tui.view_state.money import money_parts
from nodus_tui.view_state.proposals import TYPE_COUNT_FROM, Question, extension_problem, interrupted_waits, proposed_cap
from nodus_tui.view_state.run_columns import run_status

_SUPERSEDED = "Each run ends as superseded; a new one goes on from its paid conversation with the new cap."


class Capped(Struct, frozen=True):
    """Something whose cap can be raised."""

    name: str
    kind: str
    cap: Decimal
    spent: Decimal
    needed: Decimal | None = None
    """The least cap that lets it go on, where that is known."""
    held: Decimal = Decimal(0)
    """What the cap above it sets aside for it now."""

    def aside(self, cap: Decimal) -> Decimal:
        """What the cap above it must have room for, so that it goes on under such a cap."""
        return max(Decimal(0), cap - self.spent - self.held)


class CapRaise(Struct, frozen=True):
    """One new cap for many."""

    what: str
    """What one of them is called, such as `run`."""
    fit: tuple[Capped, ...]
    """Those whose cap can be raised; at least one."""
    picked: int
    note: str
    """What happens to each."""
    group: AgentGroup | None = None
    """The group whose own cap is above them; None where there is none."""
    key: KeyNamer = own_key

    @property
    def least_cap(self) -> Decimal:
        """The smallest cap among them."""
        return min(each.cap for each in self.fit)

    @property
    def proposal(self) -> Decimal:
        """Twice the largest cap among them, or the largest that one of them needs where that is more."""
        return proposed_cap(max(each.cap for each in self.fit), max(self._needs(), default=None))

    def _needs(self) -> list[Decimal]:
        return [each.needed for each in self.fit if each.needed is not None]

    def below(self, cap: Decimal) -> tuple[Capped, ...]:
        """Those that such a cap raises: the others have it, or more, already."""
        return tuple(each for each in self.fit if each.cap < cap)

    @property
    def _them(self) -> str:
        of = f" of {self.group.name}" if self.group is not None else ""
        return f"{counted(len(self.fit), self.what)}{of}"

    @property
    def title(self) -> str:
        """What is asked for."""
        return f"New cap of {self._them}, in US dollars"

    def lines(self) -> tuple[Line, ...]:
        """How many there are, at which caps, what is spent, what is above them, and who is left out."""
        caps = sorted({each.cap for each in self.fit})
        at = f"a cap of {exact_usd(caps[0])}" if len(caps) == 1 else f"caps of {exact_usd(caps[0])} to {exact_usd(caps[-1])}"
        spent = short_usd(sum((each.spent for each in self.fit), Decimal(0)))
        out = self.picked - len(self.fit)
        together = " together" if len(self.fit) > 1 else ""
        return (
            line(strong(self._them), f" with {at}, {spent} spent{together}."),
            *self._above(),
            line(muted(self.note)),
            *((line(muted(f"{out} of the {self.picked} picked can have no higher cap: ended, or without one.")),) if out else ()),
            *self._interrupted(),
        )

    def _above(self) -> tuple[Line, ...]:
        """What the group's cap leaves, the cap with which all of them go on, and what that takes of it."""
        if self.group is None:
            return ()
        money = status_of(self.group).money
        leaves = line(f"The group's cap of {cap_text(money.cap_usd)} leaves {display_usd(money_parts(money).left)}.")
        needs = self._needs()
        if not needs:
            return (leaves,)
        cap = enough_usd(max(needs))
        of = short_usd(self._aside(self.below(cap), cap))
        return (leaves, line("For all of them to go on: ", strong(f"a cap of {exact_usd(cap)}"), f", and {of} of the group's."))

    def _interrupted(self) -> tuple[Line, ...]:
        if self.group is None or status_of(self.group).phase is not GroupPhase.INTERRUPTED:
            return ()
        return (line(Span(interrupted_waits(self.key), Tone.WARN)),)

    @staticmethod
    def _aside(raised: Sequence[Capped], cap: Decimal) -> Decimal:
        return sum((each.aside(cap) for each in raised), Decimal(0))

    def remark(self, cap: Decimal) -> Line:
        """What a typed cap comes to: how many it raises, how many it does not help, and whether the cap above has room."""
        raised = self.below(cap)
        count = counted(len(raised), self.what)
        short = sum((each.needed or Decimal(0)) > cap for each in raised)
        if self.group is None:
            together = " together" if len(raised) > 1 else ""
            said = [line(f"Raises {count}, by {display_usd(sum((cap - each.cap for each in raised), Decimal(0)))}{together}.")]
        else:
            they = "it sets" if len(raised) == 1 else "all at once they set"
            said = [line(f"Extends {count}; {they} aside {display_usd(self._aside(raised, cap))}.")]
        if short:
            least = enough_text(max(each.needed or Decimal(0) for each in raised))
            who = "It" if len(raised) == 1 else f"{short} of them"
            said.append(line(Span(f"! {who} would wait again: up to {least} is needed.", Tone.WARN)))
        if self.group is not None and self._aside(raised, cap) > (left := money_parts(status_of(self.group).money).left):
            raises = f" ({self.key('extend_group')} raises it)" if self.key("extend_group") else ""
            said.append(line(Span(f"! The group's cap leaves {display_usd(left)}: some wait for it{raises}.", Tone.WARN)))
        return joined(said, " ")

    def question(self, cap: Decimal) -> Question:
        """Asked once more before many are raised."""
        count = len(self.below(cap))
        of = f" of {self.group.name}" if self.group is not None else ""
        lines = (line("Each gets a cap of ", strong(cap_text(cap)), "."), self.remark(cap))
        typed = str(count) if count >= TYPE_COUNT_FROM else ""
        return Question(f"Extend {counted(count, self.what)}{of}?", lines, f"Extend {count}", typed)


def runs_cap(runs: Sequence[AgentRun], group: AgentGroup | None, key: KeyNamer = own_key) -> CapRaise:
    """One new cap for runs of a group; `fit` is empty where none of them can have a higher one."""
    return CapRaise("run", tuple(capped for run in runs if (capped := _capped(run))), len(runs), _SUPERSEDED, group, key)


def _capped(run: AgentRun) -> Capped | None:
    status, cap = run_status(run), run.spec.max_cost_usd
    if cap is None or extension_problem(run):
        return None
    held = max(Decimal(0), cap - status.cost_usd) if status.phase.going else Decimal(0)
    return Capped(run.name, run.kind, cap, status.cost_usd, status.needed_cap_usd, held)
