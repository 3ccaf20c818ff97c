"""The specs view and the editor, by keys: what is told while somebody types, and that nothing typed gets lost."""

import asyncio
import os
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable
from pathlib import Path

import pytest
from console_driver import console, press, screen_lines, screen_text, settled, wire_text
from draft_files import draft_of, left_draft
from scripted_backend import ScriptedBackend
from textual.events import Key

from nodus_tui.authoring.drafts import Draft, Drafts
from nodus_tui.authoring.text_file import NO_FILE, stamp_of
from nodus_tui.screens.choice_list import ChoiceList
from nodus_tui.screens.spec_editor import SpecEditor
from nodus_tui.screens.specs import SpecsScreen
from nodus_tui.view_state.cells import plain

GOOD = """\
apiVersion: nodus.dev/v1
kind: Agent
metadata: {name: adder}
spec:
  model: {families: [quick]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the console is started, with one spec in it; no examples."""
    place = tmp_path / "here"
    place.mkdir()
    (place / "agent.yaml").write_text(GOOD, encoding="utf-8")
    monkeypatch.chdir(place)
    monkeypatch.setattr("nodus_tui.authoring.finding.examples_folder", lambda: None)
    return place


async def until(app, pilot, holds: Callable[[], bool]) -> None:
    """Let the loop turn until it holds; the test's own time limit is the end of patience."""
    while not holds():
        await pilot.pause(0.01)
        await settled(app, pilot)


async def editing(app, pilot) -> SpecEditor:
    """The editor of the only file, its text checked."""
    await press(app, pilot, "F")
    await until(app, pilot, lambda: "agent.yaml" in screen_text(app) and "looking" not in screen_text(app))
    await press(app, pilot, "enter")
    await until(app, pilot, lambda: isinstance(app.screen, SpecEditor) and app.screen.checked is not None)
    assert isinstance(app.screen, SpecEditor)
    return app.screen


async def checked(app, pilot, editor: SpecEditor) -> None:
    """What is typed is checked now, without the moment of rest before it."""
    editor.check_now()
    await until(app, pilot, lambda: not editor.checking)


def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


async def test_files_are_listed_with_what_is_in_them_and_how_they_stand(folder: Path, tmp_path: Path) -> None:
    (folder / "broken.yaml").write_text(GOOD.replace("families", "famlies"), encoding="utf-8")
    (folder / "below").mkdir()
    (folder / "below" / "applied.yaml").write_text(GOOD.replace("adder", "old"), encoding="utf-8")
    (folder / "latin.yaml").write_bytes(GOOD.encode() + b"# \xe9\n")
    (folder / "other.yaml").write_text("a: 1\n", encoding="utf-8")
    backend = ScriptedBackend()
    backend.unchanged = {"old"}
    async with console(backend, size=(120, 40), state_folder=state(tmp_path)) as (app, pilot):
        await press(app, pilot, "F")
        assert isinstance(app.screen, SpecsScreen)
        await until(app, pilot, lambda: "! unreadable" in screen_text(app) and "looking" not in screen_text(app))
        shown = screen_text(app)
        assert "+ not applied" in shown
        assert "! 1 fault " in shown
        assert "✓ applied" in shown
        assert "other.yaml" not in shown
        assert "4 files · 1 with faults · 1 unreadable" in shown


async def test_differences_are_offered_at_the_smallest_size_where_there_are_some(folder: Path) -> None:
    backend = ScriptedBackend()
    async with console(backend, size=(80, 24)) as (app, pilot):
        await press(app, pilot, "F")
        await until(app, pilot, lambda: "+ not applied" in screen_text(app))
        assert "shows the differences" not in screen_text(app)
    (folder / "two.yaml").write_text(f"{GOOD}---\n{GOOD.replace('adder', 'old')}", encoding="utf-8")
    (folder / "agent.yaml").unlink()
    backend.unchanged = {"old"}
    async with console(backend, size=(80, 24)) as (app, pilot):
        await press(app, pilot, "F")
        await until(app, pilot, lambda: "± partly applied" in screen_text(app))
        assert "two.yaml · ctrl+g shows the differences" in screen_text(app)


def footer(app) -> str:
    """The keys at the bottom."""
    return screen_text(app).rstrip().splitlines()[-1]


