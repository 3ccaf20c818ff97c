"""The part of time that a timeline shows: where it begins, how much a cell is, whether it goes along with the present; and its axis. Pure.

The window moves in jumps, not with each second: what stands on the screen stays where it is until there is no room at its right.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import ceil, floor
from typing import Literal

from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.figures import seconds_between
from nodus_tui.view_state.run_story import STORY_SIGNS, Part
from nodus_tui.view_state.words import Sign

STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400, 604800)
"""Seconds that a cell may be."""
_TICKS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000)
"""Seconds that may lie between two times of the axis."""
_TICK_CELLS = 11
"""Cells that a time of the axis needs at least."""
_DAY = 86_400
_CHUNKS = 8
"""The window jumps on by such a part of its width."""


class TimeWindow:
    """The window of one timeline. `settle` says what it shows; keys change what it is to show."""

    def __init__(self) -> None:
        self.mode: Literal["all", "follow", "free"] = "all"
        """Everything, the newest part, or where a person went."""
        self.step = STEPS[0]
        """Seconds of a cell."""
        self.begin: datetime | None = None
        self._width = 1

    def settle(self, first: datetime, last: datetime, width: int, *, going: bool) -> None:
        """Show what is to be shown of the time from `first` to `last`, which is now while something is `going`, in so many cells."""
        self._width = max(1, width)
        if self.mode == "all":
            self._settle_all(first, last, going=going)
        elif self.mode == "follow":
            self._settle_following(first, last)
        elif self.begin is None:
            self.begin = first

    def _settle_all(self, first: datetime, last: datetime, *, going: bool) -> None:
        # Room at the right, so that what goes on grows into it and the step stays for a while.
        room = self._width - 1 - (self._width // _CHUNKS if going else 0)
        begin = first
        for step in STEPS:
            begin = _floored(first, step)
            if seconds_between(begin, last) <= step * max(1, room) or step == STEPS[-1]:
                fits = step
                break
        same = self.begin == _floored(first, self.step) and seconds_between(self.begin, last) < self.step * (self._width - 1)
        if same and going and self.step in (fits, _next(fits, -1)):
            return
        self.step, self.begin = fits, begin

    def _settle_following(self, first: datetime, last: datetime) -> None:
        whole = timedelta(seconds=self.step * self._width)
        jump = timedelta(seconds=self.step * max(1, self._width // _CHUNKS))
        inside = self.begin is not None and self.begin <= last < self.begin + whole
        if not inside or self.begin is None or last >= self.begin + whole - timedelta(seconds=self.step):
            self.begin = _floored(max(_floored(first, self.step), last - whole + 2 * jump), self.step)

    # What keys change

    def pan(self, chunks: int) -> None:
        """Go to an earlier or a later time, by parts of the width."""
        if self.begin is not None:
            self.mode = "free"
            self.begin += timedelta(seconds=self.step * chunks * max(1, self._width // _CHUNKS))

    def zoom(self, by: int, around: datetime | None = None) -> None:
        """More or less of time in a cell; the moment `around` keeps its place. What follows the present goes on with it."""
        step = _next(self.step, -by)
        if self.begin is None or step == self.step:
            return
        if self.mode == "follow":
            self.step, self.begin = step, None
            return
        middle = around
        if middle is None or not 0 <= self.cell_of(middle) < self._width:
            middle = self.begin + timedelta(seconds=self.step * self._width / 2)
        left = timedelta(seconds=seconds_between(self.begin, middle) / self.step * step)
        self.mode, self.step, self.begin = "free", step, _floored(middle - left, step)

    def show_all(self) -> None:
        """Everything, from the first run on."""
        self.mode = "all"

    def follow(self) -> None:
        """Go along with the present, or stay where it is."""
        self.mode, self.begin = ("free", self.begin) if self.mode == "follow" else ("follow", None)

    # What it shows

    @property
    def key(self) -> tuple[datetime | None, float, int]:
        """What everything that is painted depends on: another one, another picture."""
        return (self.begin, self.step, self._width)

    def cell_of(self, moment: datetime) -> int:
        """The cell in which a moment lies; one outside of the window where it does not lie in it."""
        if self.begin is None:
            return -1
        return floor((moment - self.begin).total_seconds() / self.step)

    def cells(self, parts: Sequence[Part], width: int, end: Sign | None) -> Line:
        """A run's story in so many cells: each shows what took most of its time, and the one behind the last how it ended."""
        if self.begin is None or not parts or width <= 0:
            return ()
        signs: list[Sign | None] = [None] * width
        most = [0.0] * width
        last = 0
        for part in parts:
            begins, ends = ((moment - self.begin).total_seconds() / self.step for moment in (part.begin, part.end))
            for cell in range(max(0, floor(begins)), min(width, floor(ends) + 1)):
                share = min(ends, cell + 1) - max(begins, cell)
                # What took no time at all still has its cell; what ended with a cell has nothing in the next.
                if share > most[cell] or (signs[cell] is None and cell == floor(begins)):
                    most[cell], signs[cell] = share, STORY_SIGNS[part.activity]
            last = max(ceil(ends), floor(begins) + 1)
        if end is not None and 0 <= last < width:
            signs[last] = end
        return _merged(signs)

    def axis(self, width: int, now: datetime) -> Line:
        """Times of the wall clock of `now`'s zone below which their cells lie, and a mark for the present."""
        if self.begin is None:
            return ()
        tick = next((each for each in _TICKS if each >= self.step * _TICK_CELLS), _TICKS[-1])
        text = [" "] * width
        local = self.begin.astimezone(now.tzinfo)
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
        place = -(-(local - midnight).total_seconds() // tick)
        moment = midnight + timedelta(seconds=tick * place)
        here = self.cell_of(now)
        while (cell := self.cell_of(moment)) < width:
            label = f"╵{_clock(moment, tick)}"
            end = cell + len(label)
            if cell >= 0 and end <= width and not cell <= here < end:
                text[cell:end] = label
            moment += timedelta(seconds=tick)
        if not 0 <= here < width:
            return line(muted("".join(text)))
        return line(muted("".join(text[:here])), Span("▼", Tone.KEY), muted("".join(text[here + 1 :])))

    def words(self) -> str:
        """How much a cell is, and what the window does."""
        mode = {"all": "all of it", "follow": "follows now", "free": "stays here"}[self.mode]
        return f"{_step_words(self.step)} a cell, {mode}"


def _clock(moment: datetime, tick: float) -> str:
    if tick >= _DAY:
        return f"{moment:%d %b}"
    return f"{moment:%H:%M:%S}" if tick < 60 else f"{moment:%d %b}" if (moment.hour, moment.minute) == (0, 0) else f"{moment:%H:%M}"


def _step_words(step: float) -> str:
    if step < 60:
        return f"{step:g}s"
    if step < 3600:
        return f"{step / 60:g}m"
    return f"{step / 3600:g}h" if step < _DAY else f"{step / _DAY:g}d"


def _next(step: float, by: int) -> float:
    return STEPS[max(0, min(len(STEPS) - 1, STEPS.index(step) + by))]


def _floored(moment: datetime, step: float) -> datetime:
    """The last beginning of a cell up to a moment: windows of one step lie on one raster, whenever they were settled."""
    seconds = moment.timestamp()
    return moment - timedelta(seconds=seconds - floor(seconds / step) * step)


def _merged(signs: Sequence[Sign | None]) -> Line:
    spans: list[Span] = []
    for sign in signs:
        glyph, tone = (sign.glyph, sign.tone) if sign is not None else (" ", Tone.PLAIN)
        if spans and spans[-1].tone is tone:
            spans[-1] = spans[-1].saying(spans[-1].text + glyph)
        else:
            spans.append(Span(glyph, tone))
    return tuple(spans)
