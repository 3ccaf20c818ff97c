"""One sweep's cells: kept true by its own events and those of its groups and jobs, laid out as a grid in any width."""

from decimal import Decimal

import pytest
from console_records import NOW, changed, usd
from hypothesis import given
from hypothesis import strategies as st
from sweep_records import AGENTS, SHARDS, cell, cell_changed, cells, ended_cell, group_results, groups, job_sweep, results, sweep

from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.sweep_results import SweepAxis
from nodus_tui.statistics.comparing import compared, compared_pools, means_of_group, why_not_compared
from nodus_tui.view_state.campaigns import CampaignsState
from nodus_tui.view_state.cells import line_width, plain
from nodus_tui.view_state.columns import place
from nodus_tui.view_state.filtering import parse_filter
from nodus_tui.view_state.jobs import JobsState
from nodus_tui.view_state.sweep import Grid, SweepState, grid_of
from nodus_tui.view_state.sweep_cells import CellNow, cell_facts, outcome_forms
from nodus_tui.view_state.sweep_comparing import comparison_lines
from nodus_tui.view_state.sweep_grid import GAP, MARGIN, cell_lines, head_lines, layout_of, row_label
from nodus_tui.view_state.sweep_questions import cell_cap_proposal
from nodus_tui.view_state.sweeps import SweepsState


class World:
    """The states that a feed holds, and one open sweep."""

    def __init__(self) -> None:
        self.sweeps, self.campaigns, self.jobs = SweepsState(), CampaignsState(), JobsState()
        found, self.job_results, jobs = job_sweep()
        snapshot = Snapshot(cursor=100, sweeps=(sweep(), found), groups=tuple(groups()), jobs=tuple(jobs))
        for state in (self.sweeps, self.campaigns, self.jobs):
            state.load(snapshot)

    def open(self, name: str = "shootout") -> SweepState:
        return SweepState(name, self.sweeps.rows, self.campaigns.rows, self.jobs.rows)

    def loaded(self) -> SweepState:
        state = self.open()
        state.ask()
        state.load(results())
        return state

    def tell(self, state: SweepState, event: Event) -> bool:
        folded = [each.fold(event) for each in (self.sweeps, self.campaigns, self.jobs)]
        return state.fold(event) or any(folded)


def grid(state: SweepState) -> Grid:
    assert state.grid is not None
    return state.grid


def test_a_cell_takes_what_its_group_is_now() -> None:
    world = World()
    state = world.loaded()
    six = state.rows.item("shootout-06")
    # The group's own figures, further on than the sweep's answer.
    assert (six.cost(NOW), plain(outcome_forms(six, NOW)[0]).split()[-1]) == (usd("0.24"), "12/20")
    assert world.tell(state, changed("AgentGroup", "shootout-06", 101, pending=2, coverage={"scored": 18, "total": 20}))
    assert plain(outcome_forms(state.rows.item("shootout-06"), NOW)[0]).split()[-1] == "18/20"
    assert not state.stale, "a figure of a group needs no question"


def test_what_happens_while_the_backend_answers_is_not_lost() -> None:
    world = World()
    state = world.open()
    state.ask()
    world.tell(state, cell_changed("shootout-08", 101, launched=True, phase="Running", reason=None, message=""))
    state.load(results())
    assert state.rows.item("shootout-08").cell.phase is GroupPhase.RUNNING
    assert state.stale, "another question tells what only the backend adds up"


def test_a_cell_that_ended_makes_its_view_ask_again() -> None:
    world = World()
    state = world.loaded()
    assert world.tell(state, cell_changed("shootout-06", 101, phase="Completed", endedAt=NOW.isoformat()))
    assert state.stale
    state.ask()
    assert not state.stale
    assert not world.tell(state, cell_changed("other-01", 102, of="other", phase="Completed")), "another sweep's"
    assert not world.tell(state, cell_changed("shootout-99", 103, phase="Completed"))


def test_a_deleted_sweep_is_gone() -> None:
    world = World()
    state = world.loaded()
    assert world.tell(state, Event(cursor=101, at=NOW, change="Deleted", kind="Sweep", name="shootout"))
    assert state.sweep is None