async def test_the_editors_footer_offers_in_one_order_what_would_do_something(folder: Path) -> None:
    async with console(ScriptedBackend(), size=(80, 24)) as (app, pilot):
        editor = await editing(app, pilot)
        assert footer(app).startswith(" Tab complete  ctrl+l launch  ctrl+r estimate")
        await press(app, pilot, "ctrl+end", *"# x")
        await checked(app, pilot, editor)
        assert footer(app).startswith(" Tab complete  ctrl+o save  ctrl+l launch  ctrl+r estimate")
        await press(app, pilot, "enter", *"x: 1")
        await checked(app, pilot, editor)
        assert footer(app).startswith(" Tab complete  ctrl+o save  ctrl+n next problem")
        assert "launch" not in footer(app)
        assert footer(app).endswith("Esc back  F1 help")


async def test_an_empty_folder_says_how_the_first_file_comes_about(folder: Path) -> None:
    (folder / "agent.yaml").unlink()
    async with console(ScriptedBackend()) as (app, pilot):
        await press(app, pilot, "F")
        await until(app, pilot, lambda: "No spec files in" in screen_text(app))
        assert "c  writes one" in screen_text(app)


async def test_problems_are_told_with_their_line_as_it_is_typed_and_gone_to(folder: Path) -> None:
    async with console(ScriptedBackend()) as (app, pilot):
        editor = await editing(app, pilot)
        assert "✓ no problem" in screen_text(app)
        await press(app, pilot, "ctrl+end", *"x: 1", "enter")
        await checked(app, pilot, editor)
        assert "! 1 problem" in screen_text(app)
        assert "● not saved" in screen_text(app)
        await press(app, pilot, "up", "up", "up", "ctrl+n")
        assert editor.editing.cursor_location == (5, 0)
        assert '! 6:1 x a document has no field "x"' in " ".join(screen_text(app).split())
        assert "6!" in screen_text(app)


FAULTY = {
    "dashes": GOOD + "  ---\n" + GOOD.replace("adder", "other"),
    "deeper-dashes": GOOD + "    ---\n" + GOOD.replace("adder", "other"),
    "dashes-in-a-text": GOOD + "  system: |\n    a\n    ---\n    b\n  x: 1\n---\n" + GOOD.replace("adder", "other") + "  y: 1\n",
    "crlf-and-mark": "\ufeff" + (GOOD + "x: 1\n").replace("\n", "\r\n"),
    "cr": (GOOD + "x: 1\n").replace("\n", "\r"),
    "strange-line-ends": GOOD + "# \x85 \u2028 \x0c\nx: 1\n",
    "never-closed": GOOD + "x: [1,\n",
}


async def test_the_lines_that_are_marked_are_those_that_validate_names(folder: Path, tmp_path: Path) -> None:
    (folder / "agent.yaml").unlink()
    for name, text in FAULTY.items():
        (folder / f"{name}.yaml").write_bytes(text.replace("adder", name).replace("other", f"{name}-2").encode())
    files = [word for name in FAULTY for word in ("-f", f"{name}.yaml")]
    environ = {**os.environ, "NODUS_HOME": str(tmp_path / "home")}
    command = [str(Path(sys.executable).with_name("nodus-tui")), "--in-process", "validate", *files]
    done = await asyncio.create_subprocess_exec(*command, stdout=DEVNULL, stderr=PIPE, env=environ, cwd=folder)
    told = (await done.communicate())[1].decode()
    named = {name: set(re.findall(rf"^{name}\.yaml:(\d+):", told, re.MULTILINE)) for name in FAULTY}
    assert all(named.values()), told
    marked: dict[str, set[str]] = {}
    async with console(ScriptedBackend(), size=(80, 40)) as (app, pilot):
        await press(app, pilot, "F")
        await until(app, pilot, lambda: not app.screen.busy and "cr.yaml" in screen_text(app))
        for name in sorted(FAULTY, key=lambda each: f"{each}.yaml"):
            await press(app, pilot, "enter")
            await until(app, pilot, lambda: isinstance(app.screen, SpecEditor) and app.screen.checked is not None and not app.screen.busy)
            assert app.screen.file.path.stem == name
            marked[name] = set(re.findall(r"^ *(\d+)!", screen_text(app), re.MULTILINE))
            await press(app, pilot, "escape", "down")
    assert marked == named


