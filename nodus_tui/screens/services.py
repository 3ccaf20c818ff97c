"""What a screen may ask of the application around it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from nodus_tui.contract.backend import Backend, Linked, LinkState
from nodus_tui.contract.playback import Playback, Recorded, Replayed
from nodus_tui.screens.feed import LiveFeed
from nodus_tui.table_memory import TableMemory
from nodus_tui.view_state.asked import Asked
from nodus_tui.view_state.key_actions import Situation
from nodus_tui.view_state.undoing import History

if TYPE_CHECKING:
    from nodus_tui.screens.environments_desk import EnvironmentsDesk


class Services(Struct, frozen=True, dict=True):
    """One for all screens of an app."""

    backend: Backend
    feed: LiveFeed
    now: Callable[[], datetime]
    """The time, in the zone in which clock times are shown."""
    author: str
    """Who acts: a login name."""
    copy_file: Path | None
    """Where `y` also writes what it copies, for terminals without a clipboard; None for a browser, which has no part in these files."""
    folder: Path
    """Where spec files are looked for."""

    whose_work: Callable[[], str]
    """Who does the workspace's work, in a few words; empty while that is not known."""

    sandboxes: Callable[[], int]
    """How many sandboxes of this workspace run now, as far as is known."""

    tables: TableMemory
    """Which columns the tables show."""

    situation: Callable[[], Situation]
    """From where the person looks on: what they cannot do from there is neither shown nor done."""

    drafts: Path | None
    """Where unsaved texts are kept; None for a browser."""

    launch_file: Callable[[str], None]
    """Shows the estimate of a spec file, from where it is launched."""

    arrived: Callable[[], None]
    """Hears that a view is on top now."""

    history: History = field(default_factory=History)
    """What the person did, so that it can be undone where that can be."""

    asked: Asked = field(default_factory=Asked)
    """What the person asked for that is not answered yet."""

    @cached_property
    def environments(self) -> EnvironmentsDesk:
        """The environments, and the gold checks that run from here."""
        from nodus_tui.screens.environments_desk import EnvironmentsDesk  # noqa: PLC0415 - loaded with the first view that asks for them

        return EnvironmentsDesk(self.backend, self.feed.campaigns.rows)

    def playback(self) -> Playback | None:
        """How the showing of a recording stands; None where what is shown is the present."""
        return self._replayed.playback if self._replayed is not None else None

    def recorded(self) -> str:
        """How the recording of what is shown stands, in a few words; empty where nothing is recorded."""
        return self._recorded.words() if self._recorded is not None else ""

    def link(self) -> LinkState | None:
        """How the way to a backend in another process stands; None in process."""
        return self._linked.link if self._linked is not None else None

    # What the backend is does not change, and to ask it takes longer than all else that is asked here with every frame.

    @cached_property
    def _replayed(self) -> Replayed | None:
        return self.backend if isinstance(self.backend, Replayed) else None

    @cached_property
    def _recorded(self) -> Recorded | None:
        return self.backend if isinstance(self.backend, Recorded) else None

    @cached_property
    def _linked(self) -> Linked | None:
        return self.backend if isinstance(self.backend, Linked) else None
