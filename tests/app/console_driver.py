"""Driving the console in tests: open it on a backend, press keys, read what stands on the screen."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from console_records import NOW
from scripted_backend import ScriptedBackend
from textual.pilot import Pilot

from nodus_tui.app import NodusApp

Driver = Pilot[int]


@asynccontextmanager
async def console(backend: ScriptedBackend, *, size: tuple[int, int] = (80, 24), **options) -> AsyncIterator[tuple[NodusApp, Driver]]:
    """The running app, its first data painted."""
    app = NodusApp(backend, clock=lambda: NOW, **options)
    async with app.run_test(size=size) as pilot:
        await settled(app, pilot)
        yield app, pilot


async def settled(app: NodusApp, pilot: Driver) -> None:
    """All messages are handled, and what data changed is painted without waiting for the next beat."""
    await pilot.pause()
    for _ in range(3):
        timer = app._flush_timer
        if timer is None:
            break
        timer.stop()
        app._paint_data()
        await pilot.pause()


async def press(app: NodusApp, pilot: Driver, *keys: str) -> None:
    await pilot.press(*keys)
    await settled(app, pilot)


def screen_lines(app: NodusApp) -> list[str]:
    """The screen as text, all layers composed."""
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


def screen_text(app: NodusApp) -> str:
    return "\n".join(screen_lines(app))


def wire_text(app: NodusApp) -> str:
    """Every segment's own text: what the driver would write between its own escape codes."""
    return "".join(segment.text for strip in app.screen._compositor.render_strips() for segment in strip)


def clickable(app: NodusApp) -> list[object]:
    """Actions that a click on some segment would run."""
    styles = [segment.style for strip in app.screen._compositor.render_strips() for segment in strip if segment.style is not None]
    return [style.meta for style in styles if "@click" in style.meta]
