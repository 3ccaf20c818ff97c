"""Code as lines of spans: keywords, strings and comments of the languages that agents write most. Knows tones, no theme and no screen.

Only a short list of lexers is used, and only on code of some size: any other code is plain text. What is given must be safe text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nodus_tui.view_state.cells import Line, Span, Tone

if TYPE_CHECKING:
    from pygments.token import _TokenType

MAX_CODE = 8_000
"""Characters of a block above which it is shown plainly: colours are worth no waiting."""

_LEXERS = {
    name: lexer
    for lexer, names in {
        "python": ("python", "py", "python3"),
        "bash": ("bash", "sh", "shell", "zsh"),
        "console": ("console", "shell-session"),
        "json": ("json", "jsonc"),
        "yaml": ("yaml", "yml"),
        "toml": ("toml",),
        "ini": ("ini", "cfg"),
        "javascript": ("javascript", "js", "jsx"),
        "typescript": ("typescript", "ts", "tsx"),
        "c": ("c", "h"),
        "cpp": ("cpp", "c++", "cc", "hpp"),
        "rust": ("rust", "rs"),
        "go": ("go", "golang"),
        "java": ("java",),
        "sql": ("sql",),
        "diff": ("diff", "patch"),
        "html": ("html",),
        "xml": ("xml",),
        "css": ("css",),
    }.items()
    for name in names
}
"""The lexers, by the labels that people and models write."""


def code_lines(code: str, label: str) -> list[Line]:
    """The lines of safe code, one each, with a tone for what each word is; plain where the label is of no known language."""
    lexer = _LEXERS.get(label.strip().casefold())
    if lexer is None or len(code) > MAX_CODE:
        return [(Span(each),) if each else () for each in code.split("\n")]
    # Imported here: only code needs them, and the console begins without.
    from pygments import lex  # noqa: PLC0415
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415

    lines = _in_lines((_tone_of(kind), text) for kind, text in lex(code, get_lexer_by_name(lexer, stripnl=False, ensurenl=False)))
    # A lexer that makes something else of the text than its words in colour is not believed.
    return lines if "\n".join("".join(span.text for span in each) for each in lines) == code else code_lines(code, "")


def _in_lines(words: Iterable[tuple[Tone, str]]) -> list[Line]:
    lines: list[list[Span]] = [[]]
    for tone, text in words:
        first, *more = text.split("\n")
        if first:
            lines[-1].append(Span(first, tone))
        lines.extend([Span(each, tone)] if each else [] for each in more)
    return [tuple(each) for each in lines]


def _tone_of(kind: _TokenType) -> Tone:
    from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, String  # noqa: PLC0415

    for family, tone in (
        (Comment, Tone.MUTED),
        (Keyword, Tone.KEY),
        (Number, Tone.INFO),
        (String, Tone.GOOD),
        (Literal, Tone.GOOD),
        (Name.Function, Tone.STRONG),
        (Name.Class, Tone.STRONG),
        (Name.Tag, Tone.KEY),
        (Generic.Inserted, Tone.GOOD),
        (Generic.Deleted, Tone.BAD),
        (Generic.Heading, Tone.STRONG),
        (Generic.Subheading, Tone.INFO),
    ):
        if kind in family:
            return tone
    return Tone.PLAIN
