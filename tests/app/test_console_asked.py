"""What is asked for and takes its time says so before, shows that it waits, goes on whatever view is open; its outcome is a notice."""

import asyncio

import pytest
from console_driver import console, press, screen_lines, screen_text, settled
from console_records import every_kind_of_run, group, run
from scripted_backend import ScriptedBackend

from nodus_tui.contract.actions import Action, ExtendCap, Kill
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.outcomes import ActionOutcome
from nodus_tui.contract.phases import RunPhase


class SlowBackend(ScriptedBackend):
    """Answers an action when the test lets it: as a backend does that lets a call end first."""

    def __init__(self, *args, **options) -> None:
        super().__init__(*args, **options)
        self.may_answer = asyncio.Event()

    async def act(self, action: Action) -> ActionOutcome:
        await self.may_answer.wait()
        return await super().act(action)


def words(app) -> str:
    return " ".join(screen_text(app).replace("│", " ").split())


async def extending(app, pilot) -> None:
    app.screen.table.select("fleet-0004-a1")
    await press(app, pilot, "e")
    assert "First the step under way ends and is paid; the outcome comes as a notice (N)." in words(app)
    await press(app, pilot, "enter")


async def test_a_higher_cap_of_a_run_at_work_says_that_it_waits_and_its_outcome_is_kept() -> None:
    backend = SlowBackend([group()], every_kind_of_run())
    async with console(backend, start_at="fleet") as (app, pilot):
        await extending(app, pilot)
        waits = "… the new cap of fleet-0004-a1 waits for the step under way"
        assert waits in screen_text(app)
        await press(app, pilot, "escape")
        assert waits in screen_text(app), "in whatever view"
        backend.may_answer.set()
        await settled(app, pilot)
        assert waits not in screen_text(app)
        assert "✓ extendCap of fleet-0004-a1 is done" in screen_text(app)
        assert "N 1 new" in screen_lines(app)[0]
        await press(app, pilot, "N")
        assert "extendCap of fleet-0004-a1 is done" in screen_text(app)
        await press(app, pilot, "enter")
        assert screen_lines(app)[0].startswith(" nodus › campaigns › fleet")
    assert [type(action) for action in backend.acted] == [ExtendCap]


async def test_who_stayed_there_is_told_at_once_and_reads_it_again_among_the_notices() -> None:
    backend = SlowBackend([group()], every_kind_of_run())
    async with console(backend, start_at="fleet", size=(80, 24)) as (app, pilot):
        await extending(app, pilot)
        backend.refuse = NodusError(ErrorCode.INVALID_ACTION, "fleet-0004-a1 has ended (Succeeded): its verdict stands")
        backend.may_answer.set()
        await settled(app, pilot)
        assert "! fleet-0004-a1 has ended (Succeeded)" in screen_text(app)
        assert " new" not in screen_lines(app)[0]
        await press(app, pilot, "N")
        assert "fleet-0004-a1 has ended (Succeeded): its verdict stands" in words(app)


@pytest.mark.parametrize("phase", [RunPhase.WAITING, RunPhase.PENDING])
async def test_a_run_that_rests_is_extended_at_once_and_nothing_is_said_of_waiting(phase: RunPhase) -> None:
    backend = ScriptedBackend([group()], [run(0, phase=phase)])
    async with console(backend, start_at="fleet", size=(120, 40)) as (app, pilot):
        await press(app, pilot, "e")
        assert "comes as a notice" not in words(app)
        await press(app, pilot, "enter")
        assert "extendCap of fleet-0000-a1 is done" in screen_text(app)


async def test_many_of_which_some_are_at_work_say_how_many_and_go_on_when_another_view_is_opened() -> None:
    backend = SlowBackend([group()], [run(case, phase=RunPhase.RUNNING if case else RunPhase.WAITING) for case in range(3)])
    async with console(backend, start_at="fleet", size=(120, 40)) as (app, pilot):
        await press(app, pilot, "a", "e")
        assert "Of 2 the step under way ends first and is paid; the outcome comes as a notice (N)." in words(app)
        await press(app, pilot, "enter")
        assert "… 0 of 3" in screen_text(app)
        await press(app, pilot, "escape", "escape", "escape")
        assert len(screen_lines(app)) == 40
        backend.may_answer.set()
        await settled(app, pilot)
        assert "✓ extended 3 of 3 runs" in screen_text(app)
        await press(app, pilot, "U")
        assert "The higher cap of 3 runs cannot be undone" in screen_text(app)
    assert len(backend.acted) == 3


async def test_many_are_asked_side_by_side_and_who_leaves_is_told_what_is_not_asked_yet() -> None:
    backend = SlowBackend([group()], [run(case, phase=RunPhase.RUNNING) for case in range(120)])
    async with console(backend, start_at="fleet", size=(100, 30)) as (app, pilot):
        await press(app, pilot, "a", "x", *"120", "enter", "enter")
        assert app.services.asked.unsent == 20
        await press(app, pilot, "q")
        assert "20 actions are not asked for yet" in words(app)
        await press(app, pilot, "escape")
        backend.may_answer.set()
        await settled(app, pilot)
        assert "killed 120 of 120 runs" in words(app)
        assert app.services.asked.unsent == 0
    assert len(backend.acted) == 120


async def test_one_that_waits_long_keeps_no_other_from_its_turn() -> None:
    class FirstIsSlow(SlowBackend):
        async def act(self, action: Action) -> ActionOutcome:
            if not isinstance(action, Kill) or action.name != "fleet-0000-a1":
                self.may_answer.set()
            return await super().act(action)

    backend = FirstIsSlow([group()], [run(case, phase=RunPhase.RUNNING) for case in range(3)])
    async with console(backend, start_at="fleet", size=(100, 30)) as (app, pilot):
        await press(app, pilot, "a", "x", "right", "enter")
        await settled(app, pilot)
        assert "killed 3 of 3 runs" in words(app)
    assert len(backend.acted) == 3
