"""A safe YAML reader: plain Python values, the place of everything, and faults instead of exceptions.

It builds from PyYAML's events without recursion, so that nothing in a file can cost more than its length. A spec file is UTF-8 of at
most 1 MiB, with at most 1,000 documents, 100,000 values and 50 levels. It has no aliases, tags, merge keys, or keys twice. Scalars in
quotes are text; plain ones are what `resolve_plain` says, and nothing else. Lists become tuples, for that is what the resources hold.
"""

import re
from collections.abc import Iterator

import yaml
from msgspec import Struct, field

from nodus_tui.contract.errors import Fault
from nodus_tui.contract.spec_loading.bundle import Position, path_text
from nodus_tui.contract.spec_loading.paths import Path
from nodus_tui.contract.spec_loading.scalars import resolve_plain
from nodus_tui.contract.spec_loading.yaml_syntax import INDENTED_MARK, indented_mark, syntax_message
from nodus_tui.contract.spec_loading.yaml_text import PlacedText, UnreadableTextError, decode
from nodus_tui.contract.wording import quoted

MAX_DOCUMENTS = 1000
MAX_DEPTH = 50
MAX_VALUES = 100_000
MAX_READING_FAULTS = 100
"""Faults of reading one file, after which the rest of it is not read."""

_MERGE_KEY = "<<"
_STANDARD_TAG = "tag:yaml.org,2002:"
_BAD_ESCAPE = re.compile(r"\\U(?!0010|000[0-9a-fA-F])[0-9a-fA-F]{8}")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class SourceDocument(Struct):
    """One document as it was written."""

    index: int
    """Its place among the documents of the file that are not empty, from 0."""
    value: object = None
    """dict, tuple, str, int, SourceFloat, bool or None."""
    positions: dict[Path, Position] = field(default_factory=dict)
    """Where each value begins; `()` is the document."""
    key_positions: dict[Path, Position] = field(default_factory=dict)
    """Where the key of each value begins."""
    spoiled: set[Path] = field(default_factory=set)
    """Values about which the reader has told a fault: what they hold means nothing."""
    incomplete: set[Path] = field(default_factory=set)
    """Mappings of which the reader left something out."""
    twice: set[Path] = field(default_factory=set)
    """Values whose key stands twice: the first is kept, and nobody knows which is meant."""
    broken: bool = False
    """It could not be read to its end."""
    beginning: dict[str, object] = field(default_factory=dict)
    """Of a broken document, the fields that were read whole before it broke."""


class ReadFile(Struct, frozen=True):
    """Everything that reading a file gave."""

    documents: tuple[SourceDocument, ...]
    faults: tuple[Fault, ...]
    whole: bool = True
    """Whether it was read to its end; else it may hold documents that nobody knows of."""


