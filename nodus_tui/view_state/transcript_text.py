"""A conversation as plain text: for `describe`, a pager, an editor and the clipboard. Foreign text passes safe_text. Pure."""

from collections.abc import Callable
from datetime import datetime

from nodus_tui.contract.resources.agent_run import Transcript, TranscriptTurn
from nodus_tui.text import safe_text
from nodus_tui.view_state.figures import exact_span_text
from nodus_tui.view_state.tool_turns import CALL_GLYPH, call_words, result_sign

Moment = Callable[[datetime], str]
"""How a moment is written."""

_NO_LIMIT = 100_000_000
"""Characters of one message that are shown: all that a reply can have."""


def conversation_text(transcript: Transcript, *, moment: Moment) -> str:
    """One message after the other, as they were written; empty where nothing was said."""
    parts = [_turn_text(turn, moment) for turn in transcript.turns]
    if transcript.grader_message:
        parts.append(f"[grader]\n{_block(transcript.grader_message)}")
    return "\n\n".join(parts)


def copied_text(text: str) -> str:
    """Foreign text for a clipboard, as it was written but for what a terminal would obey when it is pasted; tabs stay."""
    return "\t".join(safe_text(part, newlines=True, limit=_NO_LIMIT) for part in text.split("\t"))


def _turn_text(turn: TranscriptTurn, moment: Moment) -> str:
    call = f", call {turn.call}" if turn.call is not None else ""
    lines = [f"[{turn.role}{call}, {moment(turn.at)}]"]
    if turn.text or not (turn.tool_calls or turn.tool_results):
        lines.append(_block(turn.text))
    for asked in turn.tool_calls:
        words = call_words(asked)
        lines.append(f"{CALL_GLYPH} {safe_text(asked.name)}  {_block(words.gist, indent=2)}".rstrip())
        for name, value in words.rest:
            text = _trimmed(value)
            gap = "\n    " if "\n" in text else " "
            lines.append(f"  {safe_text(name)}:{gap}{_block(text, indent=4)}")
    for result in turn.tool_results:
        sign = result_sign(result)
        lines.append(f"{sign.glyph} {safe_text(result.name)}: {sign.word}, {exact_span_text(result.seconds)}")
        if result.text:
            lines.append("  " + _block(_trimmed(result.text), indent=2))
    return "\n".join(lines)


def _trimmed(text: str) -> str:
    return text.rstrip("\n")


def _block(text: str, *, indent: int = 0) -> str:
    """Foreign text of several lines, the lines after the first indented."""
    return safe_text(text, newlines=True, limit=_NO_LIMIT).replace("\n", "\n" + " " * indent)