async def test_fields_are_completed_and_their_help_is_told(folder: Path) -> None:
    async with console(ScriptedBackend()) as (app, pilot):
        editor = await editing(app, pilot)
        await press(app, pilot, "down", "down", "down", "down", "end", "enter", *"maxT")
        editor.tell_about()
        await settled(app, pilot)
        assert "Tab maxTurns" in screen_text(app)
        await press(app, pilot, "tab")
        assert editor.editing.document.get_line(5) == "  maxTurns: "
        await press(app, pilot, "3")
        editor.tell_about()
        await settled(app, pilot)
        assert "Model calls in one conversation, at most." in " ".join(screen_text(app).split())


async def test_what_the_mouse_points_at_is_told_until_the_cursor_moves(folder: Path) -> None:
    (folder / "agent.yaml").write_text(GOOD + "  maxTurns: many\n", encoding="utf-8")
    async with console(ScriptedBackend(), size=(110, 30)) as (app, pilot):
        editor = await editing(app, pilot)

        async def told(words: str) -> None:
            await until(app, pilot, lambda: words in " ".join(screen_lines(app)[-5:-2]))

        await told("The version of the kind's fields.")
        gutter = editor.editing.gutter_width
        await pilot.hover("#editing", offset=(gutter + 3, 1))
        await told("What the document makes.")
        await pilot.hover("#editing", offset=(gutter + 3, 5))
        await told('maxTurns is "many"')
        await pilot.hover("#editing", offset=(gutter + 3, 20))
        await told("The version of the kind's fields.")
        await pilot.hover("#editing", offset=(gutter + 3, 1))
        await told("What the document makes.")
        await press(app, pilot, "right")
        await told("The version of the kind's fields.")


async def test_several_ways_are_a_list_to_choose_from(folder: Path) -> None:
    async with console(ScriptedBackend()) as (app, pilot):
        editor = await editing(app, pilot)
        await press(app, pilot, "down", "down", "down", "down", "end", "enter", "tab")
        assert isinstance(app.screen, ChoiceList)
        await press(app, pilot, *"perRun", "enter")
        assert editor.editing.document.get_line(5) == "  perRunMaxCostUSD: "


async def test_saving_writes_the_file_and_keeps_its_line_ends(folder: Path) -> None:
    file = folder / "agent.yaml"
    file.write_bytes(GOOD.replace("\n", "\r\n").encode())
    async with console(ScriptedBackend()) as (app, pilot):
        await editing(app, pilot)
        await press(app, pilot, "ctrl+end", *"# x", "ctrl+o")
        await until(app, pilot, lambda: "✓ Saved" in screen_text(app))
        assert file.read_bytes() == GOOD.replace("\n", "\r\n").encode() + b"# x"
        assert "not saved" not in screen_text(app)


async def test_a_file_that_changed_on_disk_is_taken_where_nothing_is_typed(folder: Path) -> None:
    async with console(ScriptedBackend()) as (app, pilot):
        editor = await editing(app, pilot)
        (folder / "agent.yaml").write_text(GOOD + "# theirs\n", encoding="utf-8")
        await editor.look_at_disk()
        await settled(app, pilot)
        assert editor.editing.true_text == GOOD + "# theirs\n"
        assert "was changed on disk" in screen_text(app)


async def test_a_file_that_changed_on_disk_is_neither_taken_nor_overwritten_unasked(folder: Path) -> None:
    file = folder / "agent.yaml"
    async with console(ScriptedBackend(), size=(100, 30)) as (app, pilot):
        editor = await editing(app, pilot)
        await press(app, pilot, "ctrl+end", *"# mine")
        file.write_text(GOOD + "# theirs\n", encoding="utf-8")
        await editor.look_at_disk()
        await settled(app, pilot)
        assert "agent.yaml has changed on disk; your text is not touched." in screen_text(app)
        await press(app, pilot, "ctrl+o")
        await until(app, pilot, lambda: "Overwrite agent.yaml?" in screen_text(app))
        await press(app, pilot, "enter")
        assert file.read_text(encoding="utf-8") == GOOD + "# theirs\n"
        assert editor.editing.true_text == GOOD + "# mine"
        await press(app, pilot, "ctrl+o")
        await until(app, pilot, lambda: "Overwrite agent.yaml?" in screen_text(app))
        await press(app, pilot, "tab", "enter")
        await until(app, pilot, lambda: "✓ Saved" in screen_text(app))
        assert file.read_text(encoding="utf-8") == GOOD + "# mine"
        assert "has changed on disk" not in screen_text(app)


