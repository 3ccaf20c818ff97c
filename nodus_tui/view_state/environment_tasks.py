"""The tasks of one environment as pieces of a text that grows page by page. Prompts are foreign text, and no answer is in it."""

from collections.abc import Sequence

from nodus_tui.contract.environment_tasks import TaskPage, TaskView
from nodus_tui.text import safe_text
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted, strong
from nodus_tui.view_state.lazy_text import Piece, cut_text
from nodus_tui.view_state.wrapping import wrapped

PAGE = 50
"""Tasks that are asked for at once."""
_INDENT = "     "
"""Below the name of a task, which its number stands before."""


class EnvironmentTasks:
    """What is known of one split."""

    def __init__(self, split: str) -> None:
        self.split = split
        self.count = 0
        """Tasks that have come."""
        self.total: int | None = None
        self.more = True
        """Whether others follow."""
        self.loaded = False
        self.problem = ""
        """Why the last page did not come; empty where it came."""
        self.pieces: list[Piece] = []

    def take(self, page: TaskPage) -> None:
        """The next page arrived."""
        self.loaded, self.problem = True, ""
        self.total, self.more = page.total, page.more
        for task in page.tasks:
            self.count += 1
            self.pieces += _pieces(self.count, task)

    def fail(self, problem: str) -> None:
        """It did not: what has come stays."""
        self.problem = problem

    def words(self) -> str:
        """`50 of 500 tasks of test`, or `the first 50 tasks of test; there are always more`."""
        if self.total is None and self.more:
            return f"the first {self.count:,} tasks of {self.split}; there are always more"
        of = f" of {self.total:,}" if self.total is not None else ""
        return f"{self.count:,}{of} task{'' if self.count == 1 and not of else 's'} of {self.split}"


def _pieces(number: int, task: TaskView) -> list[Piece]:
    about = [f"{len(task.prompts)} messages"] if len(task.prompts) > 1 else []
    about += [f"files: {', '.join(task.files)}"] if task.files else []
    about += [f"image {task.image}"] if task.image else []
    head = line(Span(f"{number:>{len(_INDENT) - 1}} ", Tone.MUTED), strong(task.id), muted(f"  {'; '.join(about)}" if about else ""))
    pieces = [Piece(task.id, lambda width: wrapped((head,), width), owner=task.id)]
    for place, prompt in enumerate(task.prompts):
        if place:
            words = line(muted(f"{_INDENT}and after the reply:"))
            pieces.append(Piece("", lambda _width, words=words: (words,), owner=task.id, exact=1))  # type: ignore[misc]
        pieces += [_text(part, task.id) for part in cut_text(prompt)]
    pieces.append(Piece("", lambda _width: ((),), owner=task.id, exact=1))
    return pieces


def _text(part: str, owner: str) -> Piece:
    return Piece(part, lambda width: _prompt_lines(part, width), owner=owner)


def _prompt_lines(text: str, width: int) -> Sequence[Line]:
    shown = [line(safe_text(each, limit=len(each) + 1)) for each in text.split("\n")]
    return tuple((Span(_INDENT), *each) for each in wrapped(shown, max(1, width - len(_INDENT))))
