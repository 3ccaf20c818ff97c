"""The budgets view: how much of each limit is used, what is in scope, how it stands, and what is told when a threshold is reached."""

import shlex
from datetime import UTC, datetime
from decimal import Decimal

from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.budget import Budget, BudgetStatus
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.columns import Column, Measure
from nodus_tui.view_state.figures import NOTHING, bar, seconds_between, share, short_usd, span_text
from nodus_tui.view_state.filtering import Filter, Searchable
from nodus_tui.view_state.folding import budget_after
from nodus_tui.view_state.money import money_of, shorter_money_of
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.words import BUDGET_SIGNS, Sign


def used_text(budget: Budget) -> str:
    """Percent of the limit that is spent, rounded down: only what is reached reads as reached, and a little reads as more than nothing."""
    spent = _spent(budget)
    percent = int(100 * spent / budget.spec.limit_usd)
    return "<1%" if percent == 0 and spent > 0 else f"{percent}%"


def used_bar(budget: Budget, width: int) -> Line:
    """What is spent of the limit, what is left as the empty part; more than the limit fills it as the limit does."""
    return bar(share(_spent(budget), budget.spec.limit_usd), width, _bar_tone(budget))


def scope_text(budget: Budget) -> str:
    """What counts under it."""
    scope = budget.spec.scope
    labels = scope.selector.match_labels if scope.selector is not None else {}
    parts = [f"project {scope.project}"] if scope.project is not None else []
    parts += [f"{name}={value}" for name, value in labels.items()]
    return ", ".join(parts) or "everything"


def standing_word(status: BudgetStatus) -> str:
    """Whether new work in its scope is refused now."""
    return "blocking" if status.blocking else "open"


def sign_of(budget: Budget) -> Sign:
    """Blocking, over its limit without blocking, or open."""
    if budget.status is not None and budget.status.blocking:
        return BUDGET_SIGNS["blocking"]
    return BUDGET_SIGNS["over" if _spent(budget) >= budget.spec.limit_usd else "open"]


def _spent(budget: Budget) -> Decimal:
    return budget.status.spent_usd if budget.status is not None else Decimal(0)


def _bar_tone(budget: Budget) -> Tone:
    """The sign's, and a warning when its last threshold below the limit is told."""
    sign = sign_of(budget)
    if sign is not BUDGET_SIGNS["open"]:
        return sign.tone
    below = [percent for percent in budget.spec.thresholds if percent < 100]
    told = budget.status.thresholds_told if budget.status is not None else ()
    return Tone.WARN if below and below[-1] in told else Tone.INFO


def _ends(budget: Budget, now: datetime) -> Line:
    end = budget.status.period_ends_at if budget.status is not None else None
    return line(NOTHING) if end is None else line(span_text(seconds_between(now, end)))


def _end_order(budget: Budget) -> float | None:
    end = budget.status.period_ends_at if budget.status is not None else None
    return None if end is None else end.timestamp()


_STATE_ORDER = {sign: place for place, sign in enumerate(BUDGET_SIGNS.values())}

BUDGET_COLUMNS: tuple[Column[Budget], ...] = (
    Column(
        "name",
        "NAME",
        11,
        lambda budget, _now: line(strong(budget.name)),
        lambda budget: budget.name,
        grow=20,
        least=6,
        measure=Measure.TEXT,
    ),
    Column("state", "STATE", 10, lambda budget, _now: sign_of(budget).spans(), lambda budget: _STATE_ORDER[sign_of(budget)]),
    Column(
        "bar",
        "SPENT|LEFT",
        10,
        lambda budget, _now: used_bar(budget, 10),
        lambda budget: _spent(budget) / budget.spec.limit_usd,
        measure=Measure.SHARE,
    ),
    Column(
        "used",
        "USED",
        5,
        lambda budget, _now: line(Span(used_text(budget), _bar_tone(budget) if sign_of(budget).word != "Open" else Tone.PLAIN)),
        lambda budget: _spent(budget) / budget.spec.limit_usd,
        right=True,
        measure=Measure.SHARE,
    ),
    Column(
        "spent",
        "SPENT/LIMIT",
        15,
        lambda budget, _now: money_of(_spent(budget), budget.spec.limit_usd),
        _spent,
        prefer=17,
        grow=6,
        right=True,
        shorter=lambda budget, _now: shorter_money_of(_spent(budget), budget.spec.limit_usd),
        least=9,
        measure=Measure.MONEY,
    ),
    Column("ends", "ENDS IN", 7, _ends, _end_order, priority=2, right=True),
    Column(
        "action",
        "ACTION",
        6,
        lambda budget, _now: line(budget.spec.action),
        lambda budget: budget.spec.action,
        priority=3,
        measure=Measure.TEXT,
    ),
    Column(
        "scope", "SCOPE", 10, lambda budget, _now: line(muted(scope_text(budget))), scope_text, priority=1, grow=120, measure=Measure.TEXT
    ),
)


