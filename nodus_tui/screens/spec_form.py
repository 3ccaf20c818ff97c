"""The guided form: a few answers, what is wrong with them, and what they may cost, as they are typed. Gives a name and a spec.

Answers that nothing was made of are kept as a draft.
"""

import asyncio
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.events import Resize
from textual.timer import Timer
from textual.widgets import Input

from nodus_tui.authoring.checking import Checked, check, known_names
from nodus_tui.authoring.completion import NO_NAMES
from nodus_tui.authoring.drafts import AnswersPlace, Kept
from nodus_tui.authoring.form import DEFAULT_ANSWERS, QUESTIONS, TOOL_CHOICES, Answers, group_cap, problems, spec_of
from nodus_tui.contract.money import display_usd
from nodus_tui.screens.choice_list import Choice, ChoiceList
from nodus_tui.screens.services import Services
from nodus_tui.view_state.cells import Line, Span, Tone, hint, joined, line, muted
from nodus_tui.view_state.proposals import Question, unkept_question
from nodus_tui.view_state.spec_checks import cost_line
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.dialogs import AskingScreen
from nodus_tui.widgets.span_block import SpanBlock
from nodus_tui.widgets.text_entry import TextEntry

_SECONDS = 0.4
"""Without a key for so long, the answers are checked."""
_LABEL = 18
_STAY, _EDIT, _DROP = "stay", "edit", "drop"
_OTHER_LINES, _LEAST_LINES = 9, 3
"""The frame, the title and what is told; and how many questions are in sight at least."""


def _alone(what: Line, _width: int) -> tuple[Line, ...]:
    return (what,)


