"""A console in which nothing happens writes nothing: in every view and dialog, whatever timers do."""

from collections.abc import Iterator

import pytest
from console_driver import Driver, console, settled
from console_stops import STOPS, go_to
from stillness import still
from textual._callback import invoke
from textual.message_pump import MessagePump
from textual.timer import Timer

from nodus_tui.app import NodusApp
from nodus_tui.view_state.views import VIEWS

BEATS = 3


def timers(app: NodusApp) -> Iterator[Timer]:
    """All that is to run again and again, of the app, its screens and all that is in them."""
    pumps: list[MessagePump] = [app, *app.screen_stack, *(widget for screen in app.screen_stack for widget in screen.walk_children())]
    for pump in pumps:
        yield from (timer for timer in pump._timers if timer._repeat is None and timer._active.is_set())


@pytest.mark.parametrize("stop", [name for name, stop in STOPS.items() if not stop.once])
async def test_where_nothing_happens_nothing_is_written(stop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with console(STOPS[stop].world(), size=(120, 40)) as (app, pilot):
        await go_to(app, pilot, STOPS[stop])
        await beat(app, pilot)
        frames: list[object] = []
        monkeypatch.setattr(NodusApp, "_display", lambda _app, _screen, frame: frames.append(frame))
        for _ in range(BEATS):
            await beat(app, pilot)
        assert frames == []
        # It would have been seen.
        app.screen.refresh()
        await settled(app, pilot)
        assert frames
        monkeypatch.undo()


def test_every_registered_view_is_among_the_places() -> None:
    assert {entry.view for entry in VIEWS} == {stop.view for stop in STOPS.values() if not stop.once}


async def beat(app: NodusApp, pilot: Driver) -> None:
    """Every timer that there is comes once, and what it brings is done."""
    for timer in tuple(timers(app)):
        if timer._callback is not None:
            await invoke(timer._callback)
    await still()
    await settled(app, pilot)
