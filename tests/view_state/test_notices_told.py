"""Notices: what is told when something ends, stalls or fails; each once, and nothing of what was so before."""

from datetime import timedelta
from typing import Any

import pytest
from budget_records import BLOCKS, budget
from budget_records import changed as budget_changed
from console_records import NOW, group
from job_records import job
from sweep_records import sweep

from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.sweep import SWEEP_LABEL
from nodus_tui.screens.feed import LiveFeed
from nodus_tui.view_state.cells import Tone, plain
from nodus_tui.view_state.notices import BURST, MOST_KEPT, NoticesState


class Told:
    """The states of a feed, told by hand."""

    def __init__(self, **first: Any) -> None:
        self.feed = LiveFeed(backend=None, clock=lambda: NOW, changed=lambda: None, keys_first=None)  # type: ignore[arg-type]
        self.cursor = 10
        self.load(**first)

    @property
    def notices(self) -> NoticesState:
        return self.feed.notices

    def load(self, **known: Any) -> None:
        for state in self.feed._states:
            state.load(Snapshot(cursor=self.cursor, **known))

    def happens(self, kind: str, name: str, *, change: Any = "Changed", at: Any = NOW, of: str = "", **status: Any) -> bool:
        self.cursor += 1
        return self.take(Event(cursor=self.cursor, at=at, change=change, kind=kind, name=name, group=of, status=status))

    def take(self, event: Event) -> bool:
        told = False
        for state in self.feed._states:
            told = state.fold(event) if state is self.notices else (state.fold(event), told)[1]
        return told

    def texts(self) -> list[str]:
        return [plain(notice.line()) for notice in self.notices.rows.items()]


def test_what_was_so_before_is_no_news() -> None:
    told = Told(groups=(group(phase=GroupPhase.COMPLETED), group("stuck", phase=GroupPhase.STALLED)), jobs=(job(phase="Failed"),))
    assert told.texts() == []
    assert not told.notices.waits
    assert told.notices.take_ring() == ""


def test_a_group_tells_its_end_with_its_figures_and_its_stall_with_the_reason() -> None:
    told = Told(groups=(group(),))
    assert not told.happens("AgentGroup", "fleet", going=9)
    assert told.happens("AgentGroup", "fleet", phase="Stalled", message="each of 3 cases needs $0.10; a cap of $6.30 lets them start")
    assert not told.happens("AgentGroup", "fleet", going=0), "it is stalled still"
    assert not told.happens("AgentGroup", "fleet", phase="Running", message="")
    assert told.happens("AgentGroup", "fleet", phase="Completed")
    assert told.texts() == [
        "‖ group fleet has stalled: each of 3 cases needs $0.10; a cap of $6.30 lets them start",
        "● group fleet has completed: 70.0% ± 14.2 (SE 7.2), 40/100 scored, $1.00 spent",
    ]


@pytest.mark.parametrize(
    ("kind", "name", "status", "text"),
    [
        ("AgentGroup", "fleet", {"phase": "Failed", "message": "no tasks"}, "! group fleet has failed: no tasks"),
        ("AgentGroup", "fleet", {"phase": "Cancelled", "message": ""}, "× group fleet was cancelled"),
        (
            "Job",
            "swe-bench",
            {"phase": "Failed", "message": "it left with 3", "costUSD": "0.02"},
            "! job swe-bench has failed: it left with 3, $0.02 spent",
        ),
        ("Job", "swe-bench", {"phase": "Succeeded", "costUSD": "0.02"}, "● job swe-bench has succeeded: $0.02 spent"),
        ("Sweep", "grid", {"phase": "Stalled", "message": "its cap"}, "‖ sweep grid has stalled: its cap"),
    ],
)
def test_ends_of_every_kind_are_told(kind: str, name: str, status: dict[str, Any], text: str) -> None:
    told = Told(groups=(group(),), jobs=(job(),), sweeps=(sweep("grid"),))
    assert told.happens(kind, name, **status)
    assert told.texts() == [text]


def test_cells_of_a_sweep_leave_the_telling_to_it() -> None:
    cell = group("grid-c001")
    cell = cell.model_copy(update={"metadata": cell.metadata.model_copy(update={"labels": {SWEEP_LABEL: "grid"}})})
    told = Told(groups=(cell,), sweeps=(sweep("grid"),))
    assert not told.happens("AgentGroup", "grid-c001", phase="Completed")
    assert told.happens("Sweep", "grid", phase="Completed")
    assert len(told.texts()) == 1


