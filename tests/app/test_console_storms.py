"""Storms of resizing while things happen: nothing breaks, and what stands afterwards is what a console opened then would show."""

import random

import pytest
from console_driver import Driver, console, screen_lines, settled
from console_records import NOW, changed, created, run
from console_stops import STOPS, go_to
from scripted_backend import ScriptedBackend
from textual.drivers.headless_driver import HeadlessDriver
from textual.events import Resize
from textual.geometry import Size

from nodus_tui.app import NodusApp
from nodus_tui.contract.events import Event
from nodus_tui.contract.phases import RunPhase
from nodus_tui.screens.base import ViewScreen
from nodus_tui.widgets.text_pane import TextPane

RESIZES = 200
MOST_AT_ONCE = 40
"""Resizes that come before the console has drawn for the first of them."""
WIDEST, HIGHEST = 320, 110

PHASES = (RunPhase.RUNNING, RunPhase.WAITING, RunPhase.GRADING, RunPhase.INTERRUPTED)
IN_STORM = [
    *{stop.view: name for name, stop in reversed(STOPS.items()) if not stop.once and "," not in name}.values(),
    "group, extend",
    "palette",
]
"""Each view, and two dialogs."""


def something_happens(backend: ScriptedBackend, chance: random.Random) -> None:
    """Runs come, change and go; a group's message grows and shrinks."""
    cursor = backend.cursor
    group = chance.choice([*backend.groups] or [""])
    if not group:
        return
    runs = [each for each in backend.runs.values() if each.spec.group == group]
    one = chance.choice(runs) if runs else None
    events = [changed("AgentGroup", group, cursor + 1, message="word " * chance.randrange(60))]
    what = chance.randrange(3)
    if what == 0:
        events.append(created(run(1000 + cursor, of=group, message="it is new " * chance.randrange(9)), cursor + 2))
    elif one is not None and what == 1:
        why = "why " * chance.randrange(40)
        events.append(changed("AgentRun", one.name, cursor + 2, of=group, phase=chance.choice(PHASES), message=why))
    elif len(runs) > 20:
        events.append(Event(cursor=cursor + 2, at=NOW, change="Deleted", kind="AgentRun", name=runs[-1].name, group=group))
    backend.emit(*events)


def resize(app: NodusApp, width: int, height: int) -> None:
    """As a terminal tells it, without waiting for what comes of it."""
    size = Size(width, height)
    assert isinstance(app._driver, HeadlessDriver)
    app._driver._size = size
    app.post_message(Resize(size, size))


async def storm(app: NodusApp, pilot: Driver, backend: ScriptedBackend, chance: random.Random) -> None:
    left = RESIZES
    while left:
        burst = min(left, chance.randint(1, MOST_AT_ONCE))
        left -= burst
        for _ in range(burst):
            resize(app, chance.randint(1, WIDEST), chance.randint(1, HIGHEST))
        something_happens(backend, chance)
        await settled(app, pilot)


@pytest.mark.parametrize("stop", IN_STORM)
async def test_a_storm_of_resizing_leaves_nothing_behind(stop: str) -> None:
    chance = random.Random(stop)
    backend = STOPS[stop].world()
    async with console(backend) as (app, pilot):
        await go_to(app, pilot, STOPS[stop])
        depth = len(app.screen_stack)
        await storm(app, pilot, backend, chance)
        resize(app, 80, 24)
        await settled(app, pilot)
        after = screen_lines(app)
        assert len(app.screen_stack) == depth
        assert not app.has_class("-small")
    async with console(backend) as (app, pilot):
        await go_to(app, pilot, STOPS[stop])
        if isinstance(app.screen, ViewScreen):
            assert after == screen_lines(app)


async def test_a_reader_keeps_the_place_when_the_width_changes() -> None:
    async with console(STOPS["run with tools, whole"].world()) as (app, pilot):
        await go_to(app, pilot, STOPS["run with tools, whole"])
        pane = app.screen.query_one("#talk", TextPane)
        pane.scroll_to(y=pane.max_scroll_y // 2, animate=False)
        await settled(app, pilot)
        place = pane.scroll_offset.y
        assert 2 < place < pane.max_scroll_y - 2
        for width, height in ((120, 24), (70, 24), (80, 24)):
            await pilot.resize_terminal(width, height)
            await settled(app, pilot)
            assert abs(pane.scroll_offset.y / len(pane.lines) - place / len(pane.lines)) < 0.2
        assert abs(pane.scroll_offset.y - place) <= 2
        pane.action_to_end()
        for width, height in ((100, 24), (70, 40), (80, 24)):
            await pilot.resize_terminal(width, height)
            await settled(app, pilot)
            assert pane.scroll_offset.y == pane.max_scroll_y, "who was at the end stays there"
