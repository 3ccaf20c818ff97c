"""The run view: the conversation as people read it, folding, finding, copying, and the ways to other runs."""

from pathlib import Path

import pytest
from console_driver import console, press, screen_lines, screen_text, settled
from console_records import changed, conversation, group, run, scored, tool_conversation, tool_run
from scripted_backend import ScriptedBackend

from nodus_tui.contract.phases import RunPhase, Verdict
from nodus_tui.contract.resources.agent_run import AgentRun, Transcript
from nodus_tui.screens.run import RunScreen
from nodus_tui.widgets.lazy_pane import LazyPane

REPLY = "## Head\n\nwords **strong**\n\n```python\nx = 1\n```\n\n```\nplain\n```\n"


def world(transcript: Transcript | None = None, first: AgentRun | None = None) -> ScriptedBackend:
    runs = [first or tool_run(0), scored(1, Verdict.CORRECT), scored(2, Verdict.INCORRECT)]
    backend = ScriptedBackend([group()], runs)
    backend.transcripts[runs[0].name] = transcript or tool_conversation(runs[0].name)
    return backend


def pane_of(app) -> LazyPane:
    return app.screen.query_one("#talk", LazyPane)


async def test_markdown_is_rendered_and_shown_as_it_was_written() -> None:
    async with console(world(conversation("x", "s", "u", REPLY)), size=(100, 40)) as (app, pilot):
        await press(app, pilot, "enter", "enter")
        shown = screen_text(app)
        assert "┌ python" in shown
        assert "**strong**" not in shown
        await press(app, pilot, "m")
        assert "```python" in screen_text(app)
        assert "**strong**" in screen_text(app)
        await press(app, pilot, "m")
        assert "**strong**" not in screen_text(app)


async def test_a_conversation_that_goes_on_is_asked_for_from_where_it_is_known() -> None:
    told = conversation("x", "s", "u", "first reply", "and now?", "second reply")
    first = run(phase=RunPhase.RUNNING, turns=1, calls=1)
    backend = world(told.model_copy(update={"turns": told.turns[:3]}), first)
    async with console(backend, size=(100, 40)) as (app, pilot):
        await press(app, pilot, "enter", "enter")
        assert "first reply" in screen_text(app)
        backend.transcripts[first.name] = told
        backend.emit(changed("AgentRun", first.name, 101, of="fleet", turns=2, calls=2))
        await settled(app, pilot)
        shown = screen_text(app)
        assert shown.index("first reply") < shown.index("and now?") < shown.index("second reply")
        assert backend.turns_asked == [0, 2]


async def test_one_tool_call_is_unfolded_by_key_and_by_click_and_all_with_another() -> None:
    async with console(world(), size=(100, 40)) as (app, pilot):
        await press(app, pilot, "enter", "enter")
        assert "test_case_11" not in screen_text(app)
        await press(app, pilot, "enter")
        assert "test_case_11" in screen_text(app)
        assert "1 failed in" not in screen_text(app)
        line = next(y for y, text in enumerate(screen_lines(app)) if "▾ bash" in text)
        await pilot.click(offset=(screen_lines(app)[line].index("▾"), line))
        await settled(app, pilot)
        assert "▾" not in screen_text(app)
        await press(app, pilot, "o")
        assert "o fold all" in screen_lines(app)[-1]
        await press(app, pilot, "end")
        assert "killed after 2m" in screen_text(app)
        await press(app, pilot, "o")
        assert "killed after 2m" not in screen_text(app)


async def test_unfolding_keeps_what_is_read_where_it_is() -> None:
    async with console(world(), size=(80, 24)) as (app, pilot):
        await press(app, pilot, "enter", "enter", "end")
        top = screen_lines(app)[8]
        assert "▸ read" in screen_text(app) or "▸ edit" in screen_text(app)
        pane = pane_of(app)
        before = pane.on_screen()[0].owner
        await press(app, pilot, "o")
        assert pane.on_screen()[0].owner == before
        await press(app, pilot, "o")
        assert screen_lines(app)[8] == top


async def test_words_are_found_also_in_what_is_folded() -> None:
    async with console(world(), size=(80, 24)) as (app, pilot):
        await press(app, pilot, "enter", "enter", "slash", *"values", "enter")
        assert "1 of" in screen_text(app) or "► " in screen_text(app)
        seen = set()
        for _hit in range(4):
            await press(app, pilot, "n")
            assert sum(text.startswith(" ▌ ") for text in screen_lines(app)) == 1
            seen.add(next(text for text in screen_lines(app) if " of " in text and "for values" in text))
        assert len(seen) == 4
        await press(app, pilot, "p")
        assert "n next hit" in screen_lines(app)[-1]
        await press(app, pilot, "slash", *"sleep 1000", "enter")
        assert any(text.startswith(" ▌ ▸ bash  sleep 1000") for text in screen_lines(app))
        await press(app, pilot, "slash", *"nowhere to be found")
        assert "not found" in screen_text(app)
        await press(app, pilot, "enter")
        assert "next hit" not in screen_lines(app)[-1]
        await press(app, pilot, "slash")
        await press(app, pilot, "escape", "n")
        assert "Nothing is looked for: / finds words." in screen_text(app)


