"""The sandboxes' view: those of that kind with their ends, those of runs below, the ways on, kill and shell."""

import asyncio

import pytest
from box_records import box, changed, fact, some_boxes, some_facts
from console_driver import console, press, screen_text, settled
from console_records import every_kind_of_run, group
from scripted_backend import UNREACHABLE, ScriptedBackend

from nodus_tui.app import NodusApp
from nodus_tui.contract.actions import Kill
from nodus_tui.contract.events import EventBatch
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.screens.box import SandboxScreen
from nodus_tui.screens.boxes import SandboxesScreen
from nodus_tui.screens.job import JobScreen
from nodus_tui.screens.run import RunScreen


class Machine(ScriptedBackend):
    """Also answers for single runs."""

    async def get(self, kind: str, name: str) -> Resource:
        return self.runs[name] if kind == "AgentRun" and name in self.runs else await super().get(kind, name)


def machine(**options) -> Machine:
    backend = Machine([group()], every_kind_of_run(), **options)
    backend.boxes, backend.sandbox_facts = some_boxes(), some_facts()
    backend.sandboxes_running = 5
    return backend


def view_of(app: NodusApp) -> SandboxesScreen:
    assert isinstance(app.screen, SandboxesScreen)
    return app.screen


async def looked(app: NodusApp, pilot: object) -> None:
    """One more look, shown."""
    view_of(app).look()
    await app.workers.wait_for_complete([worker for worker in app.workers if worker.node is app.screen])
    await settled(app, pilot)  # type: ignore[arg-type]  # the pilot of this console


@pytest.mark.parametrize("size", [(80, 24), (60, 15), (200, 50)])
async def test_both_tables_stand_there_and_other_views_say_how_many_run(size: tuple[int, int]) -> None:
    async with console(machine(), size=size) as (app, pilot):
        assert "b 5 sandboxes running" in screen_text(app)
        await press(app, pilot, "b")
        text = " ".join(screen_text(app).split())
        for words in ("yesterday", "IDLE STOP", "RUN, JOB", "theirs-c003"):
            assert words in text, (words, text)
        if size[1] > 15:
            for words in ("3 running · 1 pending · 1 failed · 1 stopped", "40s left", "busy 2", "repairs-c001", "! nobody"):
                assert words in text, (words, text)
        await press(app, pilot, "escape")
        assert "fleet" in screen_text(app)


async def test_the_stream_changes_them_and_a_look_those_of_runs() -> None:
    backend = machine()
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "b")
        backend.sandbox_facts = (fact("newcomer-c007"),)
        await looked(app, pilot)
        assert "newcomer-c007" in screen_text(app)
        assert "repairs-c001" not in screen_text(app)
        event = changed("scratch", 101, phase="Stopped", reason="IdleTimeout", message="no command ran in it for 10m")
        for reader in backend._readers:
            reader.put_nowait(EventBatch(cursor=101, events=(event,)))
        async with asyncio.timeout(60):
            while "2 running · 1 pending · 1 failed · 2 stopped" not in screen_text(app):
                await settled(app, pilot)
        backend.lost = UNREACHABLE
        await looked(app, pilot)
        assert "newcomer-c007" in screen_text(app), "what is known stays"


async def test_enter_opens_all_of_one_and_from_one_of_a_run_that_run() -> None:
    backend = machine()
    name = next(iter(backend.runs))
    backend.sandbox_facts = (fact(name), fact("train", purpose="job"), fact("theirs", mine=False), fact("t1", purpose="check"))
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "b", "slash", *"going-soon", "enter", "enter")
        assert isinstance(app.screen, SandboxScreen)
        assert "python:3.12 · 1 CPU, 1 GiB, network" in screen_text(app)
        await press(app, pilot, "escape", "tab")
        assert view_of(app).others.has_focus
        view_of(app).others.select(f"nodus-{name}-episode")
        await press(app, pilot, "enter")
        await settled(app, pilot)
        assert isinstance(app.screen, RunScreen)
        await press(app, pilot, "escape", "escape")
        for key, words in (
            ("nodus-theirs-episode", "It belongs to /home/me/.nodus."),
            ("nodus-t1-check", "It is for a check, which has no view."),
            ("nodus-train-job", "`nodus-tui describe train` shows train."),
        ):
            view_of(app).others.select(key)
            await press(app, pilot, "enter")
            assert words in screen_text(app)
        await press(app, pilot, "x")
        assert "This one is a run's" in screen_text(app)
        assert not isinstance(app.screen, JobScreen)
        await press(app, pilot, "tab")
        assert view_of(app).table.has_focus


async def test_a_kill_asks_and_one_that_has_ended_is_left_alone() -> None:
    backend = machine()
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "b", "slash", *"build", "enter", "x")
        assert "Kill sandbox build?" in screen_text(app)
        assert "2 commands in it are hung up." in screen_text(app)
        await press(app, pilot, "right", "enter")
        (action,) = backend.acted
        assert isinstance(action, Kill)
        assert (action.kind, action.name) == ("Sandbox", "build")
        await press(app, pilot, "slash", *"yesterday", "enter", "enter", "x")
        assert "yesterday has ended (Stopped); there is nothing to kill." in " ".join(screen_text(app).split())
        assert len(backend.acted) == 1


async def test_a_shell_opens_only_in_one_that_runs_and_where_a_terminal_can_be_lent() -> None:
    async with console(machine(), size=(120, 40)) as (app, pilot):
        await press(app, pilot, "b", "slash", *"queue", "enter", "exclamation_mark")
        assert "queue does not run yet: 4 of 4 sandboxes" in screen_text(app)
        await press(app, pilot, "slash", *(["backspace"] * 5), *"scratch", "enter", "exclamation_mark")
        assert "cannot lend its terminal; `nodus-tui exec scratch` opens a shell elsewhere" in screen_text(app)


@pytest.mark.parametrize(("options", "words"), [({"in_browser": True}, "A browser has no part"), ({}, "You look on as a viewer")])
async def test_who_may_not_act_or_sits_elsewhere_is_offered_no_shell(options: dict[str, bool], words: str) -> None:
    async with console(machine(role="operator" if options else "viewer"), size=(120, 40), **options) as (app, pilot):
        await press(app, pilot, "b")
        assert "shell" not in screen_text(app)
        await press(app, pilot, "exclamation_mark")
        assert words in screen_text(app)


async def test_leaving_names_the_sandboxes_that_end_with_this_process() -> None:
    backend = ScriptedBackend(scheduling=True)
    backend.boxes = {"scratch": box()}
    async with console(backend) as (app, pilot):
        await press(app, pilot, "q")
        assert "sandboxes: scratch, which end; their files are kept" in screen_text(app)
        await press(app, pilot, "escape")


async def test_the_files_of_one_are_listed_and_one_that_is_gone_is_said() -> None:
    backend = machine()
    backend.contents = {"notes.md": b"x"}
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "b", "slash", *"scratch", "enter", "enter", "f")
        assert "Files of scratch" in screen_text(app)
        await press(app, pilot, "escape")
        backend.boxes.clear()
        await app.feed.reload()
        await settled(app, pilot)
        assert "There is no sandbox scratch any more." in screen_text(app)
