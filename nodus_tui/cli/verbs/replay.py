"""`replay`: a recording shown again, in the console or as lines of text."""

import asyncio
import time
from math import inf
from pathlib import Path
from typing import Any

import click

from nodus_tui.cli.console import has_terminal
from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.logs import log_to_file
from nodus_tui.cli.output import emit
from nodus_tui.cli.recorded_lines import RecordedLines
from nodus_tui.connect import backend_options
from nodus_tui.contract.backend import Backend
from nodus_tui.recording.clock import ReplayClock
from nodus_tui.recording.reading import RecordingReader
from nodus_tui.recording.replay_backend import ReplayBackend
from nodus_tui.text import safe_text

_FASTEST = 1000.0


class SpeedType(click.ParamType[float]):
    """`4`, `0.5` or `max`."""

    name = "speed"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Recorded seconds a second."""
        text = str(value)
        if text == "max":
            return inf
        try:
            speed = float(text.removesuffix("x"))
        except ValueError:
            speed = 0.0
        if not 0 < speed <= _FASTEST:
            self.fail(f"{value!r} is no speed: write how many times as fast, such as 4 or 0.5 (up to {_FASTEST:g}), or max", param, ctx)
        return speed


@click.command("replay")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--speed", type=SpeedType(), metavar="N|max", help="How many times as fast as it was; as text, max unless said otherwise.")
@click.option("--loop", is_flag=True, help="In the console: begin again at the end.")
@click.option("--text", is_flag=True, help="What changed, as lines on stdout; so it is anyway without a terminal.")
def command(file: Path, speed: float | None, *, loop: bool, text: bool) -> int:
    """Show the recording in FILE: the console as it was, with its time, which can be stopped, sped up and gone back in. Nothing can be done
    in it. What of the file is damaged is named, and the rest is shown.
    """
    as_text = text or not has_terminal()
    if as_text and loop:
        raise click.UsageError("--loop is for the console; lines of text end")
    log_to_file()
    reader = RecordingReader(file)
    if as_text:
        with reader:
            return asyncio.run(_lines(reader, speed if speed is not None else inf))
    from nodus_tui.opening import run_console  # noqa: PLC0415 - the screen library is loaded only here

    async def reach() -> Backend:
        return ReplayBackend(reader, ReplayClock(reader.length, speed=speed or 1.0, steady=time.monotonic), loops=loop)

    return run_console(backend_options("look"), reach)


async def _lines(reader: RecordingReader, speed: float) -> int:
    clock = ReplayClock(reader.length, speed=speed, steady=time.monotonic)
    lines = RecordedLines(reader)
    header = reader.header
    emit(safe_text(f"# {header.of}, recorded {header.started_at:%Y-%m-%d %H:%M:%S} UTC by nodus-tui {header.program}"))
    try:
        for place, at in enumerate(reader.times):
            await clock.reach(at)
            for each in lines.of(place):
                emit(safe_text(each))
    except asyncio.CancelledError:
        return Exit.INTERRUPTED
    for note in reader.notes():
        say(note)
    return Exit.DONE