class SpecForm(AskingScreen[tuple[str, str] | None]):
    """Gives the name of a file and its text."""

    AUTO_FOCUS = "Input"
    DIALOG_KEYS = (("Tab", "next"), ("ctrl+n", "choose"), ("ctrl+o", "editor"), ("Esc", "go back, keep the answers"))
    DEFAULT_CSS = """
    SpecForm #questions { height: auto; scrollbar-size-vertical: 1; }
    SpecForm Horizontal { height: 1; }
    SpecForm Horizontal SpanBlock { width: 18; }
    SpecForm #told { margin-top: 1; min-height: 4; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("tab,down,enter", "step(1)", show=False, priority=True),
        Binding("shift+tab,up", "step(-1)", show=False, priority=True),
        Binding("ctrl+n,f3", "choose", show=False, priority=True),
        Binding("ctrl+o,f2", "finish", show=False, priority=True),
    ]

    def __init__(self, services: Services, answers: Answers, place: AnswersPlace) -> None:
        super().__init__()
        self.services = services
        self.names = NO_NAMES
        self.answers: Answers = dict(answers)
        self._kept: Kept[Answers] = Kept(place.keep, place.forget, place.leave)
        self.kept = False
        """Whether somebody who left is offered the answers again."""
        self._going_back = False
        """Whether it is being found out, or asked, what becomes of the answers."""
        self.checked: Checked | None = None
        self._asked: Answers | None = None
        self._timer: Timer | None = None
        self._checking = False

    def compose(self) -> ComposeResult:
        """A line for each question, and what is told of them."""
        with Vertical(id="dialog"):
            yield SpanBlock(widget_id="text")
            # Where they do not all fit, they scroll, and what is told of them stays in sight.
            with VerticalScroll(id="questions", can_focus=False):
                for question in QUESTIONS:
                    with Horizontal():
                        yield SpanBlock(widget_id=f"label-{question.id}")
                        entry = TextEntry(value=self.answers[question.id], id=f"answer-{question.id}")
                        entry.cursor_blink = False
                        yield entry
            yield SpanBlock(widget_id="told")

    def on_mount(self) -> None:
        """Fill it in, and ask what there is to choose from."""
        dialog = self.query_one("#dialog")
        dialog.styles.width, dialog.styles.padding = 96, (0, 2)
        for entry in self.query(Input):
            entry.styles.margin, entry.styles.width = 0, "1fr"
        keys = (
            *hint("ctrl+o", " goes on to the editor", "finish"),
            muted("  "),
            *hint("Esc", " goes back", "cancel"),
        )
        self.query_one("#text", SpanBlock).show(partial(_alone, (Span("A new evaluation   ", Tone.TITLE), *keys)))
        for question in QUESTIONS:
            label = line(muted(question.label.ljust(_LABEL)))
            self.query_one(f"#label-{question.id}", SpanBlock).show(partial(_alone, label))
        self._tell()
        self.run_worker(self._ask_names(), exit_on_error=True)
        self._later()

    def on_unmount(self) -> None:
        """What was answered is kept: the console may be closed in any way."""
        self._settle(last=True)

    def _settle(self, *, last: bool) -> str:
        return self._kept.settle(dict(self.answers), modified=self.answers != DEFAULT_ANSWERS, last=last)

    def on_resize(self, event: Resize) -> None:
        """The questions take what the rest leaves them."""
        self.query_one("#questions").styles.max_height = max(_LEAST_LINES, event.size.height - _OTHER_LINES)

    async def _ask_names(self) -> None:
        self.names = await known_names(self.services.backend)
        self._tell()

    @property
    def busy(self) -> bool:
        """Whether the answers as they are were not estimated yet."""
        return not problems(self.answers) and (self._checking or self._asked != self.answers)

    def _question(self) -> int:
        focused = self.focused.id if self.focused is not None else ""
        return next((index for index, each in enumerate(QUESTIONS) if focused == f"answer-{each.id}"), 0)

    def _choices(self, question: str) -> tuple[str, ...]:
        return {"family": self.names.models, "environment": self.names.environments, "tools": TOOL_CHOICES}.get(question, ())

    def on_input_changed(self, event: Input.Changed) -> None:
        """Take the answer; check a while later."""
        self.answers[(event.input.id or "").removeprefix("answer-")] = event.value
        self._tell()
        self._later()

    def on_descendant_focus(self) -> None:
        """Another question has the keys: tell its help."""
        self._tell()

    def _later(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_SECONDS, lambda: self.run_worker(self._check(), exit_on_error=True))

    async def _check(self) -> None:
        await asyncio.to_thread(self._settle, last=False)
        if self._checking or problems(self.answers):
            return
        self._checking = True
        try:
            # What was typed meanwhile is checked too.
            while not problems(self.answers) and self._asked != self.answers:
                self._asked = dict(self.answers)
                self.checked = await check(self.services.backend, "form", spec_of(self._asked).encode(), None, estimated=True)
        finally:
            self._checking = False
        self._tell()

    def _tell(self) -> None:
        if not self.is_mounted:
            return
        self.query_one("#told", SpanBlock).show(lambda width: tuple(each for one in self._lines() for each in clipped((one,), width, 2)))

    def _lines(self) -> tuple[Line, ...]:
        question = QUESTIONS[self._question()]
        wrong = problems(self.answers)
        lines: list[Line] = [line(muted(question.help))]
        if choices := self._choices(question.id):
            lines.append((*hint("ctrl+n", " next of: ", "choose"), muted(" · ".join(choices))))
        if question.id in wrong:
            lines.append(line(Span(f"! {question.label}: {wrong[question.id]}", Tone.BAD)))
        elif wrong:
            first = next(each for each in QUESTIONS if each.id in wrong)
            lines.append(line(Span(f"! {first.label}: {wrong[first.id]}", Tone.BAD)))
        elif self._asked != self.answers or self.checked is None:
            lines.append(line(muted("estimating…")))
        else:
            lines.append(self._cost())
        return tuple(lines)

    def _cost(self) -> Line:
        checked = self.checked
        if checked is None:
            return ()
        if checked.faults:
            fault = checked.faults[0]
            suggestion = f' – did you mean "{fault.suggestion}"?' if fault.suggestion else ""
            return line(Span(f"! {fault.path}: {fault.message}{suggestion}", Tone.BAD))
        if checked.problem:
            return line(Span(f"! {checked.problem}", Tone.WARN))
        cap = line(muted(f"the group's cap is {display_usd(group_cap(self.answers))}"))
        return joined((cost_line(checked.estimates, checked.basis), cap))

    def action_step(self, by: int) -> None:
        """To the next question, or the one before; behind the last comes the first."""
        question = QUESTIONS[(self._question() + by) % len(QUESTIONS)]
        self.query_one(f"#answer-{question.id}", Input).focus()

    def action_choose(self) -> None:
        """Take the next of what there is to choose from."""
        question = QUESTIONS[self._question()]
        choices = self._choices(question.id)
        if choices:
            now = self.answers[question.id].strip()
            following = choices[(choices.index(now) + 1) % len(choices)] if now in choices else choices[0]
            self.query_one(f"#answer-{question.id}", TextEntry).choose(following)

    def action_finish(self) -> None:
        """Make the spec of it, where nothing is wrong with the answers."""
        wrong = problems(self.answers)
        if wrong:
            first = next(each for each in QUESTIONS if each.id in wrong)
            self.query_one(f"#answer-{first.id}", Input).focus()
            self._tell()
            return
        self._kept.settle(self.answers, modified=False, last=True)
        self.dismiss((f"{self.answers['name'].strip()}.yaml", spec_of(self.answers)))

    def action_cancel(self) -> None:
        """Make nothing; the answers are kept, or it is asked what becomes of them."""
        if not self._going_back:
            self._going_back = True
            self.run_worker(self._go_back(), exit_on_error=True)

    async def _go_back(self) -> None:
        unkept = await asyncio.to_thread(self._settle, last=False)
        answer = await self._choose_fate(unkept) if unkept else _DROP
        self._going_back = False
        if answer == _EDIT:
            self.action_finish()
        elif answer == _DROP:
            self.kept = not unkept and self.answers != DEFAULT_ANSWERS
            self.dismiss(None)

    async def _choose_fate(self, unkept: str) -> str | None:
        """What becomes of answers that cannot be kept: an Escape that is held down throws nothing away."""
        stay = Choice(_STAY, "Go on answering", "Nothing happens.")
        edit = Choice(_EDIT, "Go on to the editor", "They become a spec there, which can be saved in any folder.")
        drop = Choice(_DROP, "Throw the answers away", "What you typed is gone.")
        choices = (stay, drop) if problems(self.answers) else (stay, edit, drop)
        why = line(Span(f"! {unkept}", Tone.BAD))
        return await self.app.push_screen_wait(
            ChoiceList("Your answers cannot be kept", choices, self.services.now, lines=(why,), typed=False)
        )

    async def asked_before_leaving(self) -> Question | None:
        """Whether to leave without the answers, where they cannot be kept."""
        unkept = await asyncio.to_thread(self._settle, last=False)
        return unkept_question(unkept) if unkept else None