async def test_leaving_asks_and_a_kept_draft_is_offered_again(folder: Path, tmp_path: Path) -> None:
    async with console(ScriptedBackend(), state_folder=state(tmp_path)) as (app, pilot):
        await editing(app, pilot)
        await press(app, pilot, "ctrl+end", *"# mine", "escape")
        assert isinstance(app.screen, ChoiceList)
        await press(app, pilot, "enter")
        assert isinstance(app.screen, SpecEditor)
        await press(app, pilot, "escape", "down", "down", "enter")
        await until(app, pilot, lambda: "draft agent.yaml" in screen_text(app))
        assert (folder / "agent.yaml").read_text(encoding="utf-8") == GOOD
        await press(app, pilot, "enter")
        await until(app, pilot, lambda: isinstance(app.screen, ChoiceList))
        await press(app, pilot, "enter")
        await until(app, pilot, lambda: isinstance(app.screen, SpecEditor))
        assert app.screen.editing.true_text == GOOD + "# mine"
        await press(app, pilot, "escape", "down", "down", "down", "enter")
        await until(app, pilot, lambda: isinstance(app.screen, SpecsScreen))
        assert not list(Drafts(state(tmp_path) / "drafts").unsaved())


async def draft_kept(app, pilot, tmp_path: Path) -> None:
    """What is typed is written down now, without the second of rest before it."""
    app.screen._settle_draft()
    await until(app, pilot, lambda: any((state(tmp_path) / "drafts").glob("*.json")))


async def test_a_draft_goes_when_what_was_typed_is_taken_back(folder: Path, tmp_path: Path) -> None:
    async with console(ScriptedBackend(), state_folder=state(tmp_path)) as (app, pilot):
        editor = await editing(app, pilot)
        await press(app, pilot, "ctrl+end", "]")
        await draft_kept(app, pilot, tmp_path)
        await press(app, pilot, "ctrl+z")
        assert not editor.file.modified
        editor._settle_draft()
        await until(app, pilot, lambda: draft_of(state(tmp_path) / "drafts", folder / "agent.yaml") is None)


async def test_nothing_kept_is_left_where_the_editor_is_closed_before_its_pause(folder: Path, tmp_path: Path) -> None:
    async with console(ScriptedBackend(), state_folder=state(tmp_path)) as (app, pilot):
        await editing(app, pilot)
        await press(app, pilot, "ctrl+end", "]")
        await draft_kept(app, pilot, tmp_path)
        await press(app, pilot, "backspace", "escape")
        await until(app, pilot, lambda: isinstance(app.screen, SpecsScreen) and "draft" not in screen_text(app))
        assert draft_of(state(tmp_path) / "drafts", folder / "agent.yaml") is None


async def test_what_was_kept_of_a_saved_text_is_neither_listed_nor_offered(folder: Path, tmp_path: Path) -> None:
    left_draft(state(tmp_path) / "drafts", Draft(folder / "agent.yaml", GOOD, NO_FILE))
    async with console(ScriptedBackend(), state_folder=state(tmp_path)) as (app, pilot):
        await editing(app, pilot)
        assert draft_of(state(tmp_path) / "drafts", folder / "agent.yaml") is None


async def test_a_console_that_is_closed_in_any_way_keeps_what_was_typed(folder: Path, tmp_path: Path) -> None:
    async with console(ScriptedBackend(), state_folder=state(tmp_path)) as (app, pilot):
        await editing(app, pilot)
        await press(app, pilot, "ctrl+end", *"# mine")
    kept = draft_of(state(tmp_path) / "drafts", folder / "agent.yaml")
    assert kept == Draft(folder / "agent.yaml", GOOD + "# mine", stamp_of(folder / "agent.yaml"))


async def test_a_file_that_another_console_edits_has_a_draft_here_too(folder: Path, tmp_path: Path) -> None:
    drafts = Drafts(state(tmp_path) / "drafts")
    theirs = drafts.place(folder / "agent.yaml")
    theirs.keep(Draft(folder / "agent.yaml", GOOD + "# theirs", stamp_of(folder / "agent.yaml")))
    async with console(ScriptedBackend(), size=(120, 30), state_folder=state(tmp_path)) as (app, pilot):
        await editing(app, pilot)
        assert "Another console has this file open, too" in screen_text(app)
        assert app.screen.editing.true_text == GOOD, "what is typed there is not taken from it"
        await press(app, pilot, "ctrl+end", *"# mine")
    assert [draft.text for draft in drafts.unsaved()] == [GOOD + "# mine"]
    theirs.leave()
    assert {draft.text for draft in drafts.unsaved()} == {GOOD + "# mine", GOOD + "# theirs"}


