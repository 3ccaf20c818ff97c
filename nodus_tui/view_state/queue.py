"""The queue: everything that waits, across groups, jobs, Sandboxes and sweeps, sorted by who is next.

Rows are made again only for groups of which something was told, and of those only the ones that are shown: runs of one group that wait for
the same are told in one row behind the first few. That row unfolds.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from nodus_tui.contract.events import Event
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.statistics.queueing import forecast
from nodus_tui.values import replace
from nodus_tui.view_state.any_job import AnyJob
from nodus_tui.view_state.budget_holds import frees_at
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.filtering import Filter
from nodus_tui.view_state.folding import run_after
from nodus_tui.view_state.group_load import Order
from nodus_tui.view_state.questions import Questions
from nodus_tui.view_state.queue_columns import QUEUE_COLUMNS, searchable_waiter
from nodus_tui.view_state.queue_runs import GroupRuns
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.run_columns import run_status
from nodus_tui.view_state.waiting import (
    Waiter,
    When,
    bundle_of,
    foreseen,
    waiter_of_box,
    waiter_of_group,
    waiter_of_job,
    waiter_of_run,
    waiter_of_sweep,
)

LOOK_SECONDS = 5.0
"""How often forecasts are made anew, at most: they are told to the minute."""
FOLD_FROM = 6
"""More runs of one group than that which wait for the same are told in one row."""
FOLD_SHOWN = 3
"""The first of them, which are told by themselves all the same."""

_OTHERS = frozenset({"AgentGroup", "Job", "TrainingJob", "Sandbox", "Sweep", "Budget"})


class QueueState:
    """What waits. The rows of other kinds are those of their own views' states."""

    def __init__(
        self, groups: Rows[AgentGroup], jobs: Rows[AnyJob], boxes: Rows[Sandbox], sweeps: Rows[Sweep], budgets: Rows[Budget]
    ) -> None:
        self.rows: Rows[Waiter] = Rows(QUEUE_COLUMNS, sort="until", searchable=searchable_waiter, asks=("state", "cost"))
        self.loaded = False
        self.only_group = ""
        """The group that is shown alone; empty for all."""
        self.unfolded: set[str] = set()
        """Bundles that are told run by run."""
        self.reasons: Counter[str] = Counter()
        """How many wait for what, all that is shown counted."""
        self._groups, self._jobs, self._boxes, self._sweeps, self._budgets = groups, jobs, boxes, sweeps, budgets
        self._runs: dict[str, GroupRuns] = {}
        self._group_of: dict[str, str] = {}
        self._questions = Questions()
        self._early: list[Event] = []
        """What came before the first answer, or while one is on its way."""
        self._waiters: dict[str, list[Waiter]] = {}
        self._stale: set[str] = set()
        """Groups of which something was told since their rows were made."""
        self._stale_others = True
        self._looked_at: datetime | None = None

    # What is known

    def load(self, runs: Iterable[AgentRun], asked: int | None = None) -> None:
        """Take the runs that have not ended instead of those that were known, then the events that came meanwhile; not where those of a
        later question are there already.
        """
        if not self._questions.answered(asked if asked is not None else self._questions.ask()):
            self._let_go_of_early()
            return
        self._runs.clear()
        self._group_of.clear()
        self._waiters.clear()
        for run in runs:
            self._take(run)
        self.loaded, self._stale_others = True, True
        for event in self._early:
            self._fold_run(event)
        self._let_go_of_early()

    def await_runs(self) -> int:
        """They are asked for (again): keep what comes meanwhile. What is known stays true until then; gives the question's number."""
        return self._questions.ask()

    def no_runs(self, asked: int) -> None:
        """They were not given."""
        self._questions.ended(asked)
        self._let_go_of_early()

    def _let_go_of_early(self) -> None:
        if not self._questions.open:
            self._early = []

    def fold(self, event: Event) -> bool:
        """Take one event; says whether anything here may have changed."""
        if event.kind in _OTHERS:
            self._stale_others = True
            if event.kind == "AgentGroup":
                self._stale.add(event.name)
            return self.loaded
        if event.kind != "AgentRun":
            return False
        if not self.loaded or self._questions.open:
            self._early.append(event)
        return self.loaded and self._fold_run(event)

    def _fold_run(self, event: Event) -> bool:
        group = self._group_of.get(event.name)
        if group is None:
            run = run_after(None, event)
            if run is None or run_status(run).phase.ended:
                return False
            self._take(run)
            return True
        self._stale.add(group)
        phase = event.status.get("phase")
        gone = event.change == "Deleted" or event.status.get("current") is False
        if gone or (isinstance(phase, str) and RunPhase(phase).ended):
            self._runs[group].remove(event.name)
            del self._group_of[event.name]
        else:
            self._runs[group].take(event)
        return True

    def _take(self, run: AgentRun) -> None:
        group = run.spec.group or ""
        self._runs.setdefault(group, GroupRuns()).put((run,))
        self._group_of[run.name] = group
        self._stale.add(group)

    # What is chosen

    def filter(self, chosen: Filter | None) -> None:
        """Show the rows that a filter keeps, or all."""
        self.rows.filter(chosen)

    def narrow(self, group: str) -> None:
        """Show one group alone, or all again."""
        self.only_group, self._stale_others = group, True

    def turn(self, bundle: str) -> None:
        """Tell a bundle run by run, or in one row again."""
        self.unfolded ^= {bundle}
        self._stale.update(group for group in self._runs if bundle.startswith(f"{group}/"))

    def turn_all(self) -> None:
        """Unfold every bundle, or fold all that are unfolded."""
        if self.unfolded:
            self.unfolded.clear()
        else:
            self.unfolded = {each.bundle for waiters in self._waiters.values() for each in waiters if each.is_bundle}
        self._stale.update(self._runs)

    # The rows

    def moving(self) -> bool:
        """Nothing in the rows changes with each second: moments are told by the clock, forecasts when they are due."""
        return False

    def due(self, now: datetime) -> bool:
        """Whether forecasts are to be looked at again, for what was expected may not have come."""
        if self._looked_at is None or now - self._looked_at < timedelta(seconds=LOOK_SECONDS):
            return False
        return any(each.end.kind == "Forecast" for waiters in self._waiters.values() for each in waiters)

    def refresh(self, now: datetime) -> None:
        """Make the rows of what changed, and of forecasts that are old."""
        if not self.loaded:
            return
        if self.due(now):
            self._stale.update(self._waiters)
            self._looked_at = now
        self._looked_at = self._looked_at or now
        if not self._stale and not self._stale_others:
            return
        for group in self._stale:
            self._waiters[group] = self._waiters_of(group, now)
        self._stale.clear()
        self._stale_others = False
        self._put(self._wanted())

    def _waiters_of(self, name: str, now: datetime) -> list[Waiter]:
        group, runs = self._groups.find(name), self._runs.get(name)
        if group is None or runs is None or status_of(group).phase is GroupPhase.INTERRUPTED:
            return []  # An interrupted group has a row of its own.
        starts = forecast(runs.load(group, now)).starts if runs.line else ()
        stalled = status_of(group).phase is GroupPhase.STALLED

        def waiter(order: Order, bundle: str) -> Waiter:
            ahead = runs.place_in_line(order)
            when = foreseen(now, starts[ahead] if ahead is not None else None)
            return waiter_of_run(runs.run(order[2]), stalled=stalled, start=when, ahead=ahead, bundle=bundle)

        made: list[Waiter] = []
        for wanted, orders in runs.waiting.items():
            bundle = f"{name}/{wanted}"
            whole = len(orders) <= FOLD_FROM or bundle in self.unfolded
            shown = [waiter(order, bundle) for order in (orders if whole else orders[:FOLD_SHOWN])]
            made += shown
            if not whole:
                first, last = waiter(orders[FOLD_SHOWN], bundle), waiter(orders[-1], bundle)
                made.append(bundle_of(shown, first, last, len(orders) - FOLD_SHOWN))
        return made

    def _wanted(self) -> Iterable[Waiter]:
        for group in self._groups.items():
            if self.only_group in ("", group.name):
                row = waiter_of_group(group)
                yield from (row,) if row is not None else self._waiters.get(group.name, ())
        if not self.only_group:
            rows = (
                *map(waiter_of_job, self._jobs.items()),
                *map(waiter_of_box, self._boxes.items()),
                *map(waiter_of_sweep, self._sweeps.items()),
            )
            yield from (row for row in rows if row is not None)

    def _with_month(self, waiter: Waiter) -> Waiter:
        """The row with the end of the month that lets it go on by itself, where budgets hold it that begin anew then."""
        if waiter.reason != Reason.BUDGET_EXCEEDED or waiter.end.at is not None:
            return waiter
        places: dict[str, Rows[Any]] = {"AgentRun": self._groups, "AgentGroup": self._groups, "Sandbox": self._boxes, "Sweep": self._sweeps}
        held: Resource | None = places.get(waiter.kind, self._jobs).find(waiter.group or waiter.name)
        at = frees_at(held.metadata, self._budgets.items()) if held is not None else None
        return waiter if at is None else replace(waiter, end=When("AtLatest", at), last=None)

    def _put(self, wanted: Iterable[Waiter]) -> None:
        self.reasons.clear()
        here = set()
        for waiter in map(self._with_month, wanted):
            here.add(waiter.key)
            self.reasons[waiter.wants] += waiter.count
            if self.rows.find(waiter.key) != waiter:
                self.rows.put(waiter.key, waiter)
        for key in [key for key in self.rows.keys() if key not in here]:  # noqa: SIM118 - Rows is no dict
            self.rows.remove(key)
