"""Journeys through the console with the keyboard, on recorded values."""

from decimal import Decimal
from pathlib import Path

import pytest
from console_driver import console, press, screen_lines, screen_text, settled
from console_records import NOW, changed, conversation, created, every_kind_of_run, group, run, usd
from scripted_backend import UNREACHABLE, ScriptedBackend

from nodus_tui.contract.actions import ExtendCap, Kill, Resume, Retry
from nodus_tui.contract.errors import ErrorCode, Fault, NodusError
from nodus_tui.contract.estimates import Estimate
from nodus_tui.contract.events import Event
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase
from nodus_tui.contract.resources.agent_run import Transcript
from nodus_tui.view_state.key_actions import View, actions_of
from nodus_tui.widgets.span_block import SpanBlock

SPEC = Path(__file__).parents[2] / "examples" / "hello-simulated.yaml"


def fleet(**options) -> ScriptedBackend:
    return ScriptedBackend([group(), group("small", pending=3, tasks=20)], every_kind_of_run(), **options)


async def test_from_campaigns_into_a_run_and_back() -> None:
    async with console(fleet()) as (app, pilot):
        assert "fleet" in screen_text(app)
        assert "70.0% ±14.2 40/100" in screen_text(app)
        await press(app, pilot, "end", "k", "home", "j", "k", "enter")
        assert "campaigns › small" in screen_lines(app)[0]
        await press(app, pilot, "escape", "j", "enter")
        assert "campaigns › fleet" in screen_lines(app)[0]
        assert "✓ Correct" in screen_text(app)
        await press(app, pilot, "j", "enter")
        assert "fleet-0001-a1" in screen_lines(app)[0]
        assert "17 + 25 = 42" in screen_text(app)
        await press(app, pilot, "escape", "escape")
        assert "NAME" in screen_lines(app)[1]


async def test_live_changes_are_painted_and_cost_what_changed() -> None:
    backend = fleet()
    async with console(backend, start_at="fleet") as (app, pilot):
        assert app.feed.groups["fleet"].loaded
        backend.emit(changed("AgentRun", "fleet-0008-a1", 101, of="fleet", phase="Running", reason=None, message=""))
        await settled(app, pilot)
        line = next(line for line in screen_lines(app) if "sum-008" in line)
        assert "► Running" in line


async def test_kill_asks_and_enter_at_once_means_cancel() -> None:
    backend = fleet()
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, "j", "j", "j", "j", "x")
        assert "Kill run fleet-0004-a1?" in screen_text(app)
        assert "$0.0107" in screen_text(app) or "$0.011 is spent" in screen_text(app)
        await press(app, pilot, "enter")
        assert backend.acted == []
        await press(app, pilot, "x", "right", "enter")
        [action] = backend.acted
        assert isinstance(action, Kill)
        assert (action.kind, action.name) == ("AgentRun", "fleet-0004-a1")
        assert action.request_id
        assert "kill of fleet-0004-a1 is done" in screen_text(app)


async def test_killing_many_needs_their_number() -> None:
    backend = fleet()
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, "X")
        assert "Type 58 to do it" in screen_text(app)
        await press(app, pilot, "enter", "right", "enter")
        assert backend.acted == []
        assert "Type 58 above first" in screen_text(app)
        await press(app, pilot, "5", "8", "enter", "right", "enter")
        [action] = backend.acted
        assert isinstance(action, Kill)
        assert (action.kind, action.name) == ("AgentGroup", "fleet")


async def test_what_has_ended_cannot_be_killed() -> None:
    backend = fleet()
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, "x")
        assert "there is nothing to kill" in screen_text(app)
        assert backend.acted == []


async def test_extend_proposes_a_cap_and_checks_it_as_it_is_typed() -> None:
    backend = fleet()
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, *"jjjjjj", "e")
        assert "New cap of run fleet-0006-a1" in screen_text(app)
        assert "0.12" in screen_text(app)
        await press(app, pilot, "0", ".", "0", "1", "enter")
        assert "must be above $0.06" in screen_text(app)
        assert backend.acted == []
        await press(app, pilot, "backspace", "backspace", "2", "5", "tab")
        assert "begins afresh" in screen_text(app)
        await press(app, pilot, "enter")
        [action] = backend.acted
        assert isinstance(action, ExtendCap)
        assert (action.kind, action.name, action.cap_usd, action.restart) == ("AgentRun", "fleet-0006-a1", Decimal("0.25"), True)