def test_two_axes_make_a_grid_with_the_shorter_one_across() -> None:
    found = grid(World().loaded())
    assert (found.rows.name, found.columns.name) == ("shard", "agent")
    assert found.cells[0, 0] == "shootout-01"
    assert found.cells[4, 1] == "shootout-10"
    assert len(found.cells) == SHARDS * len(AGENTS)
    assert found.place_of("shootout-06") == (2, 1)


def test_an_axis_with_one_value_does_not_count_and_three_axes_make_no_grid() -> None:
    one = SweepAxis(name="RATE", values=(0.1,))
    with_one = results().model_copy(update={"axes": (one, *results().axes)})
    assert grid_of(with_one) is not None
    three = results().model_copy(update={"axes": (SweepAxis(name="repetition", values=(1, 2)), *results().axes)})
    assert grid_of(three) is None


def test_jobs_of_one_axis_are_a_table_with_their_own_column() -> None:
    world = World()
    state = world.open("rates")
    state.ask()
    state.load(world.job_results)
    assert state.grid is None
    shown = [column.title for column in state.rows.columns]
    assert shown[2:5] == ["RATE", "PHASE", "OUTCOME"]
    ended, going, waits = (plain(outcome_forms(state.rows.item(f"rates-{place}"), NOW)[0]) for place in (1, 2, 3))
    assert (ended, going, waits) == ("exit 0", "10m00s", "waits for one of 1 place (maxParallel)")
    assert state.rows.item("rates-2").cost(NOW) > 0, "its time at its rate"
    assert state.begun() is None, "a job does not tell how far it is"


def test_two_cells_at_most_are_marked_and_the_first_gives_way() -> None:
    state = World().loaded()
    for name in ("shootout-01", "shootout-02", "shootout-03"):
        state.mark(name)
    assert state.marked == ("shootout-02", "shootout-03")
    state.mark("shootout-02")
    assert [item.name for item in state.cells() if item.marked] == ["shootout-03"]


def test_the_filter_hides_rows_and_no_cell_of_the_grid() -> None:
    state = World().loaded()
    state.filter(parse_filter("state:pending"))
    assert len(state.rows) == 3
    assert all(state.rows.find(name) for name in grid(state).cells.values())


def test_a_cell_in_words_tells_its_rate_its_pool_and_why() -> None:
    state = World().loaded()
    facts = [plain(each) for each in cell_facts(state.rows.item("shootout-05"), state.pool_of("shootout-05"), NOW)]
    assert facts[0] == "‖ Stalled · simulated · shootout-05 · agent plain · shard 3"
    assert facts[1].startswith("64.3% ± 25.1 (SE 12.8), 14/20 scored · $0.26 of $0.60 · goes for 1m")
    assert facts[2].startswith("together (agent plain, 5 cells): 59.3% ± ")
    assert "54/100 scored, $1.18" in facts[2]
    assert facts[3] == "‖ 3 runs wait at their own caps: extend to at least $0.076"


@given(st.integers(10, 220), st.integers(0, 4), st.integers(0, 4))
def test_whatever_the_width_a_grid_fits_it_and_its_cursor_is_in_view(width: int, column: int, first: int) -> None:
    axes = (SweepAxis(name="temperature", values=(0.1, 0.25, 0.5, 0.75, 1.0)), SweepAxis(name="shard", values=tuple(range(1, 8))))
    found = Grid(axes[1], axes[0], {})
    layout = layout_of(found, width)
    shown = layout.first_for(column, first, len(axes[0].values))
    assert 0 <= shown <= column < shown + layout.shown <= len(axes[0].values)
    used = layout.label + layout.shown * (MARGIN + layout.text + GAP)
    assert used <= width or layout.shown == 1
    assert layout.column_at(layout.label) == 0
    assert layout.column_at(used) is None
    assert line_width(head_lines(found, layout, shown)[1]) == used
    assert line_width(row_label(found, 6, layout)) <= layout.label


@given(st.sampled_from(cells()), st.integers(18, 30))
def test_a_cell_is_never_wider_than_it_may_be_and_its_figures_are_whole(told: object, width: int) -> None:
    item = CellNow(told, 0)  # type: ignore[arg-type]
    state, outcome = cell_lines(item, NOW, width)
    assert line_width(state) <= width
    assert line_width(outcome) <= width
    assert plain(state).startswith(f"{item.sign.glyph} {item.sign.word}")
    if item.cell.rate is not None:
        coverage = item.cell.rate.coverage
        assert plain(outcome).endswith(f"{coverage.scored}/{coverage.total}")