async def test_leaving_the_console_with_unsaved_text_asks(folder: Path, tmp_path: Path) -> None:
    async with console(ScriptedBackend(), state_folder=state(tmp_path)) as (app, pilot):
        await editing(app, pilot)
        await press(app, pilot, "ctrl+end", "x", "ctrl+c")
        await until(app, pilot, lambda: "Leave without saving agent.yaml?" in screen_text(app))
        await press(app, pilot, "enter")
        assert isinstance(app.screen, SpecEditor)


async def test_a_draft_of_a_file_that_was_never_saved_is_listed(folder: Path, tmp_path: Path) -> None:
    left_draft(state(tmp_path) / "drafts", Draft(folder / "never.yaml", GOOD, NO_FILE))
    async with console(ScriptedBackend(), state_folder=state(tmp_path)) as (app, pilot):
        await press(app, pilot, "F")
        await until(app, pilot, lambda: "draft never.yaml" in screen_text(app))


@pytest.mark.parametrize(
    ("data", "words"), [(b"\n" + b"#" * (2 << 20), "larger than 1,024 KiB"), (b"# \xff\n", "is not UTF-8"), (b"# \xfe\xff", "is not UTF-8")]
)
async def test_what_cannot_be_edited_is_refused_with_a_sentence(folder: Path, data: bytes, words: str) -> None:
    file = folder / "agent.yaml"
    file.write_bytes(GOOD.encode() + data)
    async with console(ScriptedBackend(), size=(120, 30)) as (app, pilot):
        await press(app, pilot, "F")
        await until(app, pilot, lambda: "unreadable" in screen_text(app))
        await press(app, pilot, "enter")
        await until(app, pilot, lambda: words in " ".join(screen_text(app).split()))
        assert isinstance(app.screen, SpecsScreen)


async def test_hostile_text_is_shown_safely_and_saved_as_it_was(folder: Path) -> None:
    hostile = GOOD.replace("adder", "a") + "# \x1b]52;c;aGk=\x07 \u202e \x9b31m \t[@click=app.quit]x[/] [/x] \U0001f44d\U0001f3fd\n"
    file = folder / "agent.yaml"
    file.write_bytes(hostile.encode())
    async with console(ScriptedBackend(), size=(120, 30)) as (app, pilot):
        editor = await editing(app, pilot)
        for each in ("\x1b", "\x07", "\u202e", "\x9b"):
            assert each not in wire_text(app)
        assert "U+001B" in " ".join(plain(line) for line in editor.side_lines())
        await press(app, pilot, *"# ", "enter", "ctrl+o")
        await until(app, pilot, lambda: "✓ Saved" in screen_text(app))
        assert file.read_bytes() == b"# \n" + hostile.encode()


async def test_pasted_text_passes_the_same_door(folder: Path) -> None:
    async with console(ScriptedBackend()) as (app, pilot):
        editor = await editing(app, pilot)
        editor.editing._replace_via_keyboard("x\x1b[31m\r\ny", (0, 0), (0, 0))
        await settled(app, pilot)
        assert "\x1b" not in editor.editing.text
        assert editor.editing.true_text.startswith("x\x1b[31m\ny")


async def test_a_letter_with_alt_is_no_text(folder: Path) -> None:
    async with console(ScriptedBackend()) as (app, pilot):
        editor = await editing(app, pilot)
        app.post_message(Key("alt+z", "z"))
        await press(app, pilot, "x")
        assert editor.editing.true_text == f"x{GOOD}"


async def test_a_template_is_put_in(folder: Path) -> None:
    async with console(ScriptedBackend()) as (app, pilot):
        editor = await editing(app, pilot)
        await press(app, pilot, "ctrl+t", *"Budget", "enter")
        await checked(app, pilot, editor)
        assert "kind: Budget" in editor.editing.text
        assert "✓ no problem" in screen_text(app)
        await press(app, pilot, "ctrl+z")
        assert editor.editing.true_text == GOOD


