"""Dialogs by the keyboard: Tab goes through the buttons, caps of many runs at once, and what is refused before it is asked."""

from decimal import Decimal

import pytest
from console_driver import console, press, screen_lines, screen_text, settled
from console_records import changed, every_kind_of_run, group, run, usd
from scripted_backend import ScriptedBackend
from textual.events import Key

from nodus_tui.contract.actions import ExtendCap, Kill, Resume, Retry
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.key_actions import View
from nodus_tui.widgets.dialogs import AskingScreen
from nodus_tui.widgets.key_bar import Offer, key_line


def fleet(**options) -> ScriptedBackend:
    return ScriptedBackend([group(**options), group("small", pending=3, tasks=20)], every_kind_of_run())


def waiting(count: int, *, needed: str = "0.0823") -> list:
    wait = {"phase": RunPhase.WAITING, "reason": Reason.MAX_COST_REACHED, "needed_cap_usd": usd(needed), "cost_usd": usd("0.0511")}
    return [run(case, **wait) for case in range(count)]


def in_words(app) -> str:
    """What stands on the screen, with dialogs' frames left out and as if no line were broken."""
    return " ".join(screen_text(app).replace("│", " ").split())


async def chosen(app, pilot, *keys: str) -> str:
    """Press keys in a dialog and read which button is marked."""
    await press(app, pilot, *keys)
    text = screen_text(app)
    return "kill" if "[ Kill ]" in text else "cancel" if "[ Cancel ]" in text else "neither"


@pytest.mark.parametrize(
    ("keys", "button"),
    [((), "cancel"), (("tab",), "kill"), (("tab", "tab"), "cancel"), (("shift+tab",), "kill"), (("tab", "shift+tab"), "cancel")],
)
async def test_tab_moves_between_the_buttons(keys: tuple[str, ...], button: str) -> None:
    backend = fleet()
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, *"jjjj", "x")
        assert await chosen(app, pilot, *keys) == button
        await press(app, pilot, "enter")
        assert len(backend.acted) == (button == "kill")


async def test_tab_goes_from_what_is_typed_through_the_buttons_and_back() -> None:
    backend = fleet()
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, "X", "5", "8", "tab", "tab", "tab")
        assert app.screen.query_one("#typed").has_focus
        await press(app, pilot, "shift+tab")
        assert "[ Kill 58 ]" in screen_text(app)
        await press(app, pilot, "enter")
        assert isinstance(backend.acted[0], Kill)


@pytest.mark.parametrize(("typed", "button"), [("58", "[ Kill 58 ]"), ("5", "[ Cancel ]"), ("", "[ Cancel ]")])
async def test_enter_behind_the_right_number_chooses_what_does_it(typed: str, button: str) -> None:
    backend = fleet()
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, "X", *typed, "enter")
        assert button in screen_text(app)
        await press(app, pilot, "enter")
        assert len(backend.acted) == (typed == "58")
        assert ("Nothing was done." in screen_text(app)) == (typed != "58")


@pytest.mark.parametrize(
    ("opened", "left"),
    [("x", "enter"), ("x", "escape"), ("R", "escape"), ("C", "escape")],
)
async def test_who_leaves_a_question_reads_that_nothing_was_done(opened: str, left: str) -> None:
    backend = ScriptedBackend([group(verdicts={"ModelError": 2})], [*waiting(3)])
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, opened)
        assert isinstance(app.screen, AskingScreen)
        await press(app, pilot, left)
        assert "Nothing was done." in screen_text(app)
        assert backend.acted == []


async def test_the_switch_of_a_cap_says_what_holds_and_that_tab_changes_it() -> None:
    async with console(fleet(), start_at="fleet", size=(120, 40)) as (app, pilot):
        await press(app, pilot, *"jjjjjj", "e")
        assert "It goes on from the paid conversation" in screen_text(app)
        assert "Tab lets it begin afresh instead" in screen_text(app)
        await press(app, pilot, "tab")
        assert "It begins afresh" in screen_text(app)
        assert "Tab lets it go on from the conversation instead" in screen_text(app)


async def test_a_conversation_of_which_nothing_is_paid_is_not_called_paid() -> None:
    unpaid = run(0, phase=RunPhase.WAITING, reason=Reason.MAX_COST_REACHED)
    async with console(ScriptedBackend([group()], [unpaid]), start_at="fleet", size=(120, 40)) as (app, pilot):
        await press(app, pilot, "e")
        assert "It goes on from the conversation, of which nothing is paid yet." in screen_text(app)
        assert "counts against the new cap" not in screen_text(app)


