"""The showing of a recording: what a backend that shows one also has."""

from datetime import datetime
from typing import Protocol, runtime_checkable

from msgspec import Struct


class Playback(Struct, frozen=True):
    """How the showing stands. Places are seconds since the recording's beginning."""

    of: str
    """What was recorded, and when, in words for people."""
    place: float
    length: float
    speed: float
    """Recorded seconds a second; infinite for as fast as it can be shown."""
    paused: bool
    loops: bool = False
    """Whether it begins again at its end."""

    @property
    def ended(self) -> bool:
        """Whether all of it was shown."""
        return self.place >= self.length


@runtime_checkable
class Replayed(Protocol):
    """A backend that shows a recording."""

    @property
    def playback(self) -> Playback:
        """How it stands."""
        ...

    def now(self) -> datetime:
        """The time at the place that is shown, in the zone in which clock times are shown."""
        ...

    def pause(self, *, paused: bool) -> None:
        """Stand still, or go on; from the end it goes on at the beginning."""
        ...

    def set_speed(self, speed: float) -> None:
        """Go on so many times as fast as it was; above zero."""
        ...

    def jump(self, place: float) -> None:
        """Show what was at that place, or at the nearest end. Who holds states takes a snapshot anew."""
        ...


@runtime_checkable
class Recorded(Protocol):
    """A backend that writes down what it shows."""

    def words(self) -> str:
        """How the recording stands, in a few words for a status line."""
        ...


def place_text(seconds: float) -> str:
    """A place in a recording as people read it: `0:42`, `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
