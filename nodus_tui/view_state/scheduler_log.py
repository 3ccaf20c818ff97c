"""The scheduler as its view shows it: facts from one look after another, and its log by lines, levels, words. Foreign text throughout."""

import re
from datetime import datetime

from msgspec import Struct

from nodus_tui.contract.scheduler_view import LoopLag, SchedulerFacts, SchedulerView
from nodus_tui.text import safe_text
from nodus_tui.view_state.cells import Line, Span, Tone, cut_line, joined, line, muted, strong
from nodus_tui.view_state.figures import span_text
from nodus_tui.view_state.wrapping import wrapped

TAIL_BYTES = 262_144
"""How much of the end of the log is read when its view opens."""
MOST_LINES = 4000
LONGEST_LINE = 2000
_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.]\d+) (DEBUG|INFO|WARNING|ERROR|CRITICAL) ([^:]{1,200}): ")
_RANK = {"DEBUG": 0, "INFO": 1, "WARNING": 2, "ERROR": 3, "CRITICAL": 3}
_TONES = {2: Tone.WARN, 3: Tone.BAD}
LEVELS = ((0, "everything"), (2, "warnings and errors"), (3, "errors only"))
"""What is shown, by the least rank."""
_DATE_FROM = 110
"""Cells from which on a line has room for its date beside its time."""
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Milliseconds: a lag is told as the next of these, so that it changes where it means something."""


class LogLine(Struct, frozen=True):
    """One line. What follows a record without a head of its own, such as a traceback, has its level."""

    text: str
    rank: int


class SchedulerLogState:
    """What is known of the scheduler, and which lines of its log a person wants to see."""

    def __init__(self) -> None:
        self.place = -TAIL_BYTES
        """From where on to ask for more; a negative one counts from the end."""
        self.facts: SchedulerFacts | None = None
        self.at: datetime | None = None
        self.problem = ""
        """Why the last look gave nothing; empty where it gave something."""
        self.log_problem = ""
        self.path = ""
        self.rate: float | None = None
        """Events a second between the last two looks."""
        self.level = 0
        """Which of LEVELS."""
        self.words = ""
        self.only = False
        """Whether only lines with the words are shown."""
        self.wrap = True
        self.hits: list[int] = []
        """Lines on the screen that hold the words."""
        self._lines: list[LogLine] = []
        self._made: list[Line] = []
        self._made_hits: list[int] = []
        self._made_of = 0
        """How many of the lines are made."""
        self._made_for: tuple[object, ...] = ()

    def take(self, view: SchedulerView) -> None:
        """A look arrived."""
        if self.facts is not None and self.at is not None and view.at > self.at and view.facts.last_event >= self.facts.last_event:
            self.rate = (view.facts.last_event - self.facts.last_event) / (view.at - self.at).total_seconds()
        first = self.place < 0
        self.facts, self.at, self.problem = view.facts, view.at, ""
        self.log_problem, self.path = view.log.problem, view.log.path
        if view.log.problem:
            return
        if not first and view.log.offset != self.place:
            self._lines.append(LogLine("… the log began anew", 3 if self.level == len(LEVELS) - 1 else 2))
        elif first and view.log.offset > 0:
            self._lines.append(LogLine("… earlier lines stand in the file", 3))
        self.place = view.log.next_offset
        for text in view.log.text.split("\n")[:-1] if view.log.text.endswith("\n") else view.log.text.split("\n") if view.log.text else []:
            self._add(text)
        if len(self._lines) > 2 * MOST_LINES:
            del self._lines[:-MOST_LINES]
            self._made_for = ()

    def fail(self, problem: str) -> None:
        """A look gave nothing: what is known stays."""
        self.problem = problem

    def _add(self, text: str) -> None:
        head = _LINE.match(text)
        rank = _RANK[head[2]] if head else self._lines[-1].rank if self._lines else 1
        self._lines.append(LogLine(text[:LONGEST_LINE] + ("…" if len(text) > LONGEST_LINE else ""), rank))

    @property
    def total(self) -> int:
        """How many lines are known."""
        return len(self._lines)

    def lines(self, width: int) -> tuple[Line, ...]:
        """The lines that are wanted, at most `width` cells wide; only what is new is made."""
        wanted = (width, self.level, self.words, self.only, self.wrap)
        if wanted != self._made_for:
            self._made, self._made_hits, self._made_of, self._made_for = [], [], 0, wanted
        for each in self._lines[self._made_of :]:
            hit = bool(self.words) and self.words.casefold() in each.text.casefold()
            if each.rank < LEVELS[self.level][0] or (self.only and self.words and not hit):
                continue
            if hit:
                self._made_hits.append(len(self._made))
            shown = self._line(each, width)
            self._made += wrapped((shown,), width, hang=4) if self.wrap else (cut_line(shown, width),)
        self._made_of = len(self._lines)
        self.hits = self._made_hits
        return tuple(self._made)

    def _line(self, each: LogLine, width: int) -> Line:
        tone = _TONES.get(each.rank, Tone.PLAIN)
        head = _LINE.match(each.text)
        if head is None:
            return self._marked(each.text, tone)
        time, level, logger = head.groups()
        when = time[:19] if width >= _DATE_FROM else time[11:19]
        said = self._marked(each.text[head.end() :], tone)
        return (muted(f"{when} "), Span(level, tone), muted(f" {safe_text(logger.rpartition('.')[2])} "), *said)

    def _marked(self, text: str, tone: Tone) -> Line:
        """A text with the words that were looked for told from the rest."""
        shown = safe_text(text, limit=LONGEST_LINE + 1)
        at = shown.casefold().find(self.words.casefold()) if self.words else -1
        if at < 0:
            return line(Span(shown, tone))
        end = at + len(self.words)
        return line(Span(shown[:at], tone), Span(shown[at:end], Tone.KEY), Span(shown[end:], tone))

    def words_line(self) -> Line:
        """What is shown, for the status line."""
        what = [LEVELS[self.level][1]] if self.level else []
        what += [f"only lines with “{safe_text(self.words)}”"] if self.only and self.words else []
        what += [] if self.wrap else ["long lines cut"]
        return line(muted(", ".join(what)))


def lag_text(milliseconds: float) -> str:
    """`≤ 2 ms`: the next of a few steps."""
    step = next((step for step in _STEPS if milliseconds <= step), None)
    return f"≤ {step} ms" if step is not None else f"{milliseconds / 1000:.0f} s"


_MIB, _GIB = 1 << 20, 1 << 30


def bytes_text(count: int | None) -> str:
    """`12 MiB`, in steps that do not flicker."""
    if count is None:
        return "?"
    if count < 10 * _MIB:
        return f"{count / _MIB:.1f} MiB"
    return f"{round(count / _MIB):,} MiB" if count < 10 * _GIB else f"{count / _GIB:,.0f} GiB"


def scheduler_lines(state: SchedulerLogState, now: datetime) -> tuple[Line, ...]:
    """The facts in lines; before the first look none."""
    facts = state.facts
    if facts is None:
        return ()
    if facts.pid is None:
        who = line(Span("! nobody does the work", Tone.WARN), muted(": nodus-tui scheduler start"))
    else:
        up = span_text((now - facts.started_at).total_seconds()) if facts.started_at is not None else "?"
        where = f"answers on {facts.socket}" if facts.socket else "works in the process of a command, without a socket"
        who = joined((line("process ", strong(str(facts.pid))), line(f"up {up}"), line(f"version {facts.version}"), line(muted(where))))
    clients = f"{facts.clients} event stream{'' if facts.clients == 1 else 's'} open" if facts.clients is not None else ""
    rate = f"{state.rate:.0f} events/s" if state.rate is not None and (state.rate >= 1 or not state.rate) else "under 1 event/s"
    busy = joined((lag_line(facts.loop_lag), line(clients), line(rate if state.rate is not None else "")))
    stored = joined(
        (
            line(f"store {bytes_text(facts.store_bytes)}"),
            line(f"memory {bytes_text(facts.memory_bytes)}" if facts.memory_bytes is not None else ""),
            line(f"{bytes_text(facts.free_disk_bytes)} of disk free"),
            line(muted(f"in {facts.home}")),
        )
    )
    return (who, *((busy,) if busy else ()), stored)


def lag_line(lag: LoopLag | None) -> Line:
    """How late its loop is: a loop that is late by seconds is too busy, and everything here is too."""
    if lag is None:
        return ()
    tone = Tone.BAD if lag.p99_ms > 1000 else Tone.WARN if lag.p99_ms > 100 else Tone.PLAIN
    mark = "! " if tone is not Tone.PLAIN else ""
    return line(
        Span(f"{mark}loop lag {lag_text(lag.median_ms)}, p99 {lag_text(lag.p99_ms)}, most {lag_text(lag.most_ms)}", tone),
        muted(f" of the last {span_text(round(lag.seconds / 10) * 10)}" if lag.seconds >= 5 else ""),
    )