async def test_parts_are_marked_and_copied(tmp_path: Path) -> None:
    backend = world(conversation("x", "s", "u", REPLY))
    async with console(backend, size=(100, 30), state_folder=tmp_path) as (app, pilot):
        await press(app, pilot, "enter", "enter", *["right_square_bracket"] * 3)
        assert any(text.rstrip().endswith("←") and "assistant" in text for text in screen_lines(app))
        await press(app, pilot, "y")
        assert app.clipboard == REPLY
        await press(app, pilot, "c")
        assert app.clipboard == "x = 1"
        assert "Copied block 1 of 2" in screen_text(app)
        await press(app, pilot, "c")
        assert app.clipboard == "plain"
        await press(app, pilot, "left_square_bracket", "y")
        assert app.clipboard == "u"
        await press(app, pilot, "c")
        assert app.clipboard == "x = 1", "the first on the screen that has some"
        await press(app, pilot, "Y")
        assert app.clipboard.startswith("[system, 14:00:00]\ns\n\n[user")
        assert (tmp_path / "copied.txt").read_text(encoding="utf-8").endswith(REPLY + "\n")


async def test_each_half_has_the_screen_in_a_low_terminal_and_a_call_leads_to_its_reply() -> None:
    async with console(world(), size=(80, 24)) as (app, pilot):
        await press(app, pilot, "enter", "enter")
        assert "RESERVED" not in screen_text(app)
        await press(app, pilot, "tab")
        assert "RESERVED" in screen_text(app)
        assert "I look at the files first." not in screen_text(app)
        await press(app, pilot, "enter")
        assert any("call 1" in text and text.rstrip().endswith("←") for text in screen_lines(app))
        await pilot.resize_terminal(80, 40)
        await settled(app, pilot)
        assert "RESERVED" in screen_text(app)
        assert "I look at the files first." in screen_text(app)


async def test_the_runs_of_a_group_are_gone_along_in_the_order_of_its_table() -> None:
    async with console(world(), start_at="fleet") as (app, pilot):
        await press(app, pilot, "enter")
        names = [screen_lines(app)[0].split()[6]]
        assert "run 1 of 3" in screen_text(app)
        for _step in range(2):
            await press(app, pilot, "full_stop")
            names.append(screen_lines(app)[0].split()[6])
        assert names == ["fleet-0000-a1", "fleet-0001-a1", "fleet-0002-a1"]
        await press(app, pilot, "full_stop")
        assert "the last run of the group's table" in screen_text(app)
        await press(app, pilot, "comma", "comma", "comma")
        assert "the first run of the group's table" in screen_text(app)
        assert isinstance(app.screen, RunScreen)
        await press(app, pilot, "escape")
        assert not isinstance(app.screen, RunScreen)


async def test_all_facts_with_times_and_sandbox() -> None:
    async with console(world(), size=(120, 40)) as (app, pilot):
        await press(app, pilot, "enter", "enter", "a")
        shown = screen_text(app)
        for words in ("Sandbox cost", "bubblewrap", "Time", "queue 3.0s", "Files", "repetition 1"):
            assert words in shown
        await press(app, pilot, "escape")
        assert "Sandbox cost" not in screen_text(app)


async def test_ten_megabytes_open_and_are_gone_through_piece_by_piece() -> None:
    long = "a line of words\n" * 600_000 + "the end of it"
    said = conversation("x", "s", long, "x" * 1_000_000)
    async with console(world(said), size=(80, 24)) as (app, pilot):
        await press(app, pilot, "enter", "enter")
        pane = pane_of(app)
        assert "a line of words" in screen_text(app)
        assert len(pane.text.pieces) > 2_500
        assert pane.text.wrapped_pieces < 60
        await press(app, pilot, "end")
        assert "x" * 60 in screen_text(app)
        await press(app, pilot, "slash", *"the end of it", "enter")
        assert "▌ the end of it" in screen_text(app)
        await press(app, pilot, "pageup", "pageup", "home")
        assert pane.text.wrapped_pieces < 150
        assert pane.scroll_offset.y == 0


async def test_a_reader_at_the_end_follows_and_one_elsewhere_stays() -> None:
    first = run(0, phase=RunPhase.RUNNING, calls=1)
    backend = world(conversation(first.name, "s", "u\n" * 40, "one\n\n" * 20), first)
    async with console(backend, start_at="fleet", size=(80, 24)) as (app, pilot):
        await press(app, pilot, "enter", "end")
        backend.transcripts[first.name] = conversation(first.name, "s", "u\n" * 40, "one\n\n" * 20, "more", "the newest words")
        backend.emit(changed("AgentRun", first.name, 101, of="fleet", calls=2, turns=2))
        await settled(app, pilot)
        assert "the newest words" in screen_text(app)
        await press(app, pilot, "home")
        backend.transcripts[first.name] = conversation(first.name, "s", "u\n" * 40, "one\n\n" * 20, "more", "the newest words", "x", "last")
        backend.emit(changed("AgentRun", first.name, 102, of="fleet", calls=3, turns=3))
        await settled(app, pilot)
        assert pane_of(app).scroll_offset.y == 0


@pytest.mark.parametrize("key", ["v", "V"])
async def test_a_console_without_a_terminal_says_where_the_text_can_be_read(key: str) -> None:
    async with console(world()) as (app, pilot):
        await press(app, pilot, "enter", "enter", key)
        assert "cannot lend its terminal" in screen_text(app)