class _StopReadingError(Exception):
    """The rest of the document, or of the file, is not read."""

    def __init__(self, message: str, position: Position, *, whole_file: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.whole_file = whole_file


class _Frame(Struct):
    """A collection that is being filled. Without a path it is one whose content is thrown away."""

    path: Path | None
    start: int
    """The index in the text where it begins."""
    mapping: dict[str, object] | None = None
    items: list[object] = field(default_factory=list)
    key: str | None = None
    """The key whose value comes next; None while a key comes next."""
    dropping: bool = False
    """The value that comes next is thrown away."""
    is_key: bool = False
    """It stands where a key should."""


class _Builder:
    """Builds the documents of one file from events."""

    def __init__(self, file: str, placed: PlacedText) -> None:
        self._file = file
        self._placed = placed
        self._base = 0
        self._chunk = ""
        self._values = 0
        self._frames: list[_Frame] = []
        self._document = SourceDocument(0)
        self.documents: list[SourceDocument] = []
        self.faults: list[Fault] = []
        self.whole = True

    def read(self) -> None:
        """Read all documents."""
        for base, text in self._placed.chunks():
            self._base, self._chunk = base, text
            self._frames = []
            self._document = SourceDocument(len(self.documents))
            try:
                self._read_chunk(text)
            except _StopReadingError as stop:
                self._document.broken = True
                if self._frames and self._frames[0].path == ():
                    self._document.beginning = self._frames[0].mapping or {}
                self._keep()
                self._tell(stop.message, stop.position)
                if stop.whole_file:
                    self.whole = False
                    return

    def _read_chunk(self, text: str) -> None:
        last = 0
        try:
            for event in self._events(text):
                last = event.end_mark.index if event.end_mark else last
                self._handle(event)
        except yaml.MarkedYAMLError as error:
            message, index = syntax_message(error, text, [frame.start for frame in self._frames])
            raise _StopReadingError(message, self._position(index)) from None
        except (ValueError, OverflowError):
            # The scanner lets chr() and int() fail on escapes and version numbers that are out of range.
            escape = _BAD_ESCAPE.search(text, last)
            message = f"{escape[0]} is no character" if escape else "this is not YAML"
            raise _StopReadingError(message, self._position(escape.start() if escape else last)) from None

    @staticmethod
    def _events(text: str) -> Iterator[yaml.Event]:
        # The pure Python parser on purpose: the C one accepts other files, and may be absent.
        events: Iterator[yaml.Event] = yaml.parse(text, Loader=yaml.SafeLoader)
        return events

    def _position(self, index: int) -> Position:
        return self._placed.position(self._base + index)

    def _fault(self, message: str, position: Position, path: Path = (), suggestion: str = "") -> None:
        if len(self.faults) >= MAX_READING_FAULTS:
            raise _StopReadingError("the rest of the file is not read: it has too many faults already", position, whole_file=True)
        self._tell(message, position, path, suggestion)

    def _tell(self, message: str, position: Position, path: Path = (), suggestion: str = "") -> None:
        self.faults.append(
            Fault(
                message=message,
                file=self._file,
                document=self._document.index,
                line=position.line,
                column=position.column,
                path=path_text(path),
                suggestion=suggestion,
            )
        )

    def _keep(self) -> None:
        document = self._document
        if document.value is not None or document.spoiled or document.broken:
            self.documents.append(document)

    def _handle(self, event: yaml.Event) -> None:
        position = self._position(event.start_mark.index if event.start_mark else 0)
        match event:
            case yaml.DocumentStartEvent():
                self._frames = []
                if len(self.documents) >= MAX_DOCUMENTS:
                    raise _StopReadingError(f"the file has more than {MAX_DOCUMENTS:,} documents", position, whole_file=True)
            case yaml.DocumentEndEvent():
                self._keep()
                self._document = SourceDocument(len(self.documents))
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._close(self._frames.pop())
            case yaml.NodeEvent():
                self._begin(event, position)
            case _:
                pass

    def _begin(self, event: yaml.NodeEvent, position: Position) -> None:
        self._values += 1
        if self._values > MAX_VALUES:
            raise _StopReadingError(f"the file has more than {MAX_VALUES:,} values", position, whole_file=True)
        top = self._frames[-1] if self._frames else None
        if top is not None and top.mapping is not None and top.key is None and not top.dropping:
            self._key(top, event, position)
        else:
            self._value(self._path_of_next(top), event, position)

    @staticmethod
    def _path_of_next(top: _Frame | None) -> Path | None:
        if top is None:
            return ()
        if top.path is None or top.dropping:
            return None
        if top.mapping is None:
            return (*top.path, len(top.items))
        return (*top.path, top.key or "")

    def _key(self, frame: _Frame, event: yaml.NodeEvent, position: Position) -> None:
        """Take a mapping's next key; one that cannot be used drops its value."""
        key = self._checked_key(frame, event, position) if frame.path is not None else None
        if key is None:
            frame.dropping = True
            if isinstance(event, yaml.CollectionStartEvent):
                # The key's own content comes first: it is thrown away, and then its value.
                frame.dropping = False
                self._open(None, event, position)
                self._frames[-1].is_key = True
            return
        frame.key = key
        if frame.path is not None:
            self._document.key_positions[(*frame.path, key)] = position

    def _checked_key(self, frame: _Frame, event: yaml.NodeEvent, position: Position) -> str | None:
        """The key's text, or None after a fault was told."""
        path = frame.path or ()
        if not isinstance(event, yaml.ScalarEvent) or event.tag is not None:
            self._fault("a key is plain text here, not a list, a mapping, an alias or a tagged value", position, path)
            return None
        text = str(event.value)
        plain = event.implicit[0]
        suggestion = ""
        if plain and text == _MERGE_KEY:
            self._document.incomplete.add(path)
            message = 'the merge key "<<" is not used in specs; write the fields out'
        elif plain and not text:
            message = 'a key is missing before this ":"'
        elif plain and not self._is_text(text):
            message, suggestion = f"the key {quoted(text)} is no text: put it in quotes", text
        elif _UNSTORABLE.search(text):
            message = f"the key {quoted(text)} holds a NUL or half a surrogate pair"
        elif frame.mapping is not None and text in frame.mapping:
            first = self._document.key_positions[(*path, text)]
            message = f"the key {quoted(text)} stands here twice; the first is in line {first.line}"
            path = (*path, text)
            self._document.twice.add(path)
        else:
            return text
        self._fault(message, position, path, suggestion)
        return None

    @staticmethod
    def _is_text(text: str) -> bool:
        try:
            return isinstance(resolve_plain(text), str)
        except ValueError:
            return False

    def _value(self, path: Path | None, event: yaml.NodeEvent, position: Position) -> None:
        if path is not None:
            self._document.positions[path] = position
        if isinstance(event, yaml.CollectionStartEvent):
            self._refuse_tag(path, event, position)
            self._open(path, event, position)
            return
        if isinstance(event, yaml.AliasEvent):
            self._spoil(path, f"the alias {quoted('*' + str(event.anchor))} is not used in specs; write the value out", position)
            self._deliver(None)
            return
        self._deliver(self._scalar(path, event, position) if isinstance(event, yaml.ScalarEvent) else None)

    def _scalar(self, path: Path | None, event: yaml.ScalarEvent, position: Position) -> object:
        if self._refuse_tag(path, event, position):
            return None
        text = str(event.value)
        if event.implicit[0]:
            if "---" in text and (mark := self._mark_in(event)) is not None:
                self._spoil(path, INDENTED_MARK, self._position(mark))
                return None
            try:
                return resolve_plain(text)
            except ValueError as error:
                self._spoil(path, str(error), position)
                return None
        if _UNSTORABLE.search(text):
            self._spoil(path, f"the text {quoted(text)} holds a NUL or half a surrogate pair", position)
            return None
        return text

    def _mark_in(self, event: yaml.ScalarEvent) -> int | None:
        """Where in a plain text a line has a `---` that was to begin a document."""
        start, end = event.start_mark, event.end_mark
        return indented_mark(self._chunk, start.index, end.index) if start is not None and end is not None else None

    def _refuse_tag(self, path: Path | None, event: yaml.ScalarEvent | yaml.CollectionStartEvent, position: Position) -> bool:
        if event.tag is None:
            return False
        tag = str(event.tag).replace(_STANDARD_TAG, "!!", 1)
        self._spoil(path, f"the tag {quoted(tag)} is not used in specs; write the plain value", position)
        return True

    def _spoil(self, path: Path | None, message: str, position: Position) -> None:
        if path is not None:
            self._fault(message, position, path)
            self._document.spoiled.add(path)

    def _open(self, path: Path | None, event: yaml.CollectionStartEvent, position: Position) -> None:
        if len(self._frames) >= MAX_DEPTH:
            raise _StopReadingError(f"lists and mappings lie more than {MAX_DEPTH} deep in each other", position)
        start = event.start_mark.index if event.start_mark else 0
        self._frames.append(_Frame(path, start, mapping={} if isinstance(event, yaml.MappingStartEvent) else None))

    def _close(self, frame: _Frame) -> None:
        if frame.is_key:
            self._frames[-1].dropping = True
            return
        self._deliver(frame.mapping if frame.mapping is not None else tuple(frame.items))

    def _deliver(self, value: object) -> None:
        """Put a finished value where it belongs."""
        if not self._frames:
            self._document.value = value
            return
        top = self._frames[-1]
        if top.mapping is None:
            top.items.append(value)
        elif top.key is not None:
            top.mapping[top.key] = value
        top.key = None
        top.dropping = False


def read_documents(data: bytes, file: str) -> ReadFile:
    """All documents of a file that are not empty, in order, and all faults of reading it. It raises nothing."""
    try:
        placed = decode(data)
    except UnreadableTextError as fault:
        where = fault.position
        return ReadFile((), (Fault(message=fault.message, file=file, line=where.line, column=where.column),), whole=False)
    builder = _Builder(file, placed)
    builder.read()
    return ReadFile(tuple(builder.documents), tuple(builder.faults), builder.whole)
