"""Who may only look is offered nothing else: no key in the footer, the palette or a sentence that would be refused."""

import asyncio
import re

import pytest
from console_driver import console, screen_lines, settled
from console_records import every_kind_of_run, group
from console_stops import STOPS
from scripted_backend import ScriptedBackend

from nodus_tui.app import NodusApp
from nodus_tui.contract.backend_info import BackendInfo
from nodus_tui.screens.base import ViewScreen
from nodus_tui.view_state.key_actions import action_by_id, actions_of, refusal
from nodus_tui.widgets.key_bar import key_line
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock

PLACES = [name for name, stop in STOPS.items() if not stop.once and not any(key.startswith("<") for key in stop.keys)]


def offered(app: NodusApp) -> set[str]:
    """The actions that a click on something shown would do."""
    lines = []
    for block in app.screen.query(SpanBlock):
        lines += block.lines
    for table in app.screen.query(LineTable):
        lines += table._empty
    found = (re.fullmatch(r"do\('(\w+)'\)", span.does) for line in lines for span in line)
    return {match[1] for match in found if match}


@pytest.mark.parametrize("place", PLACES)
async def test_nothing_is_offered_that_would_be_refused(place: str) -> None:
    backend = STOPS[place].world()
    backend.role = "viewer"
    async with console(backend, size=(160, 45)) as (app, pilot):
        for key in STOPS[place].keys:
            await pilot.press(key)
        await settled(app, pilot)
        situation = app.situation()
        assert situation.viewer
        refused = {action for action in offered(app) if refusal(action_by_id(action), situation)}
        assert refused == set()
        if isinstance(app.screen, ViewScreen):
            view = app.screen.VIEW
            assert not any(action.changes for action in actions_of(view, situation))
            footer = {span.does for span in key_line(view, 300, situation=situation)}
            assert footer.isdisjoint(f"do('{action.id}')" for action in actions_of(view) if action.changes)


async def test_while_it_is_not_known_who_looks_on_nothing_that_changes_is_offered() -> None:
    class Slow(ScriptedBackend):
        async def info(self, *, probe: bool = False) -> BackendInfo:
            await answers.wait()
            return await super().info(probe=probe)

    answers = asyncio.Event()
    backend = Slow([group()], every_kind_of_run())
    async with console(backend, start_at="fleet", size=(160, 45)) as (app, pilot):
        assert "group cap" not in screen_lines(app)[-1]
        answers.set()
        await settled(app, pilot)
        assert "group cap" in screen_lines(app)[-1]
