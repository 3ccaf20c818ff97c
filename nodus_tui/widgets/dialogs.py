"""Dialogs: a question with Cancel chosen at first, a question for one text, and the list of all keys."""

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from msgspec import Struct
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from nodus_tui.view_state.cells import Line, Span, Tone, hint, line, muted, strong
from nodus_tui.view_state.key_actions import USUAL, Situation, View
from nodus_tui.view_state.proposals import Question
from nodus_tui.view_state.wrapping import wrapped
from nodus_tui.widgets.choice_row import ChoiceRow
from nodus_tui.widgets.span_block import SpanBlock
from nodus_tui.widgets.text_entry import TextEntry
from nodus_tui.widgets.text_pane import TextPane

Result = TypeVar("Result")


class AskingScreen(ModalScreen[Result]):
    """A dialog whose text may be longer than the terminal is high: it scrolls, and what has the keys stays in sight."""

    DIALOG_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (("Enter", "do it"), ("Esc", "cancel"))
    """Its keys and what they do, for the footer meanwhile."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll_text(-1)", show=False),
        Binding("pagedown", "scroll_text(1)", show=False),
    ]

    async def asked_before_leaving(self) -> Question | None:
        """What is asked before the console is left, where what was typed here would be lost; None where nothing is."""
        return None

    def action_scroll_text(self, by: int) -> None:
        """Scroll by half of what is seen."""
        dialog = self.query_one("#dialog", Vertical)
        dialog.scroll_relative(y=by * max(1, dialog.size.height // 2), animate=False)


class ConfirmDialog(AskingScreen[bool]):
    """Asks before something that cannot be taken back. Enter at once means Cancel."""

    DIALOG_KEYS = (("Tab", "choose"), ("Enter", "take what is chosen"), ("Esc", "cancel"))

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n,q", "cancel", show=False),
        Binding("tab", "step(1)", show=False),
        Binding("shift+tab", "step(-1)", show=False),
    ]

    def __init__(self, question: Question) -> None:
        super().__init__()
        self.question = question

    def compose(self) -> ComposeResult:
        """Title, lines, what must be typed, buttons."""
        with Vertical(id="dialog"):
            yield SpanBlock(widget_id="text")
            if self.question.typed:
                entry = TextEntry(id="typed")
                entry.cursor_blink = False
                yield entry
                yield SpanBlock(widget_id="problem")
            yield ChoiceRow(("Cancel", self.question.go), dangerous=True, widget_id="choices")

    def on_mount(self) -> None:
        """Fill in the text."""
        lines: list[Line] = [line(Span(self.question.title, Tone.WARN)), (), *self.question.lines]
        if self.question.typed:
            lines += [(), line("Type ", strong(self.question.typed), " to do it:")]
        self.query_one("#text", SpanBlock).show(lambda width: wrapped(lines, width))
        self.query_one("#typed" if self.question.typed else "#choices").focus()

    def action_step(self, by: int) -> None:
        """To the next button, or the one before; what is typed is one more stop, and behind the last comes the first."""
        row = self.query_one(ChoiceRow)
        if not row.has_focus:
            row.enter_from(by)
        elif not row.step(by):
            if self.question.typed:
                self.query_one("#typed").focus()
            else:
                row.enter_from(by)

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """The typed text leads to the buttons, it does nothing by itself: to the one that does it where it is what must be typed."""
        self.query_one(ChoiceRow).enter_from(-1 if self._typed_right() else 1)

    def _typed_right(self) -> bool:
        return not self.question.typed or self.query_one("#typed", Input).value.strip() == self.question.typed

    def on_choice_row_pressed(self, event: ChoiceRow.Pressed) -> None:
        """Cancel, or do it where what must be typed is typed."""
        if event.index == 0:
            self.dismiss(result=False)
            return
        if not self._typed_right():
            problem = line(Span(f"Type {self.question.typed} above first.", Tone.BAD))
            self.query_one("#problem", SpanBlock).show(lambda _width: (problem,))
            self.query_one("#typed").focus()
            return
        self.dismiss(result=True)

    def action_cancel(self) -> None:
        """Do nothing."""
        self.dismiss(result=False)


class Switch(Struct, frozen=True):
    """A choice of two beside a text: what holds now, and what Tab would change."""

    off: tuple[str, str]
    on: tuple[str, str]
    remark: Callable[[str], Line] | None = None
    """What a text comes to where it is turned on; None for the same as where it is not."""


class PromptDialog(AskingScreen[tuple[str, bool] | None]):
    """Asks for one text, says what is wrong with it or what it comes to as it is typed, and offers one switch where there is one."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("tab,shift+tab", "switch", show=False, priority=True),
    ]

    def __init__(
        self,
        title: str,
        lines: Sequence[Line],
        *,
        value: str,
        problem: Callable[[str], str],
        switch: Switch | None = None,
        remark: Callable[[str], Line] | None = None,
    ) -> None:
        super().__init__()
        self.title_text = title
        self.lines = tuple(lines)
        self.value = value
        self.problem = problem
        self.switch = switch
        self.remark = remark
        self.switched = False

    def compose(self) -> ComposeResult:
        """Title, lines, the input, what is wrong, the switch."""
        with Vertical(id="dialog"):
            yield SpanBlock(widget_id="text")
            entry = TextEntry(value=self.value, id="value")
            entry.cursor_blink = False
            yield entry
            yield SpanBlock(widget_id="problem")

    def on_mount(self) -> None:
        """Fill in the text."""
        lines = [line(Span(self.title_text, Tone.TITLE)), *(((), *self.lines) if self.lines else ())]
        self.query_one("#text", SpanBlock).show(lambda width: wrapped(lines, width))
        self._show_problem(self.value)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Check as it is typed."""
        self._show_problem(event.value)

    def _show_problem(self, value: str) -> None:
        problem = self.problem(value)
        below = (
            line(Span(f"! {problem}", Tone.BAD))
            if problem
            else (*hint("Enter", " does it", "submit"), muted("  "), *hint("Esc", " cancels", "cancel"))
        )
        remark = () if problem else self._remark(value)
        lines: list[Line] = [remark, ()] if remark else []
        if self.switch is not None:
            holds, other = self.switch.on if self.switched else self.switch.off
            lines += [line(holds), hint("Tab", f" {other}", "switch"), ()]
        lines.append(below)
        self.query_one("#problem", SpanBlock).show(lambda width: wrapped(lines, width))

    def _remark(self, value: str) -> Line:
        turned = self.switch.remark if self.switch is not None and self.switched else None
        remark = turned or self.remark
        return remark(value) if remark is not None else ()

    def on_input_submitted(self) -> None:
        """Give it back where nothing is wrong with it."""
        self.action_submit()

    def action_submit(self) -> None:
        """The same by a click."""
        value = self.query_one(Input).value
        if not self.problem(value):
            self.dismiss((value, self.switched))

    def action_switch(self) -> None:
        """Turn the switch."""
        if self.switch is not None:
            self.switched = not self.switched
            self._show_problem(self.query_one(Input).value)

    def action_cancel(self) -> None:
        """Do nothing."""
        self.dismiss(None)


class HelpOverlay(ModalScreen[None]):
    """All keys of a view, and what its signs mean."""

    AUTO_FOCUS = "TextPane"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", show=False),
        Binding("question_mark,f1", "close", show=False, id="keys.help"),
    ]

    def __init__(self, view: View, situation: Situation = USUAL) -> None:
        super().__init__()
        self.view = view
        self.situation = situation

    def compose(self) -> ComposeResult:
        """One scrolling text."""
        with Vertical(id="dialog", classes="help"):
            yield TextPane(widget_id="help")

    def on_text_pane_resized(self) -> None:
        """Fit the text to the width."""
        # Imported here: it knows the signs of all views.
        from nodus_tui.view_state.view_help import HELP_INDENT, help_lines  # noqa: PLC0415

        pane = self.query_one(TextPane)
        pane.show(wrapped(help_lines(self.view, self.situation, pane.text_width), pane.text_width, hang=HELP_INDENT))

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)