def test_failures_within_a_minute_are_told_once_for_as_long_as_they_go_on() -> None:
    told = Told(groups=(group(),))

    def fails(second: float, of: str = "fleet") -> bool:
        at = NOW + timedelta(seconds=second)
        return told.happens("AgentRun", f"run-{second}", at=at, of=of, verdict="InfrastructureFailure", message="the sandbox is gone")

    assert not any(fails(20 * number) for number in range(2 * BURST)), "slowly is no burst"
    assert [fails(300 + number) for number in range(BURST + 3)] == [False] * (BURST - 1) + [True] + [False] * 3
    assert not any(fails(350 + 10 * number) for number in range(12)), "it goes on"
    assert [fails(900 + number, "other") for number in range(BURST)] == [False] * (BURST - 1) + [True], "a quiet minute ends it"
    assert told.texts() == [
        "! 5 infrastructure failures within a minute in fleet: the sandbox is gone",
        "! 5 infrastructure failures within a minute in other: the sandbox is gone",
    ]


def test_other_verdicts_are_no_failures() -> None:
    told = Told(groups=(group(),))
    assert not any(told.happens("AgentRun", f"run-{number}", of="fleet", verdict="Incorrect") for number in range(3 * BURST))


def test_what_became_so_while_the_link_was_lost_is_told_afterwards() -> None:
    told = Told(groups=(group(), group("other")))
    told.load(groups=(group(phase=GroupPhase.COMPLETED), group("other"), group("third", phase=GroupPhase.FAILED)))
    assert [text.split(":")[0] for text in told.texts()] == ["● group fleet has completed", "! group third has failed"]
    told.load(groups=(group(phase=GroupPhase.COMPLETED), group("other"), group("third", phase=GroupPhase.FAILED)))
    assert len(told.texts()) == 2


def test_another_place_of_a_recording_is_no_news() -> None:
    told = Told(groups=(group(),))
    told.notices.begin_anew()
    told.load(groups=(group(phase=GroupPhase.COMPLETED),))
    assert told.texts() == []


def test_a_threshold_is_told_once_when_an_event_brings_it() -> None:
    told = Told(budgets=(budget(status={"thresholds_told": (50,)}),))
    assert told.take(budget_changed("month", 11, spentUSD="170.00", thresholdsTold=[50, 80]))
    assert not told.take(budget_changed("month", 12, spentUSD="171.00"))
    told.cursor = 13
    told.load(budgets=(told.feed.budgets.rows.item("month"),))
    assert told.texts() == ["! budget month has reached 80%: $170.00 of $200.00 is spent"]
    told.load(budgets=(budget(spent="200.00", status=BLOCKS),))
    assert "has reached 100%" in told.texts()[-1]


def test_thresholds_of_a_new_month_are_told_again() -> None:
    told = Told(budgets=(budget(status={"thresholds_told": (50,)}),))
    assert told.take(budget_changed("month", 11, thresholdsTold=[50], periodStartedAt="2031-01-01T00:00:00Z"))
    assert len(told.texts()) == 1


def test_of_several_the_weightiest_is_told_and_the_others_are_counted() -> None:
    told = Told(groups=(group(), group("other"), group("third")))
    told.happens("AgentGroup", "fleet", phase="Completed")
    told.happens("AgentGroup", "other", phase="Failed", message="no tasks")
    told.happens("AgentGroup", "third", phase="Stalled")
    assert told.notices.take_ring() == "group other has failed: no tasks (and 2 more)"
    assert told.notices.take_ring() == ""
    assert plain(told.notices.words("N")) == "N 3 new"
    assert plain(told.notices.take_told("N")) == "! group other has failed: no tasks  N shows 2 more"
    assert told.notices.take_told("N") == ()
    told.notices.read()
    assert told.notices.words("N") == ()


def test_old_notices_are_forgotten() -> None:
    told = Told(groups=(group(),))
    for _ in range(MOST_KEPT):
        told.happens("AgentGroup", "fleet", phase="Stalled")
        told.happens("AgentGroup", "fleet", phase="Running")
    assert told.notices.rows.total == MOST_KEPT
    told.happens("AgentGroup", "fleet", phase="Completed")
    assert told.notices.rows.total == MOST_KEPT
    assert "has completed" in told.texts()[-1]


def test_what_ended_between_two_visits_is_one_line() -> None:
    since = NOW - timedelta(hours=1)

    def ended(name: str, minutes: int, phase: GroupPhase = GroupPhase.COMPLETED) -> Any:
        return group(name, phase=phase, ended_at=NOW - timedelta(minutes=minutes))

    groups = (ended("a", 10), ended("b", 20), ended("c", 90), ended("d", 5, GroupPhase.FAILED), group("e"))
    told = Told(groups=groups, jobs=(job(phase="Succeeded"),))
    told.notices.was_away(since, NOW)
    assert told.texts() == [
        f"● while you were away, since {since:%H:%M:%S}: 2 groups completed, 1 group failed, 1 job succeeded",
    ]
    assert told.notices.take_ring() == "", "who has just come needs no bell"
    assert told.notices.rows.item("0").tone is Tone.INFO
    nothing = Told(groups=(ended("c", 90),))
    nothing.notices.was_away(since, NOW)
    assert nothing.texts() == []
