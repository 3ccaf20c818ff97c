"""Tool calls and their results in words: what a call asks for in one line and in full, how it came out. All of it is foreign text."""

import json

from msgspec import Struct

from nodus_tui.contract.resources.agent_run import ToolCallRecord, ToolResultRecord
from nodus_tui.text import safe_text
from nodus_tui.view_state.cells import Line, Span, Tone, cut_line, joined, line, line_width, muted, strong
from nodus_tui.view_state.figures import exact_span_text
from nodus_tui.view_state.files import size_text
from nodus_tui.view_state.words import Sign

CALL_GLYPH = "▸"
OPEN_GLYPH = "▾"
_GIST_FIELDS = ("command", "path", "answer")
"""The argument that says in one line what a call does, the first that there is."""
_GIST = 1_000
"""Characters of it that are looked at for one line."""
_SHORT_GIST = 20
"""Characters that the one line always has room for."""
_LEAST_GIST = 12
"""Cells that are left for it beside how a call came out."""


class CallWords(Struct, frozen=True):
    """What a call asks for."""

    gist: str
    """The command, the path, the answer; else the arguments as the model wrote them."""
    rest: tuple[tuple[str, str], ...]
    """The other arguments by name."""


class ToolUse(Struct, frozen=True):
    """A call with its result, as far as there are both."""

    call: ToolCallRecord | None
    result: ToolResultRecord | None

    @property
    def name(self) -> str:
        """The tool."""
        return self.call.name if self.call is not None else self.result.name if self.result is not None else ""


def call_words(call: ToolCallRecord) -> CallWords:
    """The words of a call. Arguments that are no JSON object stand there as the model wrote them."""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        return CallWords(call.arguments, ())
    gist = next((name for name in _GIST_FIELDS if isinstance(arguments.get(name), str)), None)
    if gist is None:
        return CallWords(call.arguments if arguments else "", ())
    rest = tuple((name, value if isinstance(value, str) else json.dumps(value)) for name, value in arguments.items() if name != gist)
    return CallWords(arguments[gist], rest)


def result_sign(result: ToolResultRecord) -> Sign:
    """How a result came out: an error of the tool, a command's exit code, or that it was killed for its time."""
    if result.is_error:
        return Sign("!", "error" if result.exit_code is None else f"error, exit {result.exit_code}", Tone.BAD)
    if result.exit_code is None:
        return Sign("!", "killed", Tone.WARN) if result.name == "bash" else Sign("✓", "done", Tone.MUTED)
    return Sign("✓", "exit 0", Tone.MUTED) if result.exit_code == 0 else Sign("!", f"exit {result.exit_code}", Tone.WARN)


def use_line(use: ToolUse, width: int, *, unfolded: bool = False) -> Line:
    """A call in one line: the tool and what it was asked for; at the right how it came out, how long it took, how much it said."""
    glyph = OPEN_GLYPH if unfolded else CALL_GLYPH
    words = call_words(use.call).gist if use.call is not None else ""
    asked = safe_text(words[:_GIST].strip(), limit=_GIST)
    left = line(Span(f"  {glyph} ", Tone.KEY), strong(safe_text(use.name)), "  ", asked)
    right = outcome_line(use.result)
    room = width - line_width(right) - 2
    if room < line_width(left[:2]) + _LEAST_GIST:
        return cut_line(left, width)
    kept = cut_line(left, room)
    return (*kept, Span(" " * (width - line_width(kept) - line_width(right))), *right)


def outcome_line(result: ToolResultRecord | None) -> Line:
    """How a call came out."""
    if result is None:
        return line(Span("no result yet", Tone.INFO))
    size = size_text(len(result.text.encode("utf-8", "replace")))
    return joined((result_sign(result).spans(), line(muted(exact_span_text(result.seconds))), line(muted(size))))


def arguments_text(use: ToolUse) -> tuple[str, ...]:
    """All that a call asks for: the gist where one line may not hold it, then each other argument by its name."""
    if use.call is None:
        return ()
    words = call_words(use.call)
    rest = tuple(f"{name}:\n  {value}" if "\n" in value else f"{name}: {value}" for name, value in words.rest)
    return (*((words.gist,) if words.gist else ()), *rest)


def hidden_arguments(use: ToolUse) -> tuple[str, ...]:
    """What of it the one line does not show at every width."""
    gist, *rest = arguments_text(use) or ("",)
    return tuple(each for each in ("" if _short(gist) else gist, *rest) if each)


def shown_words(use: ToolUse) -> str:
    """What of it the one line shows at every width: the words that nobody finds elsewhere."""
    gist, *_ = arguments_text(use) or ("",)
    return f"{use.name}  {gist}" if gist and _short(gist) else use.name


def _short(gist: str) -> bool:
    return len(gist) <= _SHORT_GIST and "\n" not in gist


def use_text(use: ToolUse) -> str:
    """A call and its result as text, as they were written."""
    asked = "\n".join(arguments_text(use))
    said = use.result.text if use.result is not None else ""
    return "\n".join(part for part in (f"{use.name}: {asked}".rstrip(), said.removesuffix("\n")) if part)
