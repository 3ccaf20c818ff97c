"""Every view and dialog of the console, and the keys that lead to each: for tests of what holds everywhere. A new view is one more stop."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from budget_records import some_budgets
from console_driver import Driver, press_and_look, settled
from console_records import NOW, every_kind_of_run, group, run
from environment_records import environment_world, log_world
from hardware_records import without_driver
from msgspec import Struct
from queue_records import queue_world
from result_worlds import judged_world, result_world
from scripted_backend import ScriptedBackend
from test_console_journeys import SPEC, estimate
from test_console_sweeps import world as sweep_world
from worlds import box_world, gpu_world, job_world, tool_world, working_group_world, world

from nodus_tui.app import NodusApp
from nodus_tui.contract.actions import Action
from nodus_tui.contract.events import Event
from nodus_tui.contract.outcomes import ActionOutcome
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.launch import EstimateScreen
from nodus_tui.view_state.views import View

HAPPENED = "<happened>"
"""In the place of keys: something happens that a person waits for."""
PATH = "<path>"
"""In the place of keys: the path of a spec file is typed."""
ESTIMATED = "<estimated>"
"""In the place of keys: the estimate is there."""
OPENED = "<opened>"
"""In the place of keys: the editor is open, and its text checked."""


class Stop(Struct, frozen=True):
    """One place to look at."""

    world: Callable[[], ScriptedBackend]
    keys: tuple[str, ...]
    view: View
    """The view that is open, under a dialog where there is one."""
    once: bool = False
    """It stands as another stop does: how it looks matters, its sizes are those of the other."""


def budget_world() -> ScriptedBackend:
    backend = world()
    backend.budgets = some_budgets()
    return backend


def bare_world() -> ScriptedBackend:
    """Nothing at all, and no device."""
    backend = ScriptedBackend()
    backend.hardware = without_driver()
    return backend


def estimate_world() -> ScriptedBackend:
    backend = world()
    backend.estimates = (estimate(),)
    return backend


def working_world() -> ScriptedBackend:
    """The work is done in this process: leaving asks."""
    return ScriptedBackend([group()], every_kind_of_run(), scheduling=True)


class _Waiting(ScriptedBackend):
    """Answers no action."""

    async def act(self, action: Action) -> ActionOutcome:
        await asyncio.Event().wait()
        return await super().act(action)


def waiting_world() -> ScriptedBackend:
    """More runs than actions that are asked for at once, and nobody answers."""
    return _Waiting([group()], [run(case) for case in range(120)])


async def go_to(app: NodusApp, pilot: Driver, stop: Stop) -> None:
    """Be there, all of it painted."""
    for key in (*stop.keys, ESTIMATED):
        if key == PATH:
            here = app.services.folder / SPEC.name
            app.screen.query_one("#path").value = str(here if here.exists() else SPEC)
        elif key == ESTIMATED:
            await settled(app, pilot)
            async with asyncio.timeout(60):
                while isinstance(app.screen, EstimateScreen) and app.screen._working:
                    await pilot.pause(0.01)
            await settled(app, pilot)
        elif key == HAPPENED:
            app.backend.emit(*_HAPPENED)
            await settled(app, pilot)
        elif key == OPENED:
            await _read(app, pilot, View.SPEC)
        else:
            await press_and_look(app, pilot, key)
    if stop.view in {View.SPECS, View.SPEC}:
        await _read(app, pilot, stop.view)
    assert _view(app) is stop.view


async def _read(app: NodusApp, pilot: Driver, view: View) -> None:
    """Spec files are read beside the screen, and the editor opens when its file was."""
    async with asyncio.timeout(30):
        while _view(app) is not view or any(map(_busy, app.screen_stack)):
            await pilot.pause(0.01)
            await settled(app, pilot)


def _view(app: NodusApp) -> View:
    return [screen.VIEW for screen in app.screen_stack if isinstance(screen, ViewScreen)][-1]


def _busy(screen: object) -> bool:
    return bool(getattr(screen, "busy", False))


_HAPPENED = tuple(
    Event(cursor=cursor, at=NOW - timedelta(minutes=minutes), change="Changed", kind="AgentGroup", name=name, status=status)
    for cursor, (minutes, name, status) in enumerate(
        (
            (9, "arithmetic-smollm2", {"phase": "Stalled", "message": "4 runs wait at their own caps: extend to at least $0.02"}),
            (4, "arithmetic-smollm2", {"phase": "Running", "message": ""}),
            (1, "fleet", {"phase": "Completed", "message": ""}),
        ),
        101,
    )
)

_GROUP = ("j", "enter")
_WAITING = ("end", "k", "k", "k", "k", "k")
"""Behind those of a group: to its run that waits at its own cap."""
_RUN = (*_GROUP, "j", "j", "j", "j", "enter")
_RESULTS = ("slash", *"plain", "enter", "v")
_FAILED = ("s", "t", "a", "t", "e", "colon", *"failed")
_SWEEP = ("W", "down", "enter")
_SPEC = ("F", "c", *"Budget", "enter", OPENED)

STOPS: dict[str, Stop] = {
    "campaigns": Stop(world, (), View.CAMPAIGNS),
    "campaigns, none": Stop(bare_world, (), View.CAMPAIGNS),
    "campaigns, filtered": Stop(world, ("slash", *"fl", "enter"), View.CAMPAIGNS, once=True),
    "campaigns, filter wrong": Stop(world, ("slash", *"cost", "greater_than_sign", *"x"), View.CAMPAIGNS, once=True),
    "campaigns, delete": Stop(world, ("end", "ctrl+d"), View.CAMPAIGNS, once=True),
    "group": Stop(world, _GROUP, View.GROUP),
    "group, at work": Stop(working_group_world, ("enter", *["j"] * 71, *["k"] * 7), View.GROUP, once=True),
    "group, picked": Stop(world, (*_GROUP, "space", "j", "V"), View.GROUP, once=True),
    "group, columns": Stop(world, (*_GROUP, "O", "j"), View.GROUP),
    "group, kill many": Stop(world, (*_GROUP, "a", "x"), View.GROUP, once=True),
    "group, extend": Stop(world, (*_GROUP, *_WAITING, "e"), View.GROUP),
    "group, extend wrong": Stop(world, (*_GROUP, *_WAITING, "e", *"zz"), View.GROUP, once=True),
    "group, kill": Stop(world, (*_GROUP, "X"), View.GROUP),
    "group, kill chosen": Stop(world, (*_GROUP, "X", "tab"), View.GROUP, once=True),
    "group, kill run": Stop(world, (*_GROUP, *_WAITING, "x"), View.GROUP, once=True),
    "group, extend afresh": Stop(world, (*_GROUP, *_WAITING, "e", "tab"), View.GROUP, once=True),
    "group, extend all": Stop(world, (*_GROUP, "C"), View.GROUP, once=True),
    "group, extend many": Stop(world, (*_GROUP, "a", "e"), View.GROUP, once=True),
    "group, cap": Stop(world, (*_GROUP, "E"), View.GROUP, once=True),
    "group, retry": Stop(world, (*_GROUP, "R"), View.GROUP, once=True),
    "group, retry many": Stop(world, (*_GROUP, "a", "r"), View.GROUP, once=True),
    "results": Stop(result_world, (*_RESULTS, "j", "right"), View.RESULTS),
    "results, choosing another": Stop(result_world, (*_RESULTS, "c"), View.RESULTS),
    "results, written": Stop(result_world, (*_RESULTS, "o"), View.RESULTS, once=True),
    "results of a job": Stop(result_world, ("J", "end", "v"), View.RESULTS),
    "results of a job, judged": Stop(judged_world, ("J", "slash", *"arithmetic", "enter", "v"), View.RESULTS, once=True),
    "compared": Stop(result_world, (*_RESULTS, "c", *"careful", "enter"), View.COMPARISON),
    "run": Stop(world, _RUN, View.RUN),
    "run, calls": Stop(world, (*_RUN, "tab"), View.RUN, once=True),
    "run, facts": Stop(tool_world, ("enter", "enter", "a"), View.RUN, once=True),
    "run, found": Stop(tool_world, ("enter", "enter", "slash", *"values", "enter", "n"), View.RUN, once=True),
    "run with tools": Stop(tool_world, ("enter", "enter", "pagedown"), View.RUN),
    "run with tools, whole": Stop(tool_world, ("enter", "enter", "pagedown", "o"), View.RUN, once=True),
    "run with tools, working": Stop(tool_world, ("enter", "j", "enter"), View.RUN, once=True),
    "files": Stop(tool_world, ("enter", "enter", "f"), View.RUN),
    "files, save": Stop(tool_world, ("enter", "enter", "f", "j", "enter"), View.RUN, once=True),
    "jobs": Stop(job_world, ("J",), View.JOBS),
    "jobs, none": Stop(bare_world, ("J",), View.JOBS, once=True),
    "jobs, filtered": Stop(job_world, ("J", "slash", *_FAILED, "enter"), View.JOBS, once=True),
    "jobs, filtered out": Stop(job_world, ("J", "slash", *"qqqq", "enter"), View.JOBS, once=True),
    "job": Stop(job_world, ("J", "end", "enter"), View.JOB),
    "job, ended": Stop(job_world, ("J", "slash", *"train", "enter", "enter"), View.JOB, once=True),
    "job, kill": Stop(job_world, ("J", "end", "x"), View.JOBS, once=True),
    "job, extend": Stop(job_world, ("J", "end", "e"), View.JOBS, once=True),
    "job, retry": Stop(job_world, ("J", "slash", *_FAILED, "enter", "r"), View.JOBS, once=True),
    "gpus": Stop(gpu_world, ("d",), View.GPUS),
    "gpus, processes": Stop(gpu_world, ("d", "j", "j", "enter"), View.GPUS, once=True),
    "gpus, lost": Stop(gpu_world, ("d", "end"), View.GPUS, once=True),
    "gpus, none": Stop(bare_world, ("d",), View.GPUS),
    "budgets": Stop(budget_world, ("B", "j", "j"), View.BUDGETS),
    "budgets, raise": Stop(budget_world, ("B", "j", "e", "enter"), View.BUDGETS, once=True),
    "sandboxes": Stop(box_world, ("b", "j"), View.SANDBOXES),
    "sandboxes, of runs": Stop(box_world, ("b", "tab"), View.SANDBOXES, once=True),
    "sandboxes, none": Stop(bare_world, ("b",), View.SANDBOXES, once=True),
    "sandbox": Stop(box_world, ("b", "enter"), View.SANDBOX),
    "sandbox, kill": Stop(box_world, ("b", "x"), View.SANDBOXES, once=True),
    "sweeps": Stop(sweep_world, ("W",), View.SWEEPS),
    "sweep": Stop(sweep_world, (*_SWEEP, "down", "right"), View.SWEEP),
    "sweep, table": Stop(sweep_world, (*_SWEEP, "tab"), View.SWEEP, once=True),
    "sweep, compared": Stop(sweep_world, (*_SWEEP, "m", "right", "c"), View.SWEEP),
    "sweep, extend": Stop(sweep_world, (*_SWEEP, "down", "down", "e"), View.SWEEP, once=True),
    "sweep, kill": Stop(sweep_world, (*_SWEEP, "X"), View.SWEEP, once=True),
    "sweep, kill cell": Stop(sweep_world, (*_SWEEP, "down", "down", "x"), View.SWEEP, once=True),
    "sweep, cap": Stop(sweep_world, (*_SWEEP, "E"), View.SWEEP, once=True),
    "sweep, retry": Stop(sweep_world, (*_SWEEP, "R"), View.SWEEP, once=True),
    "queue": Stop(queue_world, ("w",), View.QUEUE),
    "queue, unfolded": Stop(queue_world, ("w", "o", "end"), View.QUEUE, once=True),
    "queue, of a group": Stop(queue_world, ("w", "a"), View.QUEUE, once=True),
    "queue, nothing": Stop(bare_world, ("w",), View.QUEUE, once=True),
    "timeline": Stop(queue_world, ("w", "T"), View.TIMELINE),
    "timeline, closer": Stop(queue_world, ("w", "T", "j", "plus", "plus"), View.TIMELINE, once=True),
    "what-if": Stop(queue_world, ("w", "M"), View.WHAT_IF),
    "what-if, another": Stop(queue_world, ("w", "M", "m"), View.WHAT_IF, once=True),
    "environments": Stop(environment_world, ("D",), View.ENVIRONMENTS),
    "environments, check": Stop(environment_world, ("D", "c"), View.ENVIRONMENTS, once=True),
    "environment": Stop(environment_world, ("D", "enter"), View.ENVIRONMENT),
    "log": Stop(log_world, ("L",), View.LOG),
    "log, found": Stop(log_world, ("L", "slash", *"gate", "enter", "o"), View.LOG, once=True),
    "specs": Stop(world, ("F",), View.SPECS),
    "specs, create": Stop(world, ("F", "c"), View.SPECS, once=True),
    "specs, form": Stop(world, ("F", "c", "enter"), View.SPECS, once=True),
    "spec": Stop(world, _SPEC, View.SPEC),
    "spec, completing": Stop(world, (*_SPEC, *["down"] * 4, "end", "enter", "tab"), View.SPEC, once=True),
    "spec, wrong": Stop(world, (*_SPEC, *["down"] * 6, "end", "x"), View.SPEC, once=True),
    "spec, what it comes to": Stop(world, (*_SPEC, "ctrl+r"), View.SPEC, once=True),
    "spec, differences": Stop(world, (*_SPEC, "ctrl+g"), View.SPEC, once=True),
    "spec, template": Stop(world, (*_SPEC, "ctrl+t"), View.SPEC, once=True),
    "spec, help": Stop(world, (*_SPEC, "f1"), View.SPEC, once=True),
    "spec, save as": Stop(world, ("F", "end", "enter", OPENED, "ctrl+o"), View.SPEC, once=True),
    "spec, leave": Stop(world, (*_SPEC, "escape"), View.SPEC, once=True),
    "spec, quit": Stop(world, (*_SPEC, "ctrl+c"), View.SPEC, once=True),
    "help": Stop(world, ("question_mark",), View.CAMPAIGNS),
    "help, end": Stop(world, ("question_mark", "end"), View.CAMPAIGNS, once=True),
    "notices": Stop(world, (HAPPENED, "N"), View.CAMPAIGNS, once=True),
    "notices, none": Stop(world, ("N",), View.CAMPAIGNS, once=True),
    "palette": Stop(world, ("ctrl+p",), View.CAMPAIGNS),
    "palette, typed": Stop(world, ("ctrl+p", *"ex"), View.CAMPAIGNS, once=True),
    "jump": Stop(world, ("colon",), View.CAMPAIGNS, once=True),
    "themes": Stop(world, ("t",), View.CAMPAIGNS),
    "launch": Stop(world, ("l",), View.CAMPAIGNS),
    "launch, wrong": Stop(world, ("l", *"zzz", "enter"), View.CAMPAIGNS, once=True),
    "estimate": Stop(estimate_world, ("l", PATH, "enter"), View.ESTIMATE),
    "estimate, minutes": Stop(estimate_world, ("l", PATH, "enter", ESTIMATED, "m"), View.ESTIMATE, once=True),
    "leave, not all asked": Stop(waiting_world, ("enter", "a", "x", *"120", "enter", "enter", "q"), View.GROUP, once=True),
    "leave": Stop(working_world, ("q",), View.CAMPAIGNS),
}
