"""What holds of every view that is gone to: its crumbs say where it is, and its filter asks for what its rows have and nothing else."""

from typing import Any

import pytest
from console_driver import console, press, screen_lines
from console_stops import STOPS, go_to

from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.view_state.filter_fields import BUILT_IN
from nodus_tui.view_state.filtering import filter_help
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.views import View, destination

PLACES = [name for name, stop in STOPS.items() if not stop.once]
PARENTS = {
    View.GROUP: (View.CAMPAIGNS,),
    View.RUN: (View.CAMPAIGNS,),
    View.RESULTS: (View.CAMPAIGNS, View.JOBS),
    View.COMPARISON: (View.CAMPAIGNS, View.SWEEPS),
    View.TIMELINE: (View.CAMPAIGNS,),
    View.WHAT_IF: (View.CAMPAIGNS,),
    View.JOB: (View.JOBS,),
    View.SANDBOX: (View.SANDBOXES,),
    View.SWEEP: (View.SWEEPS,),
    View.ENVIRONMENT: (View.ENVIRONMENTS,),
    View.SPEC: (View.SPECS,),
    View.ESTIMATE: (View.SPECS,),
}
"""The views of all things of the kinds that a view shows one of."""


def top_two(screens: list[Any]) -> tuple[ViewScreen, ViewScreen | None]:
    """The view that is open, and the one that it lies on."""
    views = [screen for screen in screens if isinstance(screen, ViewScreen)]
    return views[-1], views[-2] if len(views) > 1 else None


def built_ins_of(rows: Rows[Any]) -> set[str]:
    """What the rows have, of what a filter can ask whatever the columns are."""
    found = [rows.searchable(item) for item in rows.items()] if rows.searchable is not None else []
    has = {"state": any(each.states for each in found), "verdict": any(each.verdict for each in found)}
    return {name for name, is_there in {**has, "cost": any(each.cost for each in found)}.items() if is_there}


@pytest.mark.parametrize("stop", PLACES)
async def test_crumbs_go_from_all_of_a_kind_to_one_and_to_what_of_it(stop: str) -> None:
    async with console(STOPS[stop].world(), size=(120, 40)) as (app, pilot):
        await go_to(app, pilot, STOPS[stop])
        view, below = top_two(app.screen_stack)
        crumbs = view.crumbs()
        assert screen_lines(app)[0].startswith(" nodus › " + " › ".join(crumbs)), crumbs
        first = destination(crumbs[0].casefold())
        assert first is not None
        if view.VIEW in PARENTS:
            assert first.view in PARENTS[view.VIEW]
            assert 2 <= len(crumbs) <= 3
        else:
            assert first.view is view.VIEW
        # Every crumb that can be clicked leads to what it names.
        for span in view._crumb_lines(120)[0]:
            if span.does == "do('back')":
                assert below is not None
                assert below.crumbs() == crumbs[:-1]
                assert span.text == crumbs[-2]
            elif span.text in crumbs[:-1] and span.does:
                assert span.does == f"do('{span.text}')"
        if isinstance(view, TableScreen):
            rows = view.source.rows
            assert built_ins_of(rows) <= rows.fields.keys(), "what the rows have can be asked for"


async def test_a_filter_speaks_only_of_what_its_table_has() -> None:
    asked = {}
    for stop in ("specs", "environments", "results of a job", "budgets", "jobs", "group"):
        async with console(STOPS[stop].world(), size=(120, 40)) as (app, pilot):
            await go_to(app, pilot, STOPS[stop])
            view, _ = top_two(app.screen_stack)
            assert isinstance(view, TableScreen)
            asked[stop] = view.source.rows.fields
            await press(app, pilot, "slash")
            shown = " ".join(" ".join(screen_lines(app)).split())
            assert filter_help(asked[stop])[:60] in shown
    named = {stop: {name for name in BUILT_IN if name in fields} for stop, fields in asked.items()}
    assert named["specs"] == {"text", "state"}
    assert named["environments"] == {"text", "state"}
    assert named["results of a job"] == {"text"}
    assert named["budgets"] == named["jobs"] == {"text", "state", "cost"}
    assert named["group"] == {"text", "state", "cost", "verdict"}
    assert {"kinds", "names"} <= asked["specs"].keys()
