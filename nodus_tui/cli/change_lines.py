"""What the event stream tells, as lines for people: what became of each thing, and no figure that merely counts on."""

from collections.abc import Iterator
from decimal import Decimal

from pydantic import JsonValue

from nodus_tui.contract.events import Event
from nodus_tui.contract.money import display_usd
from nodus_tui.statistics.format import told_rate_text

_TOLD = ("phase", "reason", "verdict", "blocking", "message")
"""Fields of a status whose change is worth a line."""
_RATED = ("coverage", "passRate", "standardError", "ci95")
"""Fields that a pass rate is told by: an event has those alone that changed."""
_STEPS = 10
"""A group's scored cases are told so often at most from the first to the last."""


class ChangeLines:
    """The lines of one stream. They quote foreign text, which is for safe_text only."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, str], dict[str, JsonValue]] = {}
        self._rates: dict[tuple[str, str], dict[str, JsonValue]] = {}
        self._steps: dict[tuple[str, str], int] = {}

    def known(self, kind: str, name: str, status: dict[str, JsonValue]) -> None:
        """That is how a thing stands already: only what becomes otherwise is told."""
        self._before[kind, name] = {field: status[field] for field in _TOLD if field in status}
        self._rates[kind, name] = {field: status[field] for field in _RATED if field in status}
        self._steps[kind, name] = _step(status.get("coverage"))

    def of(self, event: Event) -> Iterator[str]:
        """What one event tells: a line, or none."""
        key = (event.kind, event.name)
        if event.change == "Deleted":
            self._before.pop(key, None)
            self._rates.pop(key, None)
            yield f"{event.kind} {event.name}: deleted"
            return
        before = self._before.setdefault(key, {})
        changed = {name: event.status[name] for name in _TOLD if name in event.status and event.status[name] != before.get(name)}
        before.update(changed)
        words = [_word(name, value) for name, value in changed.items() if name != "message" and value not in (None, False, "")]
        message = before.get("message")
        if words and isinstance(message, str) and message:
            words.append(message)
        words += self._progress(key, event.status)
        if words:
            yield f"{event.kind} {event.name}: {', '.join(words)}"
        elif event.change == "Created":
            yield f"{event.kind} {event.name}: created"

    def _progress(self, key: tuple[str, str], status: dict[str, JsonValue]) -> list[str]:
        rates = self._rates.setdefault(key, {})
        rates.update({field: status[field] for field in _RATED if field in status})
        step = _step(rates.get("coverage"))
        if step <= self._steps.get(key, 0):
            return []
        self._steps[key] = step
        return [told_rate_text(rates)]


def standing(kind: str, name: str, status: dict[str, JsonValue]) -> str:
    """How a thing stands, in the words of its changes."""
    words = [_word(field, status[field]) for field in _TOLD if status.get(field) not in (None, False, "")]
    if rated := told_rate_text(status):
        words.append(rated)
    if kind == "Budget" and "spentUSD" in status:
        words.append(f"{_usd(status['spentUSD'])} spent, {_usd(status['leftUSD'])} left")
    money = status.get("money")
    if isinstance(money, dict) and "modelUSD" in money:
        words.append(f"{_usd(money['modelUSD'])} spent")
    return f"{kind} {name}: {', '.join(words) or 'there'}"


def _usd(amount: JsonValue) -> str:
    return display_usd(Decimal(str(amount)))


def _step(coverage: JsonValue) -> int:
    if not isinstance(coverage, dict):
        return 0
    scored, total = coverage.get("scored"), coverage.get("total")
    return scored * _STEPS // total if isinstance(scored, int) and isinstance(total, int) and total else 0


def _word(name: str, value: JsonValue) -> str:
    return "blocks new work" if name == "blocking" else str(value)
