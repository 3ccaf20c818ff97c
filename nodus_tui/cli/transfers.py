"""Progress of copying on stderr: one line that is drawn over itself on a terminal, a line every few seconds elsewhere."""

import sys
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

import click

from nodus_tui.cli.failures import say
from nodus_tui.copying import CopyPlan, PlannedFile
from nodus_tui.text import cut, safe_text

DRAW_SECONDS = 0.1
LINE_SECONDS = 5.0
_CELLS = 79
_ERASE = "\r\x1b[K"


def bytes_text(count: int) -> str:
    """A size for people: `812 B`, `1.4 KiB`, `3.0 MiB`."""
    size, units = float(count), iter(("B", "KiB", "MiB", "GiB", "TiB"))
    unit = next(units)
    while size >= 1024 and (larger := next(units, "")):
        size, unit = size / 1024, larger
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


class TransferDisplay:
    """Shows how far a copy is. Small copies are done before anything is shown."""

    def __init__(self, plan: CopyPlan, *, quiet: bool, clock: Callable[[], float]) -> None:
        self._plan = plan
        self._quiet = quiet
        self._clock = clock
        self._on_screen = sys.stderr.isatty()
        self._told = clock()
        self._before = 0
        self._file: PlannedFile | None = None
        self._files = 0
        self._now = 0
        self._drawn = False

    def progress(self, planned: PlannedFile, size: int) -> None:
        """So many bytes of this file are there."""
        if planned is not self._file:
            self._before += self._now
            self._file, self._files = planned, self._files + 1
        self._now = size
        now = self._clock()
        if self._quiet or now - self._told < (DRAW_SECONDS if self._on_screen else LINE_SECONDS):
            return
        self._told = now
        done = f"{bytes_text(self._before + size)} of {bytes_text(self._plan.size)}"
        text = safe_text(f"file {self._files} of {len(self._plan.files)}, {done}: {planned.entry.path}")
        if self._on_screen:
            self._drawn = True
            with suppress(OSError):
                click.echo(_ERASE + cut(text, _CELLS), nl=False, err=True)
        else:
            say(text, prefix="")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._drawn:
            with suppress(OSError):
                click.echo(_ERASE, nl=False, err=True)