async def test_a_typed_cap_that_frees_nothing_is_warned_of_before_it_is_asked_for() -> None:
    waiting = run(1, phase=RunPhase.WAITING, reason=Reason.MAX_COST_REACHED, needed_cap_usd=Decimal("0.074412"))
    backend = ScriptedBackend([group()], [waiting])
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, "e")
        assert "needs at least" not in screen_text(app)
        await press(app, pilot, *"0.074")
        assert "Its next call needs at least $0.0745" in screen_text(app)
        await press(app, pilot, "5")
        assert "needs at least" not in screen_text(app)


async def test_the_groups_cap_is_raised_in_place() -> None:
    backend = fleet()
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, "E", "enter")
        [action] = backend.acted
        assert isinstance(action, ExtendCap)
        assert (action.kind, action.name, action.cap_usd) == ("AgentGroup", "fleet", Decimal(12))


async def test_retry_and_resume() -> None:
    backend = ScriptedBackend([group(phase=GroupPhase.INTERRUPTED)], every_kind_of_run())
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, "r")
        assert "a verdict stands" in screen_text(app)
        await press(app, pilot, "j", "j", "j", "r", "R", "right", "enter", "u")
        one, every, resume = backend.acted
        assert isinstance(one, Retry)
        assert one.runs == ("fleet-0003-a1",)
        assert isinstance(every, Retry)
        assert every.runs == ()
        assert isinstance(resume, Resume)


async def test_a_refusal_is_a_sentence_not_a_crash() -> None:
    backend = fleet()
    async with console(backend, start_at="fleet") as (app, pilot):
        backend.refuse = NodusError(ErrorCode.INVALID_ACTION, "the group has ended; only a running one can be raised")
        await press(app, pilot, "E", "enter")
        assert "! the group has ended; only a running one can be raised" in screen_text(app)


async def test_the_filter_narrows_keeps_and_goes() -> None:
    async with console(fleet(), start_at="fleet", size=(120, 40)) as (app, pilot):
        await press(app, pilot, "slash", *"verdict:")
        assert "verdict:incorrect" in screen_text(app)
        await press(app, pilot, *"infra", "enter")
        shown = [line for line in screen_lines(app) if "sum-" in line]
        assert len(shown) == 1
        assert "1 of 1 (11 hidden)" in screen_text(app)
        await press(app, pilot, "slash", "escape")
        assert len([line for line in screen_lines(app) if "sum-" in line]) == 12


async def test_typing_a_q_into_the_filter_does_not_quit() -> None:
    async with console(fleet()) as (app, pilot):
        await press(app, pilot, "slash", "q", "x", "l")
        assert app.is_running
        assert "No campaign passes the filter" in screen_text(app)


async def test_an_empty_workspace_says_what_to_do() -> None:
    async with console(ScriptedBackend()) as (app, pilot):
        assert "No campaigns yet." in screen_text(app)
        assert "estimates a spec file and launches it" in screen_text(app)
        assert "F  shows spec files and examples, and writes new ones" in screen_text(app)
        await press(app, pilot, "enter", "x", "e", "r", "u", "y", "s", "S")
        assert app.is_running


async def test_a_lost_backend_is_told_and_comes_back() -> None:
    backend = fleet()
    async with console(backend) as (app, pilot):
        backend.break_off(UNREACHABLE)
        await settled(app, pilot)
        assert "No connection since 14:03:10" in screen_text(app)
        assert "does not answer" in screen_text(app)
        assert "Trying again at 14:03:11" in screen_text(app)
        backend.lost = None
        await app.feed._load()
        await settled(app, pilot)
        assert "No connection" not in screen_text(app)


async def test_a_group_that_goes_away_says_so() -> None:
    backend = fleet()
    async with console(backend, start_at="fleet") as (app, pilot):
        for index in range(12):
            backend.emit(Event(cursor=101 + index, at=NOW, change="Deleted", kind="AgentRun", name=f"fleet-{index:04d}-a1", group="fleet"))
        backend.emit(Event(cursor=120, at=NOW, change="Deleted", kind="AgentGroup", name="fleet"))
        await settled(app, pilot)
        assert "There is no group fleet any more" in screen_text(app)