def searchable_budget(budget: Budget) -> Searchable:
    """What the filter looks at."""
    states = (sign_of(budget).word, budget.spec.action, budget.spec.period)
    return Searchable(texts=(budget.name, scope_text(budget)), states=states, cost=_spent(budget))


class BudgetsState:
    """All budgets, and the cursor up to which they are true."""

    def __init__(self) -> None:
        self.rows: Rows[Budget] = Rows(BUDGET_COLUMNS, sort="used", descending=True, searchable=searchable_budget, asks=("state", "cost"))
        self.cursor = -1
        self.loaded = False

    def load(self, snapshot: Snapshot) -> None:
        """Take the budgets of a snapshot instead of what was known."""
        self.rows.clear()
        for budget in snapshot.budgets:
            self.rows.put(budget.name, budget)
        self.cursor = snapshot.cursor
        self.loaded = True

    def fold(self, event: Event) -> bool:
        """Take one event; says whether anything here changed."""
        if event.kind != "Budget" or event.cursor <= self.cursor:
            return False
        known = self.rows.find(event.name)
        budget = budget_after(known, event)
        if budget is None:
            self.rows.remove(event.name)
            return known is not None
        self.rows.put(event.name, budget)
        return True

    def filter(self, chosen: Filter | None) -> None:
        """Show the budgets that a filter keeps, or all."""
        self.rows.filter(chosen)

    def moving(self) -> bool:
        """Whether the end of some period comes nearer."""
        return any(budget.status is not None and budget.status.period_ends_at is not None for budget in self.rows.items())

    def summary(self) -> Line:
        """How many budgets stand how."""
        counts: dict[Sign, int] = {}
        for budget in self.rows.items():
            counts[sign_of(budget)] = counts.get(sign_of(budget), 0) + 1
        return joined([line(Span(f"{counts[sign]} {sign.word.lower()}", sign.tone)) for sign in BUDGET_SIGNS.values() if sign in counts])

    def words(self, key: str = "B") -> Line:
        """For other views: how many block, and the key that shows them; nothing where none does."""
        count = sum(budget.status is not None and budget.status.blocking for budget in self.rows.items())
        if not count:
            return ()
        words = f"{count} budgets block" if count > 1 else "1 budget blocks"
        return (Span(key, Tone.KEY, "do('budgets')"), Span(f" {BUDGET_SIGNS['blocking'].glyph} {words}", Tone.BAD, "do('budgets')"))


def budget_facts(budget: Budget, width: int) -> tuple[Line, ...]:
    """One budget in lines: how it stands, its money, its period, what it does at its limit, who is told."""
    spec, status, sign = budget.spec, budget.status, sign_of(budget)
    if status is None:
        return (line(muted("the backend has not told of it yet")),)
    does = "refuses new work and stops running work at its limit" if spec.action == "Block" else "stops nothing"
    why = line(Span(f"{sign.glyph} {status.message or sign.word}", sign.tone))
    money = line(
        *used_bar(budget, min(30, width // 4)),
        f" {used_text(budget)}, {short_usd(status.spent_usd)} of {display_usd(spec.limit_usd)}, ",
        strong(f"{short_usd(status.left_usd)} left"),
    )
    told = ", ".join(f"{percent}%" for percent in status.thresholds_told)
    thresholds = ", ".join(f"{percent}%" for percent in spec.thresholds)
    period = joined(
        [
            line(f"{spec.period} since {_utc_text(status.period_started_at)}"),
            line(f"until {_utc_text(status.period_ends_at)}") if status.period_ends_at is not None else (),
            line(muted(f"thresholds {thresholds}" + (f"; told: {told}" if told else ""))) if thresholds else (),
        ]
    )
    whom = [*spec.notify.emails, *([shlex.join(spec.notify.command)] if spec.notify.command else [])]
    tells = line(muted(f"tells {', '.join(whom)}")) if whom else ()
    return (
        why,
        money,
        joined([line(f"{spec.action}: {does}"), line(f"counts {scope_text(budget)}")]),
        period,
        *((tells,) if tells else ()),
    )


def _utc_text(moment: datetime) -> str:
    """A budget's months are those of UTC: shown in another zone they would begin on strange days."""
    return f"{moment.astimezone(UTC):%d %b %Y %H:%M} UTC"