async def test_what_it_would_change_is_shown_with_signs(folder: Path) -> None:
    async with console(ScriptedBackend()) as (app, pilot):
        await editing(app, pilot)
        await press(app, pilot, "ctrl+g")
        await until(app, pilot, lambda: "against what is applied" in screen_text(app))
        assert "not applied yet" in screen_text(app)
        assert "+kind: Agent" in screen_text(app)


async def test_at_the_width_of_two_the_estimate_stands_beside_the_text(folder: Path) -> None:
    async with console(ScriptedBackend(), size=(140, 30)) as (app, pilot):
        await editing(app, pilot)
        assert "Agent adder new" in screen_text(app)
        await pilot.resize_terminal(80, 24)
        await settled(app, pilot)
        assert app.screen.query_one("#side").display is False


async def test_a_browser_has_no_part_in_the_files_of_the_machine(folder: Path) -> None:
    async with console(ScriptedBackend(), in_browser=True, first_view="specs", size=(120, 30)) as (app, pilot):
        assert not isinstance(app.screen, SpecsScreen)
        await press(app, pilot, "F")
        assert "A browser has no part in the files" in screen_text(app)
        await press(app, pilot, "colon", *"spec")
        assert "Show the spec files" not in screen_text(app)


async def test_names_of_files_are_shown_safely_whatever_bytes_they_have(folder: Path) -> None:
    (folder / "agent.yaml").unlink()
    (folder / "a\x1b]0;x\x07\udcff[b].yaml").write_text(GOOD.replace("adder", "Bad Name"), encoding="utf-8")
    async with console(ScriptedBackend(), size=(120, 30)) as (app, pilot):
        await press(app, pilot, "F")
        await until(app, pilot, lambda: "! 1 fault" in screen_text(app))
        assert not {"\x1b", "\x07", "\udcff"} & {*wire_text(app)}
        await press(app, pilot, "enter")
        await until(app, pilot, lambda: isinstance(app.screen, SpecEditor) and not app.screen.busy)
        await press(app, pilot, "x")
        await until(app, pilot, lambda: not app.screen.busy)
        assert not {"\x1b", "\x07", "\udcff"} & {*wire_text(app)}


async def test_a_file_that_is_as_it_was_is_not_checked_again_unless_it_is_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = ScriptedBackend()
    asked: list[str] = []

    async def apply(bundle, **options):
        asked.extend(document.file for document in bundle)
        return await ScriptedBackend.apply(backend, bundle, **options)

    monkeypatch.setattr(backend, "apply", apply)
    (folder / "other.yaml").write_text(GOOD.replace("adder", "other"), encoding="utf-8")
    async with console(backend) as (app, pilot):
        await press(app, pilot, "F")
        await until(app, pilot, lambda: not app.screen.busy)
        assert asked == ["agent.yaml", "other.yaml"]
        (folder / "other.yaml").write_text(GOOD.replace("adder", "another"), encoding="utf-8")
        app.screen.look()
        await until(app, pilot, lambda: not app.screen.busy)
        assert asked[2:] == ["other.yaml"]
        await press(app, pilot, "r")
        await until(app, pilot, lambda: not app.screen.busy)
        assert asked[3:] == ["agent.yaml", "other.yaml"]


async def test_a_long_text_is_neither_completed_nor_estimated_unasked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = ScriptedBackend()
    estimated: list[object] = []

    async def estimate(bundle, **options):
        estimated.append(bundle)
        return await ScriptedBackend.estimate(backend, bundle, **options)

    monkeypatch.setattr(backend, "estimate", estimate)
    monkeypatch.setattr(SpecEditor, "outline", lambda _: pytest.fail("nobody looks through a long text for where the cursor is"))
    (folder / "agent.yaml").write_text(GOOD + "  system: |\n" + f"    {'word ' * 200}\n" * 270, encoding="utf-8")
    async with console(backend, size=(100, 30)) as (app, pilot):
        editor = await editing(app, pilot)
        assert "✓ no problem" in screen_text(app)
        assert "not estimated" in screen_text(app)
        assert "A long text: nothing is completed or estimated as you type; ctrl+r estimates it" in screen_text(app)
        await press(app, pilot, "tab", "ctrl+end", *"# x")
        await checked(app, pilot, editor)
        assert editor.editing.true_text.endswith("word \n# x")
        assert not estimated
        await press(app, pilot, "ctrl+r")
        await until(app, pilot, lambda: "what it comes to" in screen_text(app))
        assert len(estimated) == 1
