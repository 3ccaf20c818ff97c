"""The journeys of a person with budgets: see them, be told of a threshold, lose the connection."""

from typing import TypeVar

import pytest
from budget_records import changed, some_budgets
from console_driver import console, press, screen_text, settled, wire_text
from console_records import group
from job_records import job
from scripted_backend import UNREACHABLE, ScriptedBackend

from nodus_tui.app import NodusApp
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.events import Event, EventBatch
from nodus_tui.contract.phases import GroupPhase, Reason
from nodus_tui.contract.resources.meta import Resource


def world() -> ScriptedBackend:
    backend = ScriptedBackend([group()])
    backend.budgets = some_budgets()
    return backend


def happens(backend: ScriptedBackend, *events: Event) -> None:
    for reader in backend._readers:
        reader.put_nowait(EventBatch(cursor=events[-1].cursor, events=events))


def words_of(app: NodusApp) -> str:
    return " ".join(screen_text(app).split())


@pytest.mark.parametrize("size", [(80, 24), (60, 15), (200, 50)])
async def test_budgets_are_listed_and_the_campaigns_say_that_one_blocks(size: tuple[int, int]) -> None:
    async with console(world(), size=size) as (app, pilot):
        assert "B ‖ 1 budget blocks" in words_of(app)
        await press(app, pilot, "B")
        for words in (
            "team-a",
            "trial",
            "watch",
            "‖ Blocking",
            "! Over",
            "● Open",
            "123%",
            "93%",
            "99%",
            "<1%",
            "1 blocking · 1 over · 3 open",
        ):
            assert words in words_of(app), words
        await press(app, pilot, "slash", *"trial", "enter")
        assert "watch" not in words_of(app)
        await press(app, pilot, "escape")
        assert "watch" in words_of(app), "the first Escape takes the filter away"
        await press(app, pilot, "enter")
        assert "stands below" in words_of(app)
        await press(app, pilot, "escape")
        assert "fleet" in words_of(app)


Made = TypeVar("Made", bound=Resource)


def of_project(made: Made, project: str) -> Made:
    return made.model_copy(update={"metadata": made.metadata.model_copy(update={"project": project})})


async def test_a_budget_that_blocks_says_what_it_stops_and_what_lets_that_go_on() -> None:
    backend = world()
    blocking = next(name for name, each in backend.budgets.items() if each.status.blocking)
    stopped = {"phase": GroupPhase.STALLED, "reason": Reason.BUDGET_EXCEEDED}
    backend.groups = {
        each.name: of_project(each, project)
        for each, project in (
            (group("red", message="budget watch: $9.00 of $9.00 is spent", **stopped), "trial"),
            (group("blue", message=f"budget {blocking}: $5.00 of $5.00 is spent", **stopped), "other"),
            (group("free"), "trial"),
        )
    }
    stopped_job = job("train", phase="Cancelled", reason="BudgetExceeded", message="a budget stopped it")
    backend.jobs = {"train": of_project(stopped_job, "trial")}
    async with console(backend, size=(120, 30)) as (app, pilot):
        await press(app, pilot, "B", "slash", *blocking, "enter")
        assert "stops 1 group: red · 1 job: train" in words_of(app)
        assert "A higher limit lets that go on: e raises it." in words_of(app)


async def test_a_threshold_is_told_once_in_whatever_view_is_open() -> None:
    backend = world()
    async with console(backend, size=(120, 30)) as (app, pilot):
        await press(app, pilot, "enter")
        happens(backend, changed("new", 101, spentUSD="2.60", thresholdsTold=[50]))
        await settled(app, pilot)
        assert "! budget new has reached 50%: $2.60 of $5.00 is spent" in words_of(app)
        await press(app, pilot, "escape")
        happens(backend, changed("new", 102, spentUSD="2.70"))
        await settled(app, pilot)
        assert "has reached" not in words_of(app)


async def test_one_that_comes_under_a_dialog_is_told_when_that_is_closed() -> None:
    backend = world()
    async with console(backend, size=(120, 30)) as (app, pilot):
        await press(app, pilot, "question_mark")
        happens(backend, changed("new", 101, spentUSD="2.60", thresholdsTold=[50]))
        await settled(app, pilot)
        assert "has reached" not in words_of(app)
        await press(app, pilot, "escape")
        app._tick()
        await settled(app, pilot)
        assert "budget new has reached 50%" in words_of(app)


async def test_no_budgets_and_no_connection_are_said() -> None:
    backend = ScriptedBackend([group()])
    async with console(backend) as (app, pilot):
        await press(app, pilot, "B")
        assert "No budgets yet." in words_of(app)
        backend.break_off(UNREACHABLE)
        await settled(app, pilot)
        assert "No connection" in words_of(app)
    backend.lost = UNREACHABLE
    async with console(backend) as (app, pilot):
        await press(app, pilot, "B")
        assert "The backend does not answer yet." in words_of(app)


async def test_a_command_in_a_budget_is_text() -> None:
    backend = world()
    hostile = backend.budgets["team-a"].model_copy(deep=True)
    notify = hostile.spec.notify.model_copy(update={"command": ("say", "[red]\x1b[2J")})
    backend.budgets = {"team-a": hostile.model_copy(update={"spec": hostile.spec.model_copy(update={"notify": notify})})}
    async with console(backend, size=(120, 30)) as (app, pilot):
        await press(app, pilot, "B")
        assert "\x1b" not in wire_text(app)
        assert "[red]␛[2J" in screen_text(app)


async def test_a_limit_is_raised_after_a_question_that_says_what_goes_on_again() -> None:
    backend = world()
    stopped = group("stopped", phase=GroupPhase.STALLED, reason=Reason.BUDGET_EXCEEDED, pending=9)
    backend.groups["stopped"] = stopped.model_copy(update={"metadata": stopped.metadata.model_copy(update={"project": "trial"})})
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "B", "slash", *"trial", "enter")
        assert "e raise limit" in words_of(app)
        assert "A higher limit lets that go on: e raises it." in words_of(app)
        await press(app, pilot, "e")
        assert "$0.05 in all is the limit; $0.05 is spent." in words_of(app)
        await press(app, pilot, "enter")
        assert "Raise the limit of budget trial to $0.10?" in words_of(app)
        assert "Goes on again: 1 group: stopped, with 9 cases that have not ended" in words_of(app)
        await press(app, pilot, "enter")
        assert "Nothing was done." in words_of(app), "Cancel is chosen at first"
        assert backend.applied == []
        await press(app, pilot, "e", "enter", "tab", "enter")
        assert "✓ trial has a limit of $0.10 now." in words_of(app)
        (applied,) = backend.applied
        (document,) = applied
        assert document.resource.to_document()["spec"]["limitUSD"] == "0.10"
        await press(app, pilot, "U")
        assert "cannot be undone" in words_of(app)


async def test_a_limit_that_cannot_be_raised_says_why_and_a_viewer_raises_none() -> None:
    backend = world()
    backend.refuse = NodusError(ErrorCode.CONFLICT, "somebody deleted it")
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "B", "e", "enter", "tab", "enter")
        assert "! somebody deleted it" in words_of(app)
    backend.role = "viewer"
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "B", "e")
        assert "raise limit" not in words_of(app)
        assert "You look on as a viewer" in words_of(app)