@pytest.mark.parametrize("width", [57, 77, 117, 157])
def test_the_table_shows_every_axis_the_phase_and_the_money_at_any_width(width: int) -> None:
    keys = {placed.column.key for placed in place(World().loaded().rows.columns, width)}
    assert {"cell", "axis.agent", "axis.shard", "phase", "outcome", "spent"} <= keys


def test_comparing_tells_the_paired_difference_and_that_of_all_shards() -> None:
    state = World().loaded()
    first, second = state.rows.item("shootout-01"), state.rows.item("shootout-02")
    difference = compared(
        "shootout-01", means_of_group(group_results("shootout-01", 12)), "shootout-02", means_of_group(group_results("x", 17))
    )
    pools = (state.pool_of("shootout-01"), state.pool_of("shootout-02"))
    said = [plain(each) for each in comparison_lines(first, second, difference, pools, NOW)]
    assert any(each.startswith("shootout-01 − shootout-02: -25.0 points") and "20 tasks that both" in each for each in said)
    assert any(each.startswith("agent plain − agent careful: ") and "54 tasks" in each for each in said)


def test_what_of_a_sweep_cannot_be_compared_says_why_and_what_can_says_what_to_know_first() -> None:
    whole = results()
    assert why_not_compared(whole) == ""
    (difference,) = compared_pools(whole, lambda pool: str(pool.axes["agent"]))
    assert (difference.first, difference.second) == AGENTS
    assert any("cases are scored; figures may still change." in note for note in difference.notes)
    assert "its groups have no evaluation" in why_not_compared(whole.model_copy(update={"pooled": ()}))
    assert "it has one variant" in why_not_compared(whole.model_copy(update={"pooled": whole.pooled[:1]}))
    for kind in ("Job", "TrainingJob"):
        cells = tuple(cell.model_copy(update={"kind": kind}) for cell in whole.cells)
        assert f"its cells are {kind}s" in why_not_compared(whole.model_copy(update={"cells": cells, "pooled": ()}))


def test_cells_on_different_tasks_are_not_compared_as_if_they_were_alike() -> None:
    state = World().loaded()
    first, other = state.rows.item("shootout-01"), state.rows.item("shootout-03")
    difference = compared(
        "shootout-01", means_of_group(group_results("a", 12)), "shootout-03", means_of_group(group_results("b", 12, first=20))
    )
    pools = (state.pool_of("shootout-01"), state.pool_of("shootout-03"))
    said = " ".join(plain(each) for each in comparison_lines(first, other, difference, pools, NOW))
    assert "no difference to tell: 0 tasks" in said
    assert "They were asked different tasks" in said
    assert "taken together" not in said, "both are of one pool"


def test_jobs_beside_each_other_say_that_there_is_nothing_to_pair() -> None:
    world = World()
    state = world.open("rates")
    state.load(world.job_results)
    said = comparison_lines(state.rows.item("rates-1"), state.rows.item("rates-2"), None, (None, None), NOW)
    assert "jobs are compared by what they cost" in plain(said[-1])


@pytest.mark.parametrize(
    ("item", "left", "proposed"),
    [
        (CellNow(ended_cell(1, 3), 0), "3.20", "1.2"),  # Twice its cap, for which there is room.
        (CellNow(ended_cell(1, 3, "0.50"), 0), "0.20", "0.70"),  # What it spent, and all that is left.
        (CellNow(cell(1, launched=True, phase=GroupPhase.RUNNING), 0), "0.10", "0.70"),  # Its cap is reserved already.
        (CellNow(ended_cell(1, 3, "0.10"), 0), "0.10", "1.2"),  # No cap above its own fits: the backend says what would do.
    ],
)
def test_the_cap_that_is_proposed_for_a_cell_fits_where_one_does(item: CellNow, left: str, proposed: str) -> None:
    assert cell_cap_proposal(item, sweep(left_usd=usd(left)), NOW) == Decimal(proposed)
