from datetime import timedelta
from decimal import Decimal

import pytest
from box_records import box, changed, fact, some_boxes, some_facts
from console_records import NOW

from nodus_tui.cli.sandbox_texts import SANDBOX_TITLES, sandbox_row
from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.sandbox_exec import ExecEnd
from nodus_tui.view_state.boxes import (
    BOX_COLUMNS,
    BoxesState,
    box_details,
    box_facts,
    box_status,
    cost_now,
    idle_end,
    kill_box_question,
    shell_end_words,
    shell_problem,
)
from nodus_tui.view_state.cells import Tone, plain
from nodus_tui.view_state.filtering import parse_filter
from nodus_tui.view_state.proposals import quit_question
from nodus_tui.view_state.running_sandboxes import RunningSandboxes, fact_lines


def loaded(*boxes: Sandbox) -> BoxesState:
    state = BoxesState()
    state.load(Snapshot(cursor=10, sandboxes=boxes))
    return state


def cell(found: Sandbox, key: str) -> str:
    return plain(next(column for column in BOX_COLUMNS if column.key == key).cell(found, NOW))


def test_the_cost_of_a_running_one_grows_at_its_rate_up_to_its_cap_and_that_of_a_stopped_one_stands() -> None:
    assert abs(cost_now(box(), NOW) - Decimal("0.125") / 6) < Decimal("0.000000001")
    assert cost_now(box(), NOW + timedelta(days=30)) == Decimal("0.10")
    assert cost_now(box(phase="Stopped"), NOW + timedelta(days=1)) == Decimal("0.0125")
    assert cost_now(box(phase="Pending"), NOW) == 0


def test_the_countdown_is_that_of_idleness_and_a_command_stops_it() -> None:
    assert (cell(box(), "idle"), cell(box(), "latest")) == ("6m left", "37m")
    assert cell(box(idle_since=NOW - timedelta(minutes=9, seconds=20)), "idle") == "40s left"
    assert cell(box(idle_since=NOW - timedelta(minutes=11)), "idle") == "0s left", "the backend's stop is on its way"
    assert cell(box(idle_since=None, commands=1), "idle") == "busy"
    assert cell(box(idle_since=None, commands=3), "idle") == "busy 3"
    for phase in ("Pending", "Stopped", "Failed"):
        assert cell(box(phase=phase), "idle") == cell(box(phase=phase), "latest") == "–"


def test_events_change_them_bring_new_ones_and_take_deleted_ones_away() -> None:
    state = loaded(box())
    assert (state.going(), state.moving()) == (("scratch",), True)
    assert not state.fold(changed("scratch", 10, phase="Stopped"))
    assert not state.fold(changed("scratch", 11, phase="Stopped").model_copy(update={"kind": "Job"}))
    assert state.fold(changed("scratch", 11, phase="Stopped", reason="IdleTimeout", idleSince=None))
    found = box_status(state.rows.item("scratch"))
    assert (found.phase, found.reason, found.idle_since, found.engine) == ("Stopped", "IdleTimeout", None, "bubblewrap")
    assert (state.going(), state.moving()) == ((), False)
    new = box("other").to_document()
    event = Event(cursor=12, at=NOW, change="Created", kind="Sandbox", name="other", metadata={"name": "other"}, spec=new["spec"])  # type: ignore[arg-type]
    assert state.fold(event.model_copy(update={"status": new["status"]}))
    assert plain(state.summary()) == "1 running · 1 stopped"
    deleted = Event(cursor=13, at=NOW, change="Deleted", kind="Sandbox", name="other")
    assert state.fold(deleted)
    assert not state.fold(deleted.model_copy(update={"cursor": 14}))
    assert not state.fold(changed("nobody-told-of-it", 15, phase="Running"))
    assert [each.name for each in state.rows.items()] == ["scratch"]


def test_the_filter_looks_at_names_phases_reasons_images_and_costs() -> None:
    state = loaded(*some_boxes().values())
    for words, names in (
        ("state:maxcost", {"yesterday"}),
        ("python:3", {"going-soon"}),
        ("state:running build", {"build"}),
        ("cost>0.01", {"yesterday", "broken"}),
    ):
        state.filter(parse_filter(words))
        assert {state.rows.key_at(place) for place in range(len(state.rows))} == names, words


def test_the_facts_say_why_what_it_costs_and_what_ends_it() -> None:
    def words(found: Sandbox) -> str:
        return "\n".join(plain(each) for each in box_facts(found, NOW, 160))

    running = words(box())
    assert "$0.021 of $0.10, $0.13 an hour" in running
    assert "idle: stopped in 6m" in running
    assert "2 commands in it" in words(box(idle_since=None, commands=2))
    assert "4 of 4 sandboxes run" in words(some_boxes()["queue"])
    stopped = words(some_boxes()["yesterday"])
    assert "MaxCostReached: it was stopped before it cost more" in stopped
    assert "ran for 6m00s" in stopped
    assert "its files are kept" in stopped
    failed = words(some_boxes()["broken"])
    assert "its files are not kept" in failed
    assert "~ weaker than it could be" in failed
    devices = box(hardware="H100", device_names=("0 NVIDIA H100", "1 NVIDIA H100"), spec={"hardware": "H100", "accelerators": 2})
    assert "GPU 0, 1 (H100)" in words(devices)


