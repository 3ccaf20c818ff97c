"""What the editor of a spec asks and shows beside the text: what can stand here, beginnings, what it comes to, what it would change."""

from typing import TYPE_CHECKING

from nodus_tui.authoring.completion import Proposal, proposals
from nodus_tui.authoring.differences import difference_lines, differences
from nodus_tui.authoring.templates import TEMPLATES, with_template
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.registry import KINDS
from nodus_tui.screens.choice_list import Choice, ChoiceList
from nodus_tui.screens.spec_about import LONG_WORDS
from nodus_tui.screens.text_dialog import TextDialog
from nodus_tui.view_state.cells import Tone
from nodus_tui.widgets.spec_text import SpecText

if TYPE_CHECKING:
    from nodus_tui.screens.spec_editor import SpecEditor


def kind_choices() -> list[Choice]:
    """The kinds of which there is a beginning, and what each is."""
    return [Choice(kind, kind, " ".join((KINDS[kind].__doc__ or "").split())) for kind in TEMPLATES]


async def complete(editor: "SpecEditor") -> None:
    """Complete what is typed: at once where there is one way, from a list where there are several; on nothing, indent."""
    row, column = editor.editing.cursor_location
    if editor.is_long:
        editor.notice(f"A {LONG_WORDS}.", Tone.WARN)
        return
    outline = editor.outline()
    place = outline.place(row, column)
    found = proposals(outline, place, editor.known)
    if not found:
        editor.editing.insert(" " * (SpecText.STEP - column % SpecText.STEP))
        return
    chosen: Proposal | None = found[0]
    if len(found) > 1:
        choices = [Choice(each.word, each.word, each.help) for each in found]
        answer = await editor.app.push_screen_wait(ChoiceList("What can stand here", choices, editor.services.now))
        chosen = next((each for each in found if each.word == answer), None)
    if chosen is not None:
        end = editor.editing.cursor_location
        editor.editing.replace(chosen.insert, (row, column - len(place.prefix)), end, maintain_selection_offset=False)
        editor.tell_about()


async def put_template(editor: "SpecEditor") -> None:
    """Put in a beginning for a kind."""
    kind = await editor.app.push_screen_wait(ChoiceList("A beginning for", kind_choices(), editor.services.now))
    if kind is not None:
        text, row = with_template(editor.editing.text, editor.editing.cursor_location[0], kind)
        editor.editing.replace(text, (0, 0), editor.editing.document.end)
        editor.editing.move_cursor((row, 0), center=True)


def show_side(editor: "SpecEditor") -> None:
    """Show everything that is known of the text."""
    editor.app.push_screen(TextDialog(f"{editor.file.path.name}: what it comes to", editor.side_lines()))


async def show_differences(editor: "SpecEditor") -> None:
    """Show what applying it would change."""
    found = editor.checked
    if found is None or found.bundle is None or editor.checking:
        editor.notice("There are problems, or it is being checked: then it cannot be compared with what is applied.", Tone.WARN)
        return
    try:
        lines = difference_lines(await differences(editor.services.backend, found.bundle))
    except NodusError as error:
        editor.notice(f"! {error.detail}", Tone.BAD)
        return
    editor.app.push_screen(TextDialog(f"{editor.file.path.name} against what is applied", lines))
