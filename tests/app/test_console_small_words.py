"""Small words that must be true: what goes on when one leaves, what the footer offers, how much more a list of views has."""

from box_records import some_boxes
from console_driver import console, press, screen_lines, screen_text
from console_records import group
from scripted_backend import ScriptedBackend

from nodus_tui.contract.phases import GroupPhase


def with_phase(phase: GroupPhase) -> ScriptedBackend:
    one = group()
    assert one.status is not None
    return ScriptedBackend([one.model_copy(update={"status": one.status.model_copy(update={"phase": phase})})])


async def test_a_sandbox_alone_that_runs_on_is_no_work_in_the_background() -> None:
    backend = ScriptedBackend()
    backend.boxes, backend.elsewhere = some_boxes(), True
    async with console(backend) as (app, _pilot):
        told = app.leaving.what_goes_on() or ""
        assert "until the end" in told
        assert "nodus-tui kill sandbox/" in told
        assert "work goes on" not in told


async def test_the_footer_offers_no_kill_of_a_group_that_has_ended() -> None:
    async with console(with_phase(GroupPhase.COMPLETED), size=(160, 30)) as (app, _pilot):
        assert " x kill" not in screen_lines(app)[-1]
        assert " e extend" not in screen_lines(app)[-1]
    async with console(with_phase(GroupPhase.RUNNING), size=(160, 30)) as (app, _pilot):
        assert " x kill" in screen_lines(app)[-1]


async def test_a_list_of_views_says_how_many_there_are() -> None:
    async with console(ScriptedBackend([group()])) as (app, pilot):
        await press(app, pilot, "colon")
        count = len(app.screen.rows)
        assert f"1 of {count}" in screen_text(app)
