"""The GPU view: reached by a key, renewed while it is in front, cheap where nothing changes, and the way from a process to its run."""

import pytest
from console_driver import console, press, screen_text, settled, wire_text
from console_records import every_kind_of_run, group
from hardware_records import device, hardware, holder, later, process
from job_records import job
from scripted_backend import UNREACHABLE, ScriptedBackend

from nodus_tui.app import NodusApp
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.screens.gpus import GpusScreen
from nodus_tui.screens.group import GroupScreen
from nodus_tui.screens.job import JobScreen
from nodus_tui.screens.run import RunScreen


class Machine(ScriptedBackend):
    """Also answers for single runs."""

    async def get(self, kind: str, name: str) -> Resource:
        return self.runs[name] if kind == "AgentRun" and name in self.runs else await super().get(kind, name)


def machine() -> Machine:
    backend = Machine([group()], every_kind_of_run())
    backend.hardware = hardware()
    return backend


def view_of(app: NodusApp) -> GpusScreen:
    assert isinstance(app.screen, GpusScreen)
    return app.screen


async def looked(app: NodusApp, pilot: object) -> None:
    """One more look, shown."""
    view_of(app).look()
    await app.workers.wait_for_complete([worker for worker in app.workers if worker.node is app.screen])
    await settled(app, pilot)  # type: ignore[arg-type]  # the pilot of this console


async def test_only_what_changed_is_painted() -> None:
    backend = machine()
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "d")
        screen = view_of(app)
        painted = screen.devices.lines_refreshed, screen.processes.lines_refreshed
        await looked(app, pilot)
        assert (screen.devices.lines_refreshed, screen.processes.lines_refreshed) == painted, "the same look paints nothing"
        first, *others = hardware().devices
        warmer = first.model_copy(update={"temperature_c": 62, "history": None, "utilization_percent": None})
        backend.hardware = later(hardware(), 1, warmer, *(each.model_copy(update={"history": None}) for each in others))
        await looked(app, pilot)
        assert screen.devices.lines_refreshed > painted[0]
        assert screen.processes.lines_refreshed == painted[1]
        assert "62°C" in screen_text(app)


async def test_nothing_is_asked_while_another_view_is_in_front() -> None:
    backend = machine()
    async with console(backend) as (app, pilot):
        await press(app, pilot, "d")
        screen = view_of(app)
        await press(app, pilot, "question_mark")
        looks = backend.looks
        screen.look()
        await settled(app, pilot)
        assert backend.looks == looks
        await press(app, pilot, "escape")
        await looked(app, pilot)
        assert backend.looks > looks


async def test_a_backend_that_does_not_answer_leaves_the_figures_with_their_age() -> None:
    backend = machine()
    backend.hardware_lost = UNREACHABLE
    async with console(backend) as (app, pilot):
        await press(app, pilot, "d")
        assert "The machine cannot be read: the scheduler's socket does not answer. It is asked for again by itself." in " ".join(
            screen_text(app).split()
        )
        backend.hardware_lost = None
        await looked(app, pilot)
        assert "H100" in screen_text(app)
        backend.hardware_lost = UNREACHABLE
        await looked(app, pilot)
        assert "! These figures are 0s old: the scheduler's socket does not answer" in screen_text(app)
        assert "H100" in screen_text(app)


async def test_enter_goes_from_a_device_to_its_processes_and_on_to_the_run() -> None:
    backend = machine()
    name = next(iter(backend.runs))
    run = backend.runs[name]
    assert isinstance(run, AgentRun)
    backend.hardware = hardware().model_copy(update={"devices": (device(0, processes=(process(1), process(2, run=name))), device(1))})
    async with console(backend) as (app, pilot):
        await press(app, pilot, "d", "j", "enter")
        assert "No process is on this device." in screen_text(app)
        await press(app, pilot, "k", "enter", "enter")
        assert "This process is of no run or job here." in screen_text(app)
        await press(app, pilot, "j", "enter")
        assert isinstance(app.screen, RunScreen)
        assert app.screen.state.name == name
        await press(app, pilot, "escape")
        assert isinstance(app.screen, GroupScreen)
        assert app.screen.group_name == run.spec.group
        await press(app, pilot, "escape")
        assert view_of(app).processes.has_focus
        await press(app, pilot, "tab")
        assert view_of(app).devices.has_focus
        await press(app, pilot, "escape")
        assert "campaigns" in screen_text(app)


async def test_a_run_that_cannot_be_read_is_said() -> None:
    backend = machine()
    backend.hardware = hardware().model_copy(update={"devices": (device(0, processes=(process(1, run="gone-c001"),)),)})
    async with console(backend) as (app, pilot):
        await press(app, pilot, "d", "enter", "enter")
        assert "The run gone-c001 cannot be read" in screen_text(app)


async def test_sorting_and_copying_concern_the_table_with_the_cursor() -> None:
    async with console(machine(), size=(120, 40)) as (app, pilot):
        await press(app, pilot, "d", "S")
        assert view_of(app).devices.rows.descending
        await press(app, pilot, "tab", "s", "y")
        assert view_of(app).processes.rows.sort_key == "pid"
        assert view_of(app).devices.rows.sort_key == "gpu"


@pytest.mark.parametrize("size", [(60, 15), (200, 50)])
async def test_every_size_shows_devices_and_processes_and_foreign_text_is_harmless(size: tuple[int, int]) -> None:
    backend = machine()
    hostile = "\x1b]52;c;AAAA\x07[@click=app.quit]x[/]\u202e"
    evil = device(0, name=hostile, processes=(process(7, command=hostile, user=hostile),), notes=(hostile,))
    backend.hardware = hardware().model_copy(update={"devices": (evil,), "notes": (hostile,)})
    async with console(backend, size=size) as (app, pilot):
        await press(app, pilot, "d")
        text = wire_text(app)
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\u202e" not in text
        assert "COMMAND" in text or size[0] == 60
        assert " 7 " in text


async def test_enter_goes_from_a_device_without_processes_to_who_has_it() -> None:
    backend = machine()
    name = next(iter(backend.runs))
    known = job("train")
    backend.jobs[known.name] = known
    held = (holder("train"),), (holder(name, "AgentRun"),), (holder("other", "TrainingJob"),)
    backend.hardware = hardware().model_copy(
        update={"devices": tuple(device(place, utilization_percent=0, holders=each) for place, each in enumerate(held))}
    )
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "d")
        assert "→ train" in screen_text(app)
        assert "given to job train" in screen_text(app)
        await press(app, pilot, "enter")
        assert isinstance(app.screen, JobScreen)
        await press(app, pilot, "escape", "j", "enter")
        assert isinstance(app.screen, RunScreen)
        await press(app, pilot, "escape", "escape", "j", "enter")
        assert "`nodus-tui describe other` shows other." in screen_text(app)


async def test_enter_goes_from_a_process_to_its_job() -> None:
    backend = machine()
    known = job("train")
    backend.jobs[known.name] = known
    backend.hardware = hardware().model_copy(update={"devices": (device(0, processes=(process(1, job="train"),)),)})
    async with console(backend) as (app, pilot):
        await press(app, pilot, "d", "enter", "enter")
        assert isinstance(app.screen, JobScreen)
        assert app.screen.job_name == "train"
