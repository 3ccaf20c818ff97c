"""The footer shows what would do something now, and nothing else: in tables with and without rows, on picked rows, and as a viewer."""

import pytest
from console_driver import console, press, screen_lines
from console_records import NOW, group, run, scored, usd
from job_records import job
from scripted_backend import ScriptedBackend
from sweep_records import results, sweep

from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase, Verdict
from nodus_tui.screens.group import GroupScreen
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.key_actions import Situation, View
from nodus_tui.widgets.key_bar import Offer, key_line

_WIDE = (200, 30)


def offered(app) -> str:
    return screen_lines(app)[-1]


@pytest.mark.parametrize(
    ("status", "offers"),
    [
        ({"phase": GroupPhase.COMPLETED, "pending": 0}, False),
        ({"phase": GroupPhase.STALLED, "pending": 3, "going": 0}, True),
        ({"phase": GroupPhase.RUNNING, "pending": 3, "going": 3}, False),
    ],
)
async def test_campaigns_offer_to_extend_all_only_where_some_can_wait(status: dict[str, object], *, offers: bool) -> None:
    async with console(ScriptedBackend([group(**status)]), size=_WIDE) as (app, _pilot):
        assert ("C extend all" in offered(app)) == offers


async def test_picked_rows_offer_what_can_be_done_to_some_of_them_and_say_to_how_many() -> None:
    waiting = {"phase": RunPhase.WAITING, "reason": Reason.MAX_COST_REACHED, "cost_usd": usd("0.05")}
    runs = [run(0, **waiting), run(1, **waiting), scored(2, Verdict.CORRECT), scored(3, Verdict.INFRASTRUCTURE_FAILURE)]
    async with console(ScriptedBackend([group()], runs), start_at="fleet", size=_WIDE) as (app, pilot):
        await press(app, pilot, "space", "space")
        assert "x kill 2" in offered(app)
        assert "retry" not in offered(app)
        await press(app, pilot, "a")
        assert "x kill 2  e extend 2  r retry 1" in offered(app)


async def test_picked_jobs_that_ended_are_not_killed() -> None:
    backend = ScriptedBackend([group()])
    ended = {"phase": "Failed", "exit_code": 1, "ended_at": NOW}
    backend.jobs = {name: job(name, **ended) for name in ("one", "two")}
    async with console(backend, size=_WIDE) as (app, pilot):
        await press(app, pilot, "J", "a")
        assert "kill" not in offered(app)
        assert "r retry 2" in offered(app)


@pytest.mark.parametrize("keys", [("J",), ("W",)])
async def test_a_table_without_rows_offers_nothing_for_a_row(keys: tuple[str, ...]) -> None:
    async with console(ScriptedBackend([group()]), size=_WIDE) as (app, pilot):
        await press(app, pilot, *keys)
        for gone in ("Enter open", "kill", "extend", "retry", "filter", "pick"):
            assert gone not in offered(app)
        assert "Esc back" in offered(app)


async def test_where_the_filter_hides_every_row_it_can_still_be_changed() -> None:
    async with console(ScriptedBackend([group()]), size=_WIDE) as (app, pilot):
        await press(app, pilot, "slash", *"nowhere", "enter")
        assert "kill" not in offered(app)
        assert "results" not in offered(app)
        assert "/ filter" in offered(app)


async def test_a_sweep_that_ended_well_offers_neither_caps_nor_another_try() -> None:
    backend = ScriptedBackend([group()])
    backend.sweeps = {"shootout": sweep(phase=GroupPhase.COMPLETED, failed=0)}
    backend.sweep_answers = {"shootout": results()}
    async with console(backend, size=_WIDE, first_view="sweep/shootout") as (app, _pilot):
        for gone in ("sweep cap", "p pause"):
            assert gone not in offered(app)


def test_a_recording_s_own_keys_stand_before_those_of_the_view() -> None:
    shown = plain(key_line(View.GROUP, 80, situation=Situation(recording="fleet")))
    for key in ("P pause", "> faster", "< slower", "@ place", "Esc back", "? help", "q quit"):
        assert key in shown


@pytest.mark.parametrize("width", [60, 80])
def test_the_way_back_has_its_place_whatever_matters_now(width: int) -> None:
    offer = Offer(now=frozenset({"kill", "extend", "retry", "extend_group", "results"}), words={"back": "back to hello.yaml"})
    shown = plain(key_line(View.GROUP, width, offer, Situation(recording="fleet")))
    assert "Esc back to hello.yaml" in shown
    assert len(shown) <= width


async def test_the_footer_says_where_escape_goes_where_that_is_no_place_of_the_crumbs() -> None:
    async with console(ScriptedBackend([group()]), size=_WIDE) as (app, pilot):
        await press(app, pilot, "w")
        # Of all things of a kind the first view is the natural way back.
        assert "Esc back  " in offered(app)
        app.push_screen(GroupScreen(app.services, "fleet"))
        await press(app, pilot)
        assert "nodus › campaigns › fleet" in screen_lines(app)[0]
        assert "Esc back to queue  " in offered(app)
        await press(app, pilot, "escape", "escape", "enter")
        assert "Esc back  " in offered(app)
        await press(app, pilot, "escape", "v")
        # Up along the crumbs, two at once.
        assert "nodus › campaigns › fleet › results" in screen_lines(app)[0]
        assert "Esc back  " in offered(app)


async def test_who_may_change_nothing_is_not_offered_to_pick() -> None:
    backend = ScriptedBackend([group()])
    backend.role = "viewer"
    async with console(backend, size=_WIDE) as (app, _pilot):
        assert "pick" not in offered(app)
