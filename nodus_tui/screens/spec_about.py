"""What stands below the text of a spec: the problem of its line, what can be typed there, and the field that is under the cursor."""

from msgspec import Struct

from nodus_tui.authoring.completion import Names, Proposal, help_at, proposals
from nodus_tui.authoring.outline import Outline
from nodus_tui.contract.errors import Fault
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted, strong
from nodus_tui.view_state.spec_checks import problem_line
from nodus_tui.view_state.wrapping import clipped

LONG = 256 * 1024
"""Characters from which on a text is neither completed nor estimated as it is typed: finding out where the cursor is takes too long."""
LONG_WORDS = "long text: nothing is completed or estimated as you type"


class About(Struct, frozen=True):
    """What is under the cursor."""

    path: str = ""
    form: str = ""
    help: str = ""
    found: tuple[Proposal, ...] = ()


def about_at(outline: Outline, row: int, column: int, names: Names) -> About:
    """What stands at a place, and what can be typed there."""
    path, field = help_at(outline, row, column)
    found = proposals(outline, outline.place(row, column), names)
    return About(path, field.form, field.help, found) if field is not None else About(found=found)


def about_lines(about: About, fault: Fault | None, complete: Line, width: int) -> tuple[Line, ...]:
    """At most three lines; `complete` is the key that completes."""
    lines: list[Line] = [*clipped((problem_line(fault),), width, 2)] if fault is not None else []
    if about.found:
        words = " · ".join(each.word for each in about.found[:12])
        lines += clipped((line(*complete, words),), width, 1)
    if about.path:
        told: tuple[str | Span, ...] = (strong(about.path), muted(f"  {about.form}" if about.form else ""))
        lines += clipped((line(*told, f"  {about.help}" if about.help else ""),), width, 2)
    return tuple(lines[:3])


def long_lines(fault: Fault | None, estimate: Line, width: int) -> tuple[Line, ...]:
    """The same of a text that is too long for it; `estimate` is the key that estimates."""
    told = (line(Span(f"~ A {LONG_WORDS}; ", Tone.WARN), *estimate),)
    return (*(clipped((problem_line(fault),), width, 2) if fault is not None else ()), *clipped(told, width, 2))[:3]
