"""How the showing of a recording stands, in a line; and the steps by which it is moved. Pure."""

from math import inf, isinf

from nodus_tui.contract.playback import Playback, place_text
from nodus_tui.view_state.cells import Line, Span, Tone, line, line_width, muted, strong
from nodus_tui.view_state.figures import bar, share

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, inf)
"""Recorded seconds a second; the last is as fast as it can be shown."""

_LEAST_STEP, _STEPS = 5.0, 40
_BAR = 20
_NARROW = 100
"""In fewer columns the bar is half as long."""


def next_speed(speed: float, by: int) -> float:
    """The next faster speed (`by` 1), or the next slower one (-1); at the ends the same."""
    if by > 0:
        return next((each for each in SPEEDS if each > speed), speed)
    return next((each for each in reversed(SPEEDS) if each < speed), speed)


def step_of(playback: Playback) -> float:
    """How far a step leads, in recorded seconds."""
    return max(_LEAST_STEP, playback.length / _STEPS)


def place_of(typed: str, length: float) -> float | None:
    """The place that somebody typed: `90`, `1:30`, `1:02:03` or `50%`; None where it is none."""
    text = typed.strip()
    try:
        if text.endswith("%"):
            found = float(text[:-1]) / 100 * length
        else:
            found = 0.0
            for part in text.split(":"):
                found = found * 60 + float(part)
    except ValueError:
        return None
    return found if 0 <= found <= length else None


def speed_text(speed: float) -> str:
    """`4×`, or that it goes as fast as it can."""
    return "as fast as it goes" if isinf(speed) else f"{speed:g}×"


def playback_line(playback: Playback, width: int) -> Line:
    """`► 4×  0:42 / 3:10 ████░░░  recording of …`; what does not fit is left out from the end."""
    if playback.paused:
        sign = Span("‖ paused", Tone.WARN)
    elif playback.ended and not playback.loops:
        sign = Span("■ ended", Tone.MUTED)
    else:
        sign = Span("►", Tone.GOOD)
    length = _BAR if width >= _NARROW else _BAR // 2
    place = f"{place_text(playback.place)} / {place_text(playback.length)}"
    parts: tuple[Line, ...] = (
        line(" ", sign),
        line("  ", strong(place)),
        line(" ", *bar(share(int(playback.place), max(1, int(playback.length))), length)),
        line("  ", speed_text(playback.speed), ", again and again" if playback.loops else ""),
        line(muted(f"  recording of {playback.of}")),
    )
    shown: Line = ()
    for part in parts:
        if line_width(shown) + line_width(part) > width:
            break
        shown = (*shown, *part)
    return shown