async def test_keys_that_come_in_one_piece_are_done_in_order() -> None:
    backend = fleet()
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, *"jjjjjj", "e")
        typed = [*["backspace"] * 8, "0", "full_stop", "7", "8", "backspace", "5", "home", "delete", "1", "enter"]
        for key in typed:
            app.post_message(Key(key, {"full_stop": "."}.get(key, key if len(key) == 1 else None)))
        await settled(app, pilot)
        assert [each.cap_usd for each in backend.acted if isinstance(each, ExtendCap)] == [Decimal("1.75")]


async def test_what_cannot_be_extended_is_told_before_anything_is_asked() -> None:
    backend = fleet()
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, "e")
        assert "has ended (Succeeded)" in screen_text(app)
        assert "New cap" not in screen_text(app)
        backend.emit(changed("AgentGroup", "fleet", 101, phase="Completed"))
        await settled(app, pilot)
        await press(app, pilot, "E")
        assert "no case is left to pay for" in screen_text(app)


async def test_a_superseded_run_names_the_one_to_extend() -> None:
    backend = ScriptedBackend(
        [group()],
        [
            run(6, phase=RunPhase.SUPERSEDED, current=False, message="superseded by fleet-0006-a2", reason=Reason.SUPERSEDED),
            run(6, attempt=2, predecessor="fleet-0006-a1", phase=RunPhase.RUNNING),
        ],
    )
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, "enter", "S", "e")
        assert "extend fleet-0006-a2, which stands for its case now" in " ".join(screen_text(app).split())


async def test_all_that_wait_get_one_new_cap() -> None:
    backend = ScriptedBackend([group(spent="5.80", reserved="0.20")], [*waiting(3), run(50)])
    async with console(backend, start_at="fleet", size=(120, 40)) as (app, pilot):
        assert "C extend all" in screen_lines(app)[-1]
        await press(app, pilot, "C")
        shown = screen_text(app)
        assert "3 runs of fleet with a cap of $0.06, $0.15 spent together." in shown
        assert "leaves $0.00" in shown
        assert "0.12" in shown
        assert "some wait for it" in " ".join(shown.replace("│", " ").split())
        await press(app, pilot, "enter")
        assert [(each.kind, each.name, each.cap_usd) for each in backend.acted if isinstance(each, ExtendCap)] == [
            ("AgentRun", f"fleet-{case:04d}-a1", Decimal("0.12")) for case in range(3)
        ]
        assert len({each.request_id for each in backend.acted}) == 3
        assert "extended 3 of 3 runs to $0.12" in screen_text(app)


async def test_a_new_cap_of_a_run_says_what_the_group_s_leaves_for_it() -> None:
    backend = ScriptedBackend([group(cap="6.00", spent="5.80", reserved="0.18")], [*waiting(1), run(50)])
    async with console(backend, start_at="fleet", size=(100, 40)) as (app, pilot):
        await press(app, pilot, "e")
        assert "The group's cap leaves $0.02 of the $0.069 that it needs: it would wait for it (E raises it)." in in_words(app)
        # What is set aside for it is only what is not spent yet.
        await press(app, pilot, *["backspace"] * 8, *"0", "full_stop", *"065")
        assert "The group's cap leaves $0.02; $0.014 of it is set aside." in in_words(app)


async def test_a_case_that_begins_afresh_needs_all_of_its_cap_and_nothing_for_a_call_that_is_not_known() -> None:
    backend = ScriptedBackend([group(cap="6.00", spent="5.80", reserved="0.10")], [*waiting(1, needed="0.1823"), run(50)])
    async with console(backend, start_at="fleet", size=(100, 40)) as (app, pilot):
        await press(app, pilot, "e", *["backspace"] * 8, *"0", "full_stop", *"12")
        assert "Its next call needs at least $0.1823" in in_words(app)
        assert "The group's cap leaves $0.10; $0.069 of it is set aside." in in_words(app)
        await press(app, pilot, "tab")
        assert "Its next call needs" not in in_words(app)
        assert "The group's cap leaves $0.10 of the $0.12 that it needs: it would wait for it (E raises it)." in in_words(app)
        await press(app, pilot, "enter")
        assert [each.restart for each in backend.acted if isinstance(each, ExtendCap)] == [True]


async def test_one_cap_for_all_names_what_lets_all_of_them_go_on() -> None:
    backend = ScriptedBackend([group()], waiting(3, needed="0.1823"))
    async with console(backend, start_at="fleet", size=(100, 40)) as (app, pilot):
        await press(app, pilot, "C")
        assert "For all of them to go on: a cap of $0.1823, and $0.39 of the group's." in in_words(app)


async def test_ten_at_once_need_their_number_from_the_list_of_campaigns_too() -> None:
    backend = ScriptedBackend([group()], waiting(12))
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "C", "enter")
        assert "Extend 12 runs of fleet?" in screen_text(app)
        await press(app, pilot, "1", "2", "enter", "enter")
        assert len(backend.acted) == 12


