"""A backend in another process: how old the data is while the link is broken, and what leaving says."""

from dataclasses import replace
from datetime import timedelta

from console_driver import console, screen_text, settled
from console_records import NOW
from scripted_backend import ScriptedBackend

from nodus_tui.contract.backend import Linked, LinkState


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
