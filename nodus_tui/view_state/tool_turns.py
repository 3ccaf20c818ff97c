"""Tool calls and their results in words: what a call asks for in one line and in full, how a result came out. All of it is foreign text."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from nodus_tui.contract.resources.agent_run import ToolCallRecord, ToolResultRecord
from nodus_tui.text import safe_text, wrap
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.figures import exact_span_text
from nodus_tui.view_state.words import Sign

FOLDED_LINES = 4
"""Lines of a result that stand there while it is folded."""
TEXT_LIMIT = 200_000
"""Characters of one argument or result that are shown; the whole stays in the backend."""

CALL_GLYPH = "▸"
_GIST_FIELDS = ("command", "path", "answer")
"""The argument that says in one line what a call does, the first that there is."""
_INDENT = "  "


@dataclass(frozen=True)
class CallWords:
    """What a call asks for."""

    gist: str
    """The command, the path, the answer; else the arguments as the model wrote them."""
    rest: tuple[tuple[str, str], ...]
    """The other arguments by name."""


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


def call_lines(calls: Sequence[ToolCallRecord], width: int, *, whole: bool) -> tuple[Line, ...]:
    """The calls of a reply: one line each, or with `whole` everything that they ask for."""
    lines: list[Line] = []
    for call in calls:
        words = call_words(call)
        head = line(Span(f"{_INDENT}{CALL_GLYPH} ", Tone.KEY), strong(call.name), _INDENT)
        if not whole:
            lines.append((*head, Span(words.gist)))
            continue
        first, *more = _text_lines(words.gist, width - 4)
        lines.append((*head, Span(first)) if not more and len(head[1].text) + len(first) + 6 <= width else head)
        if lines[-1] == head:
            lines.extend(line(f"{_INDENT * 2}{text}") for text in (first, *more))
        for name, value in words.rest:
            lines.append(line(muted(f"{_INDENT * 2}{name}:")))
            lines.extend(line(f"{_INDENT * 3}{text}") for text in _text_lines(value, width - 6))
    return tuple(lines)


def result_lines(results: Sequence[ToolResultRecord], width: int, *, whole: bool, key: str) -> tuple[Line, ...]:
    """The results of one turn: each with how it came out, and its first lines or, with `whole`, all; `key` shows the rest."""
    lines: list[Line] = []
    for result in results:
        sign = result_sign(result)
        lines.append(joined((line(Span("tool", Tone.WARN), f" {result.name}"), sign.spans(), line(muted(exact_span_text(result.seconds))))))
        lines.extend(_whole_result(result.text, width) if whole else _folded_result(result.text, key))
    return tuple(lines)


def _whole_result(text: str, width: int) -> list[Line]:
    return [line(f"{_INDENT}{each}") for each in _text_lines(text, width - 2)] if text else []


def _folded_result(text: str, key: str) -> list[Line]:
    # Only what is shown is made safe: a result may be long, and most of it stays folded.
    found = text.rstrip("\n").split("\n", FOLDED_LINES) if text else []
    rest = found[FOLDED_LINES].count("\n") + 1 if len(found) > FOLDED_LINES else 0
    if rest == 1:
        rest = 0
    shown = found if not rest else found[:FOLDED_LINES]
    lines = [line(f"{_INDENT}{safe_text(each, newlines=True)}") for each in shown]
    if rest:
        lines.append(line(muted(f"{_INDENT}… {rest:,} more lines ("), Span(key, Tone.KEY), muted(" shows all)")))
    return lines


def _text_lines(text: str, width: int) -> list[str]:
    return wrap(safe_text(text, limit=TEXT_LIMIT, newlines=True), max(2, width))
