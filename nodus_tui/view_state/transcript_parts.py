"""A conversation as parts that a reader folds, marks, copies and searches: messages, tool calls with their results, the grader's words.

What a part shows is pieces of text (lazy_text.py), so that only what is on the screen is ever wrapped. All of it is foreign text.
"""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise

from nodus_tui.contract.phases import CallState
from nodus_tui.contract.resources.agent_run import CallRecord, ToolCallRecord, ToolResultRecord, Transcript, TranscriptTurn
from nodus_tui.values import Quiet
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.figures import count_text, exact_span_text, seconds_between, short_usd
from nodus_tui.view_state.lazy_text import Piece, cut_text
from nodus_tui.view_state.markdown import code_blocks
from nodus_tui.view_state.markdown_pieces import MarkdownPiece, code_text_lines, markdown_pieces, piece_lines, text_lines
from nodus_tui.view_state.tool_turns import ToolUse, arguments_text, hidden_arguments, use_line, use_text

_ROLE_TONES = {"system": Tone.MUTED, "user": Tone.INFO, "assistant": Tone.GOOD, "tool": Tone.WARN}
_INDENT = "  "
_WITHIN = "    "
"""Before what stands within a tool call."""

Known = dict[str, tuple[tuple[object, ...], "Part"]]
"""Parts by their keys, each with what it was made of: the same is not made again."""


class Part(Quiet, frozen=True):
    """One of them."""

    key: str
    turn: int
    """The place of its turn."""
    text: str
    """What is copied of it, as it was written."""
    head: Line
    """The first line of a message."""
    body: Sequence[Piece]
    """What it says; of a tool call, what it shows while it is unfolded."""
    use: ToolUse | None = None
    """The tool call that it is."""
    call: int | None = None
    """The number of the model call that it came from."""

    def first_line(self, width: int, *, unfolded: bool) -> Line:
        """What stands for it while it is folded, and above its body otherwise."""
        return self.head if self.use is None else use_line(self.use, width, unfolded=unfolded)

    def code(self) -> list[str]:
        """The code that can be copied of it: the blocks of a message; of a tool call, what it shows."""
        if self.use is None:
            return code_blocks(self.text)
        return [each for each in (*arguments_text(self.use), self.use.result.text if self.use.result is not None else "") if each]


def parts_of(transcript: Transcript, known: Known, *, raw: bool) -> Iterator[Part]:
    """The parts of a conversation in order; with `raw`, messages as they were written. `known` has those made before, and gets the new."""
    made = _Maker(known, raw=raw)
    calls = {call.number: call for call in transcript.calls}
    answers = _answers(transcript.turns)
    answering = {id(result) for result in answers.values()}
    for place, turn in enumerate(transcript.turns):
        call = calls.get(turn.call) if turn.call is not None else None
        tries = tuple(each for each in transcript.calls if call is not None and each.turn == call.turn)
        if turn.text or not turn.tool_results:
            yield made.message(place, turn, call, tries)
        for number, asked in enumerate(turn.tool_calls):
            yield made.tool(f"{turn.index}.{number}", place, asked, answers.get((place, number)), turn.call)
        for number, result in enumerate(turn.tool_results):
            if id(result) not in answering:
                yield made.tool(f"{turn.index}.{number}", place, None, result, None)
    if transcript.grader_message:
        yield made.grader(len(transcript.turns), transcript.grader_message)


def _answers(turns: Sequence[TranscriptTurn]) -> dict[tuple[int, int], ToolResultRecord]:
    """The result of each call, by the place of its turn and its own in it: the one with its id in the turn that follows; of results without
    an id, the next of its name.
    """
    found: dict[tuple[int, int], ToolResultRecord] = {}
    for place, (turn, following) in enumerate(pairwise(turns)):
        left = list(following.tool_results)
        for number, asked in enumerate(turn.tool_calls):
            chosen = next((each for each in left if asked.id and each.call_id == asked.id), None)
            if chosen is None:
                chosen = next((each for each in left if not each.call_id and each.name == asked.name), None)
            if chosen is not None:
                left = [each for each in left if each is not chosen]
                found[(place, number)] = chosen
    return found