async def test_predecessor_and_successor_are_one_key_away() -> None:
    backend = fleet()
    async with console(backend, start_at="fleet") as (app, pilot):
        backend.emit(
            changed("AgentRun", "fleet-0006-a1", 101, of="fleet", phase="Superseded", current=False),
            created(run(6, attempt=2, predecessor="fleet-0006-a1", cap="0.12", phase=RunPhase.RUNNING, cost_usd=usd("0.0511")), 102),
        )
        await settled(app, pilot)
        await press(app, pilot, *"jjjjjj", "enter")
        assert "fleet-0006-a2" in screen_lines(app)[0]
        await press(app, pilot, "S")
        assert "fleet-0006-a1" in screen_lines(app)[0]
        assert "its case goes on in fleet-0006-a2" in screen_text(app)
        assert "s successor" in screen_lines(app)[-1]
        await press(app, pilot, "s")
        assert "fleet-0006-a2" in screen_lines(app)[0]


async def test_a_conversation_follows_what_happens() -> None:
    backend = fleet()
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, *"jjjj", "enter")
        backend.transcripts["fleet-0004-a1"] = conversation(
            "fleet-0004-a1", "s", "first question", "first reply", "second question", "second reply"
        )
        backend.emit(changed("AgentRun", "fleet-0004-a1", 101, of="fleet", turns=2, calls=2))
        await settled(app, pilot)
        await settled(app, pilot)
        assert "second reply" in screen_text(app)


async def test_help_lists_every_key_of_the_view() -> None:
    async with console(fleet(), size=(100, 100)) as (app, pilot):
        await press(app, pilot, "question_mark")
        text = screen_text(app)
        assert "Kill what is selected, after a question." in text
        assert "● Completed" in text
        await press(app, pilot, "escape")
        assert "NAME" in screen_lines(app)[1]


async def test_the_palette_finds_and_does() -> None:
    async with console(fleet()) as (app, pilot):
        await press(app, pilot, "ctrl+p", *"kill", "enter")
        assert "Kill group small?" in screen_text(app)


def estimate(name: str = "hello") -> Estimate:
    return Estimate(
        group=name,
        agent="adder",
        cases=100,
        model_ceiling_usd=usd("10.00"),
        per_run_cap_usd=usd("0.10"),
        cap_usd=usd("10.00"),
        minutes_per_case=Decimal(10),
        sandbox_minutes=Decimal(1000),
        sandbox_usd={"CPU": usd("0.13"), "L4": usd("7.17"), "H100": usd("43.33")},
        wall_clock_minutes=Decimal(40),
        wall_clock_by_max_active={"1": Decimal(1000), "10": Decimal(100), "25": Decimal(40)},
        timeout_minutes=Decimal(30),
        fits_timeout=False,
        room_for_all=False,
        cases_sure_to_start=97,
        half_width95=0.098,
        simulated=True,
        notes=("the timeout is shorter than the estimate",),
    )


async def workers_done(app, pilot) -> None:
    """What the screen on top started beside itself has ended."""
    await pilot.pause()
    own = [worker for worker in app.workers if worker.node is app.screen]
    if own:
        await app.workers.wait_for_complete(own)
    await settled(app, pilot)


async def launch(app, pilot, path: Path) -> None:
    await press(app, pilot, "l")
    await workers_done(app, pilot)
    app.screen.query_one("#path").value = str(path)
    await press(app, pilot, "enter")
    await workers_done(app, pilot)


async def test_launching_shows_the_estimate_before_anything_starts() -> None:
    backend = fleet()
    backend.estimates = (estimate(),)
    async with console(backend, size=(100, 40)) as (app, pilot):
        await launch(app, pilot, SPEC)
        text = screen_text(app)
        for part in (
            "$10.00",
            "sure to start: 97 of 100",
            "1 → 1,000   10 → 100   25 → 40   minutes",
            "±9.8 points",
            "at 10 min a case, assumed; m changes that",
            "~ shorter than that, if the assumption holds",
            "H100 $43.33",
        ):
            assert part in text
        assert backend.applied == []
        await press(app, pilot, "L")
        [bundle] = backend.applied
        names = [each.resource.name for each in bundle if each.resource.kind == "AgentGroup"]
        assert f"campaigns › {names[0]}" in screen_lines(app)[0]


