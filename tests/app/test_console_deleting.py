"""Deleting from the lists: asked in numbers, refused at work, and one sentence about all."""

import pytest
from console_driver import console, press, screen_text
from console_records import NOW, group
from scripted_backend import ScriptedBackend
from worlds import box_world, job_world, world

from nodus_tui.contract.actions import Delete
from nodus_tui.contract.events import Event
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.widgets.dialogs import ConfirmDialog


def deleted(backend: ScriptedBackend) -> list[tuple[str, str]]:
    return [(each.kind, each.name) for each in backend.acted if isinstance(each, Delete)]


async def test_a_group_that_has_ended_is_deleted_after_a_question_and_leaves_the_list() -> None:
    backend = world()
    async with console(backend) as (app, pilot):
        await press(app, pilot, "end", "ctrl+d")
        assert isinstance(app.screen, ConfirmDialog)
        assert "Delete group yesterday?" in screen_text(app)
        assert "100 cases, 98 verdicts" in screen_text(app)
        await press(app, pilot, "enter")
        assert "Nothing was done." in screen_text(app)
        assert deleted(backend) == []
        await press(app, pilot, "ctrl+d", "tab", "enter")
        assert deleted(backend) == [("AgentGroup", "yesterday")]
        backend.emit(Event(cursor=101, at=NOW, change="Deleted", kind="AgentGroup", name="yesterday"))
        await press(app, pilot, "U")
        assert "The removal of AgentGroup yesterday cannot be undone" in screen_text(app)
        assert "yesterday        " not in screen_text(app)


async def test_what_is_at_work_is_named_and_stays() -> None:
    backend = world()
    async with console(backend) as (app, pilot):
        await press(app, pilot, "ctrl+d")
        assert "arithmetic-smollm2 is at work: kill it first, then it can be deleted." in screen_text(app)
        assert deleted(backend) == []


async def test_of_several_the_number_is_typed_and_one_sentence_tells_of_all() -> None:
    backend = ScriptedBackend([group("one", phase=GroupPhase.COMPLETED), group("two", phase=GroupPhase.CANCELLED), group("three")])
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "a", "ctrl+d", "2", "enter", "enter")
        assert sorted(deleted(backend)) == [("AgentGroup", "one"), ("AgentGroup", "two")]
        assert "deleted 2 of 2 groups" in screen_text(app)


@pytest.mark.parametrize(("make", "keys", "kind"), [(job_world, ("J", "end", "k"), "Job"), (box_world, ("b", "j"), "Sandbox")])
async def test_jobs_and_sandboxes_too(make, keys: tuple[str, ...], kind: str) -> None:
    backend = make()
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, *keys, "ctrl+d")
        assert isinstance(app.screen, ConfirmDialog), screen_text(app)
        await press(app, pilot, "tab", "enter")
        assert [each for each, _ in deleted(backend)] == [kind]
