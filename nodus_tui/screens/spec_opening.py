"""Ways into the editor of a spec: a file, a draft that was kept of it, a new text from a template or the guided form."""

import asyncio
from pathlib import Path

from nodus_tui.authoring.drafts import AnswersPlace, Draft, DraftPlace, Drafts
from nodus_tui.authoring.form import DEFAULT_ANSWERS, Answers, answers_of
from nodus_tui.authoring.templates import TEMPLATES
from nodus_tui.authoring.text_file import NO_FILE, NoFileError, ReadText, TextFileError, read_text
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.choice_list import Choice, ChoiceList
from nodus_tui.screens.spec_asking import kind_choices
from nodus_tui.screens.spec_editor import SpecEditor
from nodus_tui.screens.spec_form import SpecForm
from nodus_tui.view_state.cells import Span, Tone, line

_FORM = "form"
_DRAFT, _FILE = "draft", "file"


async def open_file(screen: ViewScreen, path: Path, *, example: bool = False) -> None:
    """Edit a file; where unsaved text of it was kept, ask which of the two."""
    place = Drafts(screen.services.drafts).place(path)
    try:
        opened = await _opened(screen, path, place)
    except BaseException:
        place.leave()
        raise
    if opened is None:
        await asyncio.to_thread(place.leave)
    else:
        _push(screen, path, *opened, place, example=example)


async def _opened(screen: ViewScreen, path: Path, place: DraftPlace) -> tuple[ReadText, str] | None:
    """What stands in the file, and the text to go on with; None where nothing is to be edited."""
    draft = await asyncio.to_thread(place.find)
    problem = ""
    try:
        read = await asyncio.to_thread(read_text, path)
    except TextFileError as error:
        if draft is None:
            screen.notice(f"! {error}.", Tone.BAD)
            return None
        read = ReadText("")
        problem = "" if isinstance(error, NoFileError) else str(error)
    if draft is None or (draft.text == read.text and not problem):
        await asyncio.to_thread(place.forget)
        return read, read.text
    text = await _chosen(screen, path, read, draft, problem)
    if text is None or text is draft.text:
        return (read, text) if text is not None else None
    await asyncio.to_thread(place.forget)
    # Where the file has a problem, there is none to go on with.
    return None if problem else (read, text)


async def _chosen(screen: ViewScreen, path: Path, read: ReadText, draft: Draft, problem: str) -> str | None:
    """The draft's text or the file's; None for neither. Of a file that has a problem only the draft can be edited."""
    lines = [line("Text of this file was typed and not saved.")]
    if problem:
        lines.append(line(Span(f"! {problem}. What was typed can be saved under another name.", Tone.WARN)))
    elif draft.base != read.stamp:
        lines.append(line(Span("~ The file is another by now than the one that was edited.", Tone.WARN)))
    there = read.stamp.exists
    answer = await screen.app.push_screen_wait(
        ChoiceList(
            path.name,
            (
                Choice(_DRAFT, "Go on with what was typed", "The draft; nothing is written before you save it."),
                Choice(
                    _FILE,
                    "Throw it away" if problem else "Open the file as it is" if there else "Begin anew",
                    "What was typed is gone then.",
                ),
            ),
            screen.services.now,
            lines=lines,
            typed=False,
        )
    )
    return {_DRAFT: draft.text, _FILE: read.text}.get(answer or "")


def _push(screen: ViewScreen, path: Path, read: ReadText, text: str, place: DraftPlace, *, example: bool) -> None:
    try:
        editor = SpecEditor(screen.services, path, read, text, place, example=example)
    except ValueError as error:
        place.leave()
        screen.notice(f"! {path.name} is not edited here: {error}.", Tone.BAD)
        return
    screen.app.push_screen(editor)


async def new_spec(screen: ViewScreen) -> None:
    """Ask how to begin, then edit what comes of it."""
    choices = [Choice(_FORM, "a few questions", "An agent, what it is scored on, and its caps; they become a spec that you can edit.")]
    choices += kind_choices()
    choice = await screen.app.push_screen_wait(ChoiceList("A new spec", choices, screen.services.now))
    if choice is None:
        return
    if choice == _FORM:
        made = await _from_questions(screen)
        if made is None:
            return
        name, text = made
    else:
        name, text = f"{choice.lower()}.yaml", TEMPLATES[choice]
    path = await asyncio.to_thread(_free, screen.services.folder, Path(name))
    place = Drafts(screen.services.drafts).place(path)
    # What was kept of another new text of that name stays.
    await asyncio.to_thread(place.find, anew=True)
    _push(screen, path, ReadText("", stamp=NO_FILE), text, place, example=False)


async def _from_questions(screen: ViewScreen) -> tuple[str, str] | None:
    """What came of the guided form: the name of a file, and its text. None for who went back; the answers are kept then."""
    place = Drafts(screen.services.drafts).answers()
    answers = await _answers(screen, place)
    if answers is None:
        await asyncio.to_thread(place.leave)
        return None
    form = SpecForm(screen.services, answers, place)
    made = await screen.app.push_screen_wait(form)
    if made is None and form.kept:
        screen.notice(f"Your answers are kept: {screen.key('new_spec')}, then a few questions, offers them again.", Tone.INFO)
    return made


async def _answers(screen: ViewScreen, place: AnswersPlace) -> Answers | None:
    """What the form begins with: the usual answers, or those that were kept; None for who went back."""
    kept = await asyncio.to_thread(place.find)
    if not kept:
        return dict(DEFAULT_ANSWERS)
    answers = answers_of(kept)
    choices = (
        Choice(_DRAFT, "Go on with what was answered", f"It is called {answers['name']}; no spec was made of it."),
        Choice(_FILE, "Begin anew", "What was answered is thrown away."),
    )
    answer = await screen.app.push_screen_wait(ChoiceList("A new evaluation", choices, screen.services.now, typed=False))
    if answer == _FILE:
        await asyncio.to_thread(place.forget)
    return {_DRAFT: answers, _FILE: dict(DEFAULT_ANSWERS)}.get(answer or "")


def _free(folder: Path, name: Path) -> Path:
    """A path that no file has yet."""
    path, number = folder / name, 2
    while path.exists():
        path = folder / f"{name.stem}-{number}{name.suffix}"
        number += 1
    return path
