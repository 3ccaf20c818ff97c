"""A recording as lines of text: what changed, when. For pipes, screen readers, and terminals that can draw nothing."""

from collections.abc import Iterator

from pydantic import JsonValue, ValidationError

from nodus_tui.cli.change_lines import ChangeLines
from nodus_tui.contract.events import EventBatch
from nodus_tui.contract.playback import place_text
from nodus_tui.recording.lines import ACTED, BATCH, END, LOST, SNAPSHOT
from nodus_tui.recording.reading import RecordingReader
from nodus_tui.recording.state import FIELDS, RecordedState

_PLACE = 9


class RecordedLines:
    """The lines of a recording, one line of the file after the other. They quote foreign text, which is for safe_text only."""

    def __init__(self, reader: RecordingReader) -> None:
        self._reader = reader
        self._changes = ChangeLines()

    def of(self, place: int) -> Iterator[str]:
        """What one line of the file tells."""
        kind = self._reader.kinds[place]
        seconds = self._reader.times[place]
        at = f"{place_text(seconds)}.{int(seconds % 1 * 10)}".rjust(_PLACE)
        for text in self._texts(kind, self._reader.line(place)):
            yield f"{at}  {text}"

    def _texts(self, kind: str, document: dict[str, JsonValue]) -> Iterator[str]:
        if kind == BATCH:
            try:
                batch = EventBatch.model_validate(document.get("answer"))
            except (ValidationError, RecursionError):
                return
            for event in batch.events:
                yield from self._changes.of(event)
        elif kind == SNAPSHOT:
            yield from self._snapshot(document.get("answer"))
        elif kind == ACTED:
            yield _acted(document.get("asked"), document.get("answer"), document.get("problem"))
        elif kind == LOST:
            yield f"the stream was lost: {_field(document.get('problem'), 'detail')}"
        elif kind == END:
            yield f"the recording ends ({_field(document, 'why') or 'closed'})"

    def _snapshot(self, answer: JsonValue) -> Iterator[str]:
        state = RecordedState()
        state.load(answer)
        counts = []
        for kind in FIELDS:
            known = state.all(kind)
            for each in known:
                self._changes.known(kind, each.name, each.status.to_document() if each.status is not None else {})
            if known:
                counts.append(f"{len(known)} {kind}{'s' if len(known) != 1 else ''}")
        yield f"the whole state: {', '.join(counts) or 'nothing yet'}"


def _acted(asked: JsonValue, answer: JsonValue, problem: JsonValue) -> str:
    who = _field(asked, "author") or "somebody"
    what = _field(asked, "action")
    target = _field(asked, "name") or _field(asked, "group")
    came = _field(problem, "detail") or _field(answer, "message") or "done"
    return f"{who}: {what}{' ' if target else ''}{target}: {came}"


def _field(document: JsonValue, name: str) -> str:
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, str) else ""
