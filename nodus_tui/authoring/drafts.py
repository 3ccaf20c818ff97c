"""Drafts: text that was not saved, kept in the state folder so that no crash loses it, and offered when its file is opened again.

Each editor has a file of its own for it: of two consoles that edit one file, neither writes over what was typed in the other.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from msgspec import Struct

from nodus_tui.authoring.own_places import OwnPlace, is_held, take
from nodus_tui.authoring.text_file import Stamp, TextFileError, read_text, write_text
from nodus_tui.kept_json import read_kept

_MOST_BYTES = 8 << 20
_DRAFT = ".json"
_FORM, _ANSWERS = "form", ".answers"
"""The files with the answers of the guided form; their ending keeps them apart from the drafts of files."""

What = TypeVar("What")


class Draft(Struct, frozen=True):
    """An unsaved text of one file."""

    path: Path
    """The file that it is to be."""
    text: str
    base: Stamp
    """What the file was when the editing began."""


class Drafts:
    """The drafts of a state folder; without one, none are kept. What an editor that is open has is its own: nobody else is shown it."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def place(self, path: Path) -> "DraftPlace":
        """Where the editor of a file keeps what is unsaved."""
        return DraftPlace(self._folder, path)

    def unsaved(self) -> Iterator[Draft]:
        """All that can be read and that no editor has. One that says what its file says is removed: nothing in it is to be gone on with."""
        for file in _every(self._folder):
            if is_held(file):
                continue
            draft = _read(file)
            if draft is not None and _is_saved(draft):
                _remove(file)
            elif draft is not None:
                yield draft

    def answers(self) -> "AnswersPlace":
        """Where the guided form keeps what was answered."""
        return AnswersPlace(self._folder)


class _Place:
    """A file of the state folder that one editor has for itself, from the first time that it looks or writes there."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._own: OwnPlace | None = None

    def _taken(self, stem: str, suffix: str, *, anew: bool) -> OwnPlace:
        """Raises OSError."""
        if self._own is None:
            if self._folder is None:
                raise OSError("there is no state folder")
            self._own = take(self._folder, stem, suffix, anew=anew)
        return self._own

    def _write(self, stem: str, suffix: str, content: Mapping[str, str]) -> str:
        """Gives why that was not possible, empty where it was."""
        try:
            # What is written here before anything was read is no going on with what is there.
            file = self._taken(stem, suffix, anew=True).file
            write_text(file, json.dumps(content).encode("utf-8", "surrogatepass"), expected=None)
            file.chmod(0o600)
        except (TextFileError, OSError) as error:
            return str(error)
        return ""

    def _remove(self) -> None:
        if self._own is not None:
            _remove(self._own.file)

    def leave(self) -> None:
        """Have it no longer: what is kept there is offered to whoever comes next."""
        if self._own is not None:
            self._own.leave()
            self._own = None


class DraftPlace(_Place):
    """Where one editor keeps the text of its file."""

    def __init__(self, folder: Path | None, path: Path) -> None:
        super().__init__(folder)
        self._path = path

    @property
    def shared(self) -> bool:
        """Whether another editor has the same file open, as far as is known."""
        return self._own is not None and self._own.shared

    def find(self, *, anew: bool = False) -> Draft | None:
        """The first draft of the file that no other editor has, which is this one's now; None where there is none, or `anew`."""
        try:
            return _read(self._taken(_stem(self._path), _DRAFT, anew=anew).file)
        except OSError:
            # Then it is told when something is to be kept.
            return None

    def keep(self, draft: Draft) -> str:
        """Write it down; gives why that was not possible, empty where it was. It may be the text of another file by now."""
        if draft.path != self._path:
            self.forget()
            self.leave()
            self._path = draft.path
        return self._write(_stem(self._path), _DRAFT, {"path": str(draft.path), "text": draft.text, "base": draft.base.digest})

    def forget(self) -> None:
        """Remove it; where there is none, nothing happens."""
        self._remove()


class AnswersPlace(_Place):
    """Where one guided form keeps its answers."""

    def find(self) -> dict[str, str]:
        """What was answered and not used; nothing where there is nothing that can be read, or another form has it."""
        try:
            content = read_kept(self._taken(_FORM, _ANSWERS, anew=False).file, _MOST_BYTES)
        except OSError:
            return {}
        return {str(each): _printable(str(value)) for each, value in content.items()} if isinstance(content, dict) else {}

    def keep(self, answers: Mapping[str, str]) -> str:
        """Write down what was answered; gives why that was not possible, empty where it was."""
        return self._write(_FORM, _ANSWERS, dict(answers))

    def forget(self) -> None:
        """Remove it; where there is none, nothing happens."""
        self._remove()


def _stem(path: Path) -> str:
    return sha256(os.fsencode(Path.cwd() / path)).hexdigest()[:24]


def _every(folder: Path | None) -> list[Path]:
    try:
        return sorted(folder.glob(f"*{_DRAFT}")) if folder is not None else []
    except OSError:
        return []


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink()


class Kept(Generic[What]):
    """What is kept of something while it is typed: it stands on the disk exactly as long as it is not saved.

    It may be settled from several threads: one after the other, and none after the last, with which its place is left.
    """

    def __init__(self, keep: Callable[[What], str], forget: Callable[[], None], leave: Callable[[], None]) -> None:
        self._keep = keep
        self._forget = forget
        self._leave = leave
        self._lock = Lock()
        self._ended = False

    def settle(self, what: What, *, modified: bool, last: bool = False) -> str:
        """Keep what is `modified`, else forget it, and after the `last` time do nothing more. It writes to the disk.

        Gives why it could not be kept, empty where it was or need not be.
        """
        with self._lock:
            if self._ended:
                return ""
            problem = self._keep(what) if modified else ""
            if not modified:
                self._forget()
            if last:
                self._ended = True
                self._leave()
            return problem


def _printable(text: str) -> str:
    return "".join(char for char in text if char.isprintable())


def _is_saved(draft: Draft) -> bool:
    try:
        return read_text(draft.path).text == draft.text
    except TextFileError:
        return False


def _read(place: Path) -> Draft | None:
    content = read_kept(place, _MOST_BYTES)
    if not isinstance(content, dict):
        return None
    path, text, base = (content.get(name) for name in ("path", "text", "base"))
    # A text that no file could have is none to go on with.
    if not (isinstance(path, str) and isinstance(text, str) and isinstance(base, str)) or any(
        "\ud800" <= char <= "\udfff" for char in text
    ):
        return None
    return Draft(Path(path), text, Stamp(base))