async def test_a_refusal_of_some_is_told_with_its_reason() -> None:
    backend = ScriptedBackend([group()], waiting(3))
    backend.refuse = NodusError(ErrorCode.INVALID_ACTION, "it went on meanwhile")
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, "C", "enter")
        assert "extended 0 of 3 runs to $0.12; not done: 3 × it went on meanwhile" in " ".join(screen_text(app).split())


async def test_where_none_waits_nothing_is_asked() -> None:
    async with console(ScriptedBackend([group()], [run(1)]), start_at="fleet") as (app, pilot):
        await press(app, pilot, "C")
        assert "No run of fleet waits at its own cap." in screen_text(app)


@pytest.mark.parametrize("start_at", [None, "fleet"])
async def test_an_interrupted_group_shows_the_key_that_lets_it_go_on(start_at: str | None) -> None:
    backend = ScriptedBackend([group(phase=GroupPhase.INTERRUPTED, message="the scheduler was stopped; everything is kept")], [run(1)])
    async with console(backend, start_at=start_at) as (app, pilot):
        assert "u resume" in screen_lines(app)[-1]
        assert "everything is kept: u lets it go on" in screen_text(app)
        await press(app, pilot, "E" if start_at else "e")
        assert "nothing of it goes on until u resumes it" in " ".join(screen_text(app).replace("│", " ").split())
        assert "at once" not in screen_text(app)
        await press(app, pilot, "escape", "enter", "u")
        assert isinstance(backend.acted[0], Resume)


@pytest.mark.parametrize(("start_at", "keys"), [(None, "r"), ("fleet", "R"), ("fleet", "r")])
async def test_the_key_for_retry_means_the_same_where_something_is_interrupted(start_at: str | None, keys: str) -> None:
    interrupted = run(1, phase=RunPhase.INTERRUPTED, reason=Reason.INTERRUPTED)
    async with console(
        ScriptedBackend([group(phase=GroupPhase.INTERRUPTED, verdicts={"Correct": 1})], [interrupted]), start_at=start_at
    ) as (
        app,
        pilot,
    ):
        await press(app, pilot, keys)
        [asked] = app.backend.acted
        assert isinstance(asked, Resume)


async def test_an_interrupted_run_of_a_group_that_goes_on_shows_the_key_too() -> None:
    lost = run(1, phase=RunPhase.INTERRUPTED, reason=Reason.INTERRUPTED, message="the work in it is lost; resumed, its case begins afresh")
    backend = ScriptedBackend([group()], [lost, run(2)])
    async with console(backend, start_at="fleet") as (app, pilot):
        assert "u resume" in screen_lines(app)[-1]
        await press(app, pilot, "u")
        assert isinstance(backend.acted[0], Resume)


async def test_a_group_killed_before_its_tasks_were_made_is_retried_as_a_whole() -> None:
    backend = ScriptedBackend([group(phase=GroupPhase.CANCELLED, verdicts={}, pending=0, going=0)])
    async with console(backend) as (app, pilot):
        await press(app, pilot, "r")
        assert "Retry 100 unscored of fleet?" in screen_text(app)
        await press(app, pilot, "right", "enter")
        assert isinstance(backend.acted[0], Retry)


@pytest.mark.parametrize("width", range(60, 130, 7))
@pytest.mark.parametrize("now", [frozenset(), frozenset({"extend_waiting"}), frozenset({"resume"})])
def test_the_footer_shows_what_matters_now_whole_and_always_help_and_quit(width: int, now: frozenset[str]) -> None:
    footer = plain(key_line(View.GROUP, width, Offer(now=now)))
    assert len(footer) <= width
    assert footer.endswith("? help  q quit")
    assert footer.startswith({"extend_waiting": " C extend all", "resume": " u resume"}.get(next(iter(now), ""), " Enter open"))


@pytest.mark.parametrize(
    ("opens", "footer"),
    [("x", " Tab choose  Enter take what is chosen  Esc cancel"), ("e", " Enter do it  Esc cancel"), ("question_mark", " Esc close")],
)
async def test_under_a_dialog_the_footer_has_the_dialog_s_keys_and_not_the_view_s(opens: str, footer: str) -> None:
    async with console(fleet(), start_at="fleet", size=(100, 40)) as (app, pilot):
        await press(app, pilot, *"jjjjjj")
        before = screen_lines(app)[-1]
        await press(app, pilot, opens)
        assert screen_lines(app)[-1].split("╰")[0].rstrip() == footer
        await press(app, pilot, "escape")
        assert screen_lines(app)[-1] == before