def test_the_details_name_the_limits_and_the_ways_in_while_there_are_some() -> None:
    def words(found: Sandbox) -> str:
        return "\n".join(plain(each) for each in box_details(found, NOW, 160))

    running = words(box(spec={"env_from": ("API_KEY",)}))
    for each in ("idle 10m, lifetime 24h, cost $0.10", "GREETING, API_KEY (the scheduler's)", "nodus-tui exec scratch -- COMMAND"):
        assert each in running
    assert "nodus/base@4c4c4c4…" in running
    assert "hello" not in running, "values of variables are nobody's business"
    stopped = words(box(phase="Stopped"))
    assert "nodus-tui cp sandbox/scratch:PATH TARGET" in stopped
    assert "nodus-tui exec" not in stopped
    assert "nodus-tui cp" not in words(some_boxes()["broken"])


def test_questions_and_sentences_say_what_happens() -> None:
    asked = "\n".join(plain(each) for each in kill_box_question(box(idle_since=None, commands=1), NOW).lines)
    assert "1 command in it is hung up." in asked
    assert "the files of its work folder are kept" in asked
    assert "hung up" not in "\n".join(plain(each) for each in kill_box_question(box(), NOW).lines)
    leaving = "\n".join(plain(each) for each in quit_question((), (), ("scratch",)).lines)
    assert "sandboxes: scratch, which end; their files are kept" in leaving
    assert "press" not in leaving, "nothing of it goes on later"
    assert shell_problem(box()) == ""
    assert shell_problem(some_boxes()["queue"]) == "queue does not run yet: 4 of 4 sandboxes run on this machine."
    assert shell_problem(some_boxes()["yesterday"]) == "yesterday does not run any more (MaxCostReached)."


@pytest.mark.parametrize(
    ("end", "words", "tone"),
    [
        (ExecEnd(offset=9, exit_code=0), "The shell in scratch has ended.", Tone.MUTED),
        (ExecEnd(offset=9, exit_code=7), "The shell in scratch has ended with exit code 7.", Tone.MUTED),
        (
            ExecEnd(offset=9, exit_code=129, reason="IdleTimeout", message="it was idle"),
            "The shell in scratch ended with its sandbox: it was idle",
            Tone.WARN,
        ),
        (None, "The shell in scratch has ended.", Tone.MUTED),
    ],
)
def test_a_shells_end_is_told(end: ExecEnd | None, words: str, tone: Tone) -> None:
    assert shell_end_words("scratch", end) == (words, tone)


def test_those_of_runs_come_and_go_and_the_kinds_own_are_not_among_them() -> None:
    state = RunningSandboxes()
    assert "Asking" in plain(state.empty_lines()[0])
    state.take(some_facts())
    assert {each.run for each in state.rows.items()} == {"repairs-c001", "repairs-c002", "theirs-c003", "gone-c009"}
    state.take([fact(), fact("box", purpose="sandbox", mine=False)])
    assert {each.run for each in state.rows.items()} == {"repairs-c001", "box"}
    state.fail("the scheduler does not answer")
    assert len(state.rows) == 2
    assert "does not answer" in plain(state.empty_lines()[0])
    state.take(())
    assert "No sandbox of a run" in plain(state.empty_lines()[0])


def test_one_of_a_dead_owner_says_who_removes_it() -> None:
    text = "\n".join(plain(each) for each in fact_lines(fact(owner_alive=False, mine=False), NOW))
    assert "has ended: `nodus-tui sandboxes reap` removes it" in text
    assert "of /home/me/.nodus" in text
    assert "reap" not in "\n".join(plain(each) for each in fact_lines(fact(), NOW))


def test_the_command_line_names_the_same_two_ends_as_the_console() -> None:
    made = box()
    cells = dict(zip(SANDBOX_TITLES, sandbox_row(made), strict=True))
    assert (cells["IDLE STOP"], cells["AT THE LATEST"]) == (
        f"{idle_end(made):%Y-%m-%d %H:%M:%S}Z",
        f"{NOW + timedelta(minutes=37):%Y-%m-%d %H:%M:%S}Z",
    )
    assert (cell(made, "idle"), cell(made, "latest")) == ("6m left", "37m")
    assert dict(zip(SANDBOX_TITLES, sandbox_row(box(idle_since=None)), strict=True))["IDLE STOP"] == "busy"