class _Maker:
    """Makes parts, or finds those that were made of the same."""

    def __init__(self, known: Known, *, raw: bool) -> None:
        self._known = known
        self._raw = raw

    def _kept(self, key: str, made_of: tuple[object, ...], make: Callable[[], Part]) -> Part:
        found = self._known.get(key)
        if found is None or found[0] != made_of:
            found = self._known[key] = (made_of, make())
        return found[1]

    def message(self, place: int, turn: TranscriptTurn, call: CallRecord | None, tries: tuple[CallRecord, ...]) -> Part:
        """What somebody said."""
        key = str(turn.index)
        plain = self._raw or turn.role == "system"

        def make() -> Part:
            head = joined((line(Span(turn.role, _ROLE_TONES[turn.role])), *(call_words(call, tries) if call is not None else ())))
            return Part(key, place, turn.text, head, _said(turn, key, plain=plain) if turn.text else (), call=turn.call)

        return self._kept(key, (place, turn, tries, plain), make)

    def tool(self, key: str, place: int, asked: ToolCallRecord | None, result: ToolResultRecord | None, call: int | None) -> Part:
        """A call with its result."""

        def make() -> Part:
            use = ToolUse(asked, result)
            return Part(key, place, use_text(use), (), _within(use, key), use=use, call=call)

        return self._kept(key, (place, asked, result, call), make)

    def grader(self, place: int, text: str) -> Part:
        """What the grader says."""

        def make() -> Part:
            return Part(
                "grader", place, text, line(strong("grader")), [_piece(each, "grader", _INDENT, text_lines) for each in cut_text(text)]
            )

        return self._kept("grader", (place, text), make)


def _said(turn: TranscriptTurn, key: str, *, plain: bool) -> list[Piece]:
    if not plain:
        return [_rendered(piece, key) for piece in markdown_pieces(turn.text)]
    tone = Tone.MUTED if turn.role == "system" else Tone.PLAIN
    return [_piece(each, key, _INDENT, lambda text, width: text_lines(text, width, tone)) for each in cut_text(turn.text)]


def _within(use: ToolUse, key: str) -> list[Piece]:
    pieces = [_piece(each, key, _WITHIN, text_lines) for words in hidden_arguments(use) for each in cut_text(words)]
    if use.result is not None and use.result.text:
        pieces.extend(_piece(each, key, _WITHIN, code_text_lines) for each in cut_text(use.result.text.removesuffix("\n")))
    return pieces


def _rendered(piece: MarkdownPiece, key: str) -> Piece:
    # Two pieces of Markdown are two blocks: an empty line stands between them, as within one.
    gap = [()] if piece.ends_block else []
    return _piece(piece.text, key, _INDENT, lambda _text, width: [*piece_lines(piece, width), *gap])


def _piece(text: str, owner: str, indent: str, make: Callable[[str, int], Sequence[Line]]) -> Piece:
    return Piece(text, lambda width: _indented(make(text, max(2, width - len(indent))), indent), owner=owner)


def _indented(lines: Sequence[Line], indent: str) -> list[Line]:
    return [(Span(indent), *each) if each else () for each in lines]


def call_words(call: CallRecord, tries: Sequence[CallRecord]) -> tuple[Line, ...]:
    """What a model call cost and took, with the tries at the same reply that may have been paid."""
    lost = [each.cost_usd for each in tries if each.number != call.number and each.state == CallState.UNCONFIRMED.value]
    return (
        line(muted(f"call {call.number}")),
        line(Span(f"{short_usd(call.cost_usd)} unconfirmed", Tone.MARK))
        if call.state == CallState.UNCONFIRMED.value
        else line(muted(short_usd(call.cost_usd))),
        line(muted(token_words(call))),
        line(muted(exact_span_text(seconds_between(call.started_at, call.ended_at)))) if call.ended_at is not None else (),
        line(Span(f"try {call.attempt}", Tone.WARN)) if call.attempt > 1 else (),
        line(Span(f"{short_usd(sum(lost, Decimal(0)))} unconfirmed before", Tone.MARK)) if lost else (),
    )


def token_words(call: CallRecord) -> str:
    """The tokens of a call: input with what of it was cached, output; empty where the server has not said."""
    if call.input_tokens is None:
        return ""
    cached = f" ({count_text(call.cached_input_tokens)} cached)" if call.cached_input_tokens else ""
    return f"{count_text(call.input_tokens)}{cached} in, {count_text(call.output_tokens or 0)} out"
