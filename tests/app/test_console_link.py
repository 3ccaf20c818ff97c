"""A backend in another process: how old the data is while the link is broken, and what leaving says."""

import asyncio
from datetime import timedelta

import pytest
from console_driver import console, press, screen_text, settled
from console_records import NOW, changed, every_kind_of_run, group
from scripted_backend import ScriptedBackend

from nodus_tui.contract.backend import Linked, LinkState
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.scheduler_view import SchedulerView
from nodus_tui.values import replace
from nodus_tui.view_state.run_columns import run_status


class LinkedBackend(ScriptedBackend):
    """Recorded values behind a link."""

    link = LinkState(connected=True, since=NOW, last_heard=NOW)


async def test_a_broken_link_says_how_old_the_data_is() -> None:
    backend = LinkedBackend()
    assert isinstance(backend, Linked)
    async with console(backend, size=(120, 40)) as (app, pilot):
        assert "Reconnecting" not in screen_text(app)
        heard = NOW - timedelta(seconds=12)
        backend.link = replace(backend.link, connected=False, last_heard=heard)
        app._tick()
        await settled(app, pilot)
        assert "Reconnecting: data 12s old" in screen_text(app)
        backend.link = LinkState(connected=True, since=NOW, last_heard=NOW)
        app._tick()
        await settled(app, pilot)
        assert "Reconnecting" not in screen_text(app)


@pytest.mark.parametrize(("connected", "lost"), [(True, "! The process"), (False, "! Reconnecting: data 0s old. The process")])
async def test_what_a_silent_process_is_doing_is_said_until_it_answers(connected: bool, lost: str) -> None:
    backend = LinkedBackend()
    async with console(backend, size=(120, 40)) as (app, pilot):
        backend.link = replace(backend.link, connected=connected, silence="the process 368 is stopped; `kill -CONT 368` lets it go on")
        app._tick()
        await settled(app, pilot)
        assert f"{lost} 368 is stopped; `kill -CONT 368` lets it go on." in screen_text(app)
        backend.link = LinkState(connected=True, since=NOW, last_heard=NOW)
        app._tick()
        await settled(app, pilot)
        assert "kill -CONT" not in screen_text(app)


async def test_what_a_silent_process_was_not_yet_asked_is_unanswered_not_on_its_way() -> None:
    backend, answers = LinkedBackend(), asyncio.Event()
    view = backend.scheduler_view

    async def waits(**asked: int) -> SchedulerView:
        await answers.wait()
        return await view(**asked)

    backend.scheduler_view = waits  # type: ignore[method-assign]
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "L")
        assert "Asking the backend…" in screen_text(app)
        backend.link = replace(backend.link, silence="the process 368 is stopped")
        app._tick()
        await settled(app, pilot)
        assert "The backend does not answer yet. The line below says why." in " ".join(screen_text(app).split())
        assert "Asking" not in screen_text(app)
        answers.set()


async def test_a_backend_in_this_process_has_no_link() -> None:
    assert not isinstance(ScriptedBackend(), Linked)


async def test_the_count_of_sandboxes_is_asked_for_through_a_link_that_holds() -> None:
    backend = LinkedBackend()
    async with console(backend, size=(120, 40)) as (app, pilot):
        backend.sandboxes_running = 1
        backend.link = replace(backend.link, connected=False)
        app.work.look_afar()
        await settled(app, pilot)
        assert app.services.sandboxes() == 0
        backend.link = LinkState(connected=True, since=NOW, last_heard=NOW)
        app.work.look_afar()
        await settled(app, pilot)
        assert "b 1 sandbox running" in screen_text(app)
        assert not app.work.looking_afar


async def test_a_group_whose_runs_cannot_be_read_again_stays_true() -> None:
    backend = ScriptedBackend([group()], every_kind_of_run())
    async with console(backend, start_at="fleet", size=(120, 40)) as (app, pilot):
        backend.lost = NodusError(ErrorCode.UNAVAILABLE, "too busy")
        with pytest.raises(NodusError):
            await app.feed.open_group("fleet")
        backend.emit(changed("AgentRun", "fleet-0008-a1", backend.cursor + 1, of="fleet", message="told afterwards"))
        await settled(app, pilot)
        assert run_status(app.feed.groups["fleet"].rows.item("fleet-0008-a1")).message == "told afterwards"