async def test_a_broken_spec_shows_every_fault_with_its_line(tmp_path: Path) -> None:
    spec = tmp_path / "broken.yaml"
    spec.write_text("apiVersion: nodus.dev/v1\nkind: AgentGruop\nmetadata: {name: x}\nspec: {}\n", encoding="utf-8")
    backend = fleet()
    async with console(backend, size=(100, 40)) as (app, pilot):
        await launch(app, pilot, spec)
        assert "broken.yaml:2:" in screen_text(app)
        assert "AgentGroup" in screen_text(app)
        assert "launch  r" not in screen_lines(app)[-1]
        assert "r read again" in screen_lines(app)[-1]
        await press(app, pilot, "enter")
        assert backend.applied == []
        assert "nothing to launch yet" in screen_text(app)


async def test_a_group_that_exists_is_opened_and_not_launched() -> None:
    backend = ScriptedBackend([group("hello-simulated")], [])
    backend.estimates = (estimate("hello-simulated"),)
    backend.unchanged = {"hello-simulated", "solver-simulated"}
    async with console(backend, size=(100, 40)) as (app, pilot):
        await launch(app, pilot, SPEC)
        assert "hello-simulated exists with this spec" in screen_text(app)
        assert "hello-simulated exists: Enter opens it" in screen_text(app)
        assert "Enter open it" in screen_lines(app)[-1]
        await press(app, pilot, "enter")
        assert backend.applied == []
        assert "campaigns › hello-simulated" in screen_lines(app)[0]
        assert "nothing was launched" in screen_text(app)


async def test_a_launched_job_is_opened_as_a_group_is(tmp_path: Path) -> None:
    spec = tmp_path / "job.yaml"
    spec.write_text(
        "apiVersion: nodus.dev/v1\nkind: Job\nmetadata: {name: hello-job}\nspec: {command: [echo, hello], maxCostUSD: '0.01'}\n",
        encoding="utf-8",
    )
    backend = fleet()
    async with console(backend, size=(100, 40)) as (app, pilot):
        await launch(app, pilot, spec)
        assert "Enter launch" in screen_lines(app)[-1]
        await press(app, pilot, "enter")
        assert "jobs › hello-job" in screen_lines(app)[0]
        assert "Job hello-job created" in screen_text(app)
        # Its event comes a moment after it: it is not gone.
        assert "There is no job" not in screen_text(app)
        await press(app, pilot, "t", "escape")
        assert "Job hello-job created" not in screen_text(app), "another key makes it past"


async def test_what_was_told_is_past_with_the_next_key_that_does_something_else_and_when_the_view_is_left() -> None:
    async with console(fleet(), start_at="fleet", size=(100, 40)) as (app, pilot):
        await press(app, pilot, "y")
        assert "Copied" in screen_text(app)
        await press(app, pilot, "j")
        assert "Copied" in screen_text(app), "moving about is no other thing"
        await press(app, pilot, "s")
        assert "Copied" not in screen_text(app)
        await press(app, pilot, "y", "enter", "escape")
        assert "Copied" not in screen_text(app)


async def test_results_of_another_agent_are_not_offered_as_those_of_the_file() -> None:
    backend = ScriptedBackend([group("hello-simulated")], [])
    backend.estimates = (estimate("hello-simulated"),)
    backend.unchanged = {"hello-simulated"}
    async with console(backend, size=(100, 40)) as (app, pilot):
        await launch(app, pilot, SPEC)
        assert "hello-simulated was launched with another revision of its agent" in screen_text(app)


async def test_a_refused_launch_shows_the_backends_faults() -> None:
    backend = fleet()
    backend.estimates = (estimate(),)
    async with console(backend, size=(100, 40)) as (app, pilot):
        await launch(app, pilot, SPEC)
        backend.refuse = NodusError.invalid_spec(
            (Fault(message="there is no environment nodus/none@1", file="hello.yaml", line=7, path="spec.evaluation.environment"),)
        )
        await press(app, pilot, "enter")
        assert "hello.yaml:7" in screen_text(app)
        assert "there is no environment nodus/none@1" in screen_text(app)


