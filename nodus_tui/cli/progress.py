"""Progress on stderr: a live block on a terminal, a line on change elsewhere, nothing when quiet. It shows; it decides nothing."""

import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from nodus_tui.cli.cell_texts import seconds_text
from nodus_tui.cli.failures import say
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.phases import GroupPhase, Reason
from nodus_tui.contract.resources.agent_group import AgentGroupStatus
from nodus_tui.contract.resources.sweep import SweepStatus
from nodus_tui.statistics.format import rate_text_of
from nodus_tui.text import safe_text

if TYPE_CHECKING:
    from rich.console import Group as Block
    from rich.live import Live

Status = AgentGroupStatus | SweepStatus
Statuses = Mapping[str, Status]
Clock = Callable[[], float]

BAR_CELLS = 40

LINE_SECONDS = 5.0
"""Off a terminal: the shortest time between two lines about one group, first, last and new phases apart."""


class Display(Protocol):
    """Where progress is shown."""

    def hint(self, text: str) -> None:
        """What Ctrl-C does now."""
        ...

    def show(self, statuses: Statuses) -> None:
        """The present state."""
        ...

    def note(self, sentence: str) -> None:
        """One sentence that stays."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


def display_for(*, quiet: bool) -> Display:
    """The display that fits stderr."""
    if quiet:
        return QuietDisplay()
    return LiveDisplay() if sys.stderr.isatty() else LineDisplay(time.monotonic)


def progress_line(name: str, status: Status) -> str:
    """`hello: Running, 34/100 ended, 10 going; 62.0% ± 17.1 (SE 8.7), 31/100 scored; $0.42 of $10.00`; of a sweep without the rate."""
    return "; ".join(part for part in (_standing(name, status), _waits(status), _rate(status), _money(status)) if part)


def _waits(status: Status) -> str:
    return status.message if status.reason is Reason.WAITING_FOR_MODEL else ""


def _ended(status: Status) -> tuple[int, int]:
    """How many cases of a group, or cells of a sweep, have ended, and of how many."""
    if isinstance(status, SweepStatus):
        return status.ended, status.cells
    return status.coverage.total - status.pending, status.coverage.total


def _standing(name: str, status: Status) -> str:
    ended, total = _ended(status)
    cells = " cells" if isinstance(status, SweepStatus) else ""
    going = f", {status.going} going" if status.going else ""
    stalled = f", {status.stalled} stalled" if isinstance(status, SweepStatus) and status.stalled else ""
    return f"{name}: {status.phase.value}, {ended}/{total}{cells} ended{going}{stalled}"


def _rate(status: Status) -> str:
    if isinstance(status, SweepStatus) or not status.coverage.scored:
        return ""
    return rate_text_of(status)


def _money(status: Status) -> str:
    mark = "; simulated" if status.simulated else "; notional price" if status.notional_price else ""
    money = (status.cost_usd, status.cap_usd) if isinstance(status, SweepStatus) else (status.money.model_usd, status.money.cap_usd)
    return f"{display_usd(money[0])} of {display_usd(money[1])}{mark}"


def _bar(status: Status) -> str:
    ended, total = _ended(status)
    done = BAR_CELLS * ended // max(1, total)
    return "━" * done + "╌" * (BAR_CELLS - done)


class QuietDisplay:
    """Notes only: what a person must know to go on is never left out."""

    def hint(self, text: str) -> None:
        """Nothing: there is no place that stays."""

    def show(self, statuses: Statuses) -> None:
        """Nothing."""

    def note(self, sentence: str) -> None:
        """One sentence on stderr."""
        say(sentence)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Nothing is left to tidy."""


class LineDisplay(QuietDisplay):
    """A line on change, at most one every `LINE_SECONDS` for each group; a new phase, or what it begins to wait for, is told at once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told: dict[str, tuple[float, tuple[GroupPhase, str], str]] = {}
        self._due: dict[str, str] = {}

    def show(self, statuses: Statuses) -> None:
        """Print what has changed and is due."""
        now = self._clock()
        for name, status in statuses.items():
            line = progress_line(name, status)
            standing = (status.phase, _waits(status))
            told = self._told.get(name)
            if told is not None and told[2] == line:
                continue
            if told is not None and told[1] == standing and now - told[0] < LINE_SECONDS:
                self._due[name] = line
                continue
            self._due.pop(name, None)
            self._told[name] = (now, standing, line)
            say(line, prefix="")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for line in self._due.values():
            say(line, prefix="")
        self._due.clear()


class LiveDisplay(QuietDisplay):
    """A block that is drawn over itself, four times a second at most."""

    _live: "Live"

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._statuses: Statuses = {}
        self._hint = "Ctrl-C stops gracefully and keeps everything"

    def hint(self, text: str) -> None:
        """What stands under the block."""
        self._hint = text

    def show(self, statuses: Statuses) -> None:
        """Keep it for the next drawing."""
        self._statuses = dict(statuses)

    def note(self, sentence: str) -> None:
        """One sentence above the block."""
        from rich.text import Text  # noqa: PLC0415 - loaded on a terminal only

        self._live.console.print(Text("nodus-tui: " + safe_text(sentence)), soft_wrap=True)

    def _block(self) -> "Block":
        from rich.console import Group as Block  # noqa: PLC0415 - loaded on a terminal only
        from rich.text import Text  # noqa: PLC0415 - loaded on a terminal only

        lines = []
        for name, status in self._statuses.items():
            counts = {} if isinstance(status, SweepStatus) else status.verdicts
            verdicts = "  ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
            parts = [f"{_standing(name, status)}; {_money(status)}", f"{_bar(status)}  {_rate(status)}", verdicts, status.message]
            lines += [Text(safe_text(part), no_wrap=True, overflow="ellipsis") for part in parts if part]
        lines.append(Text(f"{seconds_text(time.monotonic() - self._started)}  {self._hint}", style="dim"))
        return Block(*lines)

    def __enter__(self) -> Self:
        from rich.console import Console  # noqa: PLC0415 - loaded on a terminal only
        from rich.live import Live  # noqa: PLC0415 - loaded on a terminal only

        console = Console(stderr=True, markup=False, highlight=False, emoji=False)
        self._live = Live(get_renderable=self._block, console=console, refresh_per_second=4, transient=True, redirect_stdout=False)
        self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.__exit__(kind, error, trace)
