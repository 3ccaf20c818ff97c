"""Driving the console in tests: open it on a backend, press keys, read what stands on the screen."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pkgutil import iter_modules

from console_records import NOW
from scripted_backend import ScriptedBackend
from stillness import still
from textual.pilot import Pilot

from nodus_tui import screens
from nodus_tui.app import NodusApp

Driver = Pilot[int]
_FRAMES = 5
"""At most so many follow on one another without anything new to show: what is laid out tells its room, and says more or less for it."""


# Loading a view takes long where nothing is compiled; the tests wait for what the console does, and not for that.
for _module in iter_modules(screens.__path__, f"{screens.__name__}."):
    import_module(_module.name)


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
    await painted(app)
    for _ in range(3):
        timer = app._flush_timer
        if timer is None:
            break
        timer.stop()
        app._paint_data()
        await pilot.pause()
        await painted(app)


async def press(app: NodusApp, pilot: Driver, *keys: str) -> None:
    for key in keys:
        await press_and_look(app, pilot, key)
    await settled(app, pilot)


async def press_and_look(app: NodusApp, pilot: Driver, key: str) -> None:
    """What a key changed stands on the screen before the next one comes, and it is let go of, as with a person who looks."""
    await pilot.press(key)
    await painted(app)
    app._key_gate._enter_came = float("-inf")


async def painted(app: NodusApp) -> None:
    """What is to be laid out and drawn is, without waiting for the next frame; nor for more resizes, as Textual does."""
    if app._resize_timer is not None:
        app._check_resize()
        await still()
    for _ in range(_FRAMES):
        app.screen._on_timer_update()
        await still()
        if not (app.screen._layout_required or app.screen._dirty_widgets):
            break


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