async def test_spec_files_of_every_kind_are_offered_and_what_none_is_called_is_taken_as_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("AgentGroup", "Job", "TrainingJob", "Sandbox", "Sweep", "Budget"):
        (tmp_path / f"{kind.lower()}.yaml").write_text(f"apiVersion: nodus.dev/v1\nkind: {kind}\n", encoding="utf-8")
    (tmp_path / "config.yaml").write_text("models: []\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    async with console(fleet()) as (app, pilot):
        await press(app, pilot, "l")
        await workers_done(app, pilot)
        shown = screen_text(app)
        assert "nothing starts before you see its estimate" in shown
        assert all(f"{kind}.yaml" in shown for kind in ("agentgroup", "job", "trainingjob", "sandbox", "sweep", "budget"))
        assert "config.yaml" not in shown
        await press(app, pilot, *"nowhere")
        assert "No spec file here has that in its name." in screen_text(app)
        assert "Enter takes what is typed as a path." in screen_text(app)


async def test_an_empty_folder_offers_no_spec_and_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with console(fleet()) as (app, pilot):
        await press(app, pilot, "l")
        await workers_done(app, pilot)
        assert "No spec file here." in screen_text(app)
        assert "Type the path of one." in screen_text(app)


async def test_a_path_that_names_nothing_is_told(tmp_path: Path) -> None:
    async with console(fleet(), size=(100, 40)) as (app, pilot):
        await press(app, pilot, "l")
        await workers_done(app, pilot)
        app.screen.query_one("#path").value = str(tmp_path / "nowhere.yaml")
        await press(app, pilot, "enter")
        assert "There is no file" in screen_text(app)


async def test_copying_a_row_also_writes_a_file(tmp_path: Path) -> None:
    async with console(fleet(), start_at="fleet", state_folder=tmp_path) as (app, pilot):
        await press(app, pilot, "y")
        copied = (tmp_path / "copied.txt").read_text(encoding="utf-8")
        assert "sum-000" in copied
        assert app.clipboard.strip() == copied.strip()


async def test_leaving_is_quick_when_nothing_of_this_process_stops() -> None:
    async with console(fleet()) as (app, pilot):
        await pilot.press("q")
        await pilot.pause()
        assert app.return_value == 0


async def test_leaving_asks_when_work_would_stop_and_stops_it_in_order() -> None:
    backend = fleet(scheduling=True)
    async with console(backend) as (app, pilot):
        await press(app, pilot, "ctrl+c")
        assert "Stop the work and quit?" in screen_text(app)
        assert "fleet  10 runs going" in screen_text(app)
        await press(app, pilot, "enter")
        assert backend.stopped_with == []
        assert app.return_value is None
        await press(app, pilot, "q", "right")
        await pilot.press("enter")
        await pilot.pause()
        assert backend.stopped_with == [10.0]
        assert app.return_value == 0


async def test_a_console_that_takes_over_says_so_and_asks_before_it_leaves() -> None:
    backend = fleet()
    backend.elsewhere = True
    async with console(backend) as (app, pilot):
        assert "another process does this workspace's work" in screen_text(app)
        backend.elsewhere, backend.scheduling = False, True
        await app.work.look()
        await settled(app, pilot)
        assert "This window does the work now" in screen_text(app)
        app.screen._end_notice(app.screen._notices_told)
        await settled(app, pilot)
        assert "this window does the work" in screen_text(app)
        await press(app, pilot, "q")
        assert "Stop the work and quit?" in screen_text(app)


async def test_q_asks_anew_who_does_the_work() -> None:
    backend = fleet()
    async with console(backend) as (app, pilot):
        backend.scheduling = True
        await press(app, pilot, "q")
        assert "Stop the work and quit?" in screen_text(app)


async def test_looking_who_works_paints_nothing_while_nothing_changed() -> None:
    async with console(fleet()) as (app, _pilot):
        blocks = list(app.screen.query(SpanBlock))
        before = [block.lines_refreshed for block in blocks]
        await app.work.look()
        assert [block.lines_refreshed for block in blocks] == before


async def test_the_demonstrations_quit_dialog_promises_nothing() -> None:
    async with console(fleet(scheduling=True), starts_anew=True) as (app, pilot):
        await press(app, pilot, "q")
        assert "The demonstration starts anew each time" in screen_text(app)


async def test_a_run_that_has_not_spoken_says_what_it_waits_for_and_needs() -> None:
    backend = fleet()
    silent = Transcript(run="", turns=(), calls=())
    backend.transcripts = dict.fromkeys(backend.runs, silent)
    async with console(backend, start_at="fleet", size=(120, 40)) as (app, pilot):
        await press(app, pilot, *"jjjjjjjjj", "enter")
        shown = screen_text(app)
        assert "Nothing has been said yet." in shown
        assert " waits  the group's cap · waits for $0.04 of the group's cap" in shown
        assert "It starts by itself once it has a slot, and its whole cap fits under what the group has left." in shown
        backend.emit(changed("AgentRun", "fleet-0009-a1", 101, of="fleet", phase="Waiting", neededCapUSD="0.0823"))
        await settled(app, pilot)
        shown = screen_text(app)
        assert " waits  its own cap · its next call needs at least $0.0823 (e extends it)" in shown
        assert (shown.count("$0.0823"), shown.count("$0.06")) == (1, 1), "the cap and what frees it are told once"


async def test_tab_in_a_run_says_where_it_leads() -> None:
    async with console(fleet(), start_at="fleet") as (app, pilot):
        await press(app, pilot, "enter")
        assert "Tab to calls" in screen_lines(app)[-1]
        await press(app, pilot, "tab")
        assert "Tab to conversation" in screen_lines(app)[-1]


async def test_sorting_by_key_and_by_click() -> None:
    async with console(fleet(), start_at="fleet", size=(120, 40)) as (app, pilot):
        await press(app, pilot, "S")
        first = next(line for line in screen_lines(app) if "sum-" in line)
        assert "sum-011" in first
        await press(app, pilot, "s")
        assert "TASK▲" in screen_text(app)
        titles = next(line for line in screen_lines(app) if "VERDICT" in line)
        await pilot.click("#rows", offset=(titles.index("VERDICT") + 1, 0))
        await settled(app, pilot)
        assert "VERDICT▲" in screen_text(app)


@pytest.mark.parametrize("theme", ["nodus-dark", "nodus-light", "nodus-ansi"])
async def test_every_theme_paints_every_view(theme: str) -> None:
    async with console(fleet(), start_at="fleet") as (app, pilot):
        app.show_theme(theme)
        await press(app, pilot, "question_mark", "escape", "X", "escape", "E", "escape", "slash", "escape", "enter")
        assert "system" in screen_text(app)


async def test_small_terminals_get_a_sentence_and_large_ones_the_console() -> None:
    async with console(fleet(), size=(50, 12)) as (app, pilot):
        assert "at least 60×15" in " ".join(screen_text(app).split())
        await pilot.resize_terminal(80, 24)
        await settled(app, pilot)
        assert "NAME" in screen_lines(app)[1]


async def test_a_storm_of_resizes_ends_in_the_same_screen() -> None:
    async with console(fleet(), start_at="fleet") as (app, pilot):
        before = screen_text(app)
        for width, height in ((120, 40), (61, 16), (200, 60), (40, 10), (79, 23), (132, 43)):
            await pilot.resize_terminal(width, height)
        await pilot.resize_terminal(80, 24)
        await settled(app, pilot)
        assert screen_text(app) == before


async def test_a_viewers_console_shows_no_action_that_it_cannot_take() -> None:
    backend = fleet(role="viewer")
    changing = {action.word for action in actions_of(View.GROUP) if action.changes}
    async with console(backend, start_at="fleet", size=(160, 45)) as (app, pilot):
        footer = screen_lines(app)[-1]
        assert "filter" in footer
        assert not any(f" {word} " in f"{footer} " for word in changing)
        await press(app, pilot, "j", "x")
        assert "Kill" not in screen_text(app)
        assert "You look on as a viewer" in screen_text(app)
        for key in ("X", "e", "E", "r", "R", "u", "C"):
            await press(app, pilot, key)
        await press(app, pilot, "question_mark")
        shown = screen_text(app)
        assert "Kill the selected" not in shown
        assert "Show all keys" in shown or "filter" in shown.lower()
    assert backend.acted == []
