"""Drafts: text that was not saved, kept in the state folder so that no crash loses it, and offered when its file is opened again."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from nodus_tui.authoring.text_file import Stamp, TextFileError, read_text, write_text
from nodus_tui.kept_json import read_kept

_MOST_BYTES = 8 << 20
_ANSWERS = "form.answers"
"""The file with the answers of the guided form; its ending keeps it apart from the drafts of files."""

What = TypeVar("What")


@dataclass(frozen=True)
class Draft:
    """An unsaved text of one file."""

    path: Path
    """The file that it is to be."""
    text: str
    base: Stamp
    """What the file was when the editing began."""


class Drafts:
    """The drafts of a state folder; without one, none are kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def keep(self, draft: Draft) -> str:
        """Write it down; gives why that was not possible, empty where it was."""
        return self._write(self._file(draft.path).name, {"path": str(draft.path), "text": draft.text, "base": draft.base.digest})

    def find(self, path: Path) -> Draft | None:
        """The draft of a file; None where there is none that can be read."""
        return _read(self._file(path)) if self._folder is not None else None

    def forget(self, path: Path) -> None:
        """Remove the draft of a file; where there is none, nothing happens."""
        if self._folder is not None:
            with suppress(OSError):
                self._file(path).unlink()

    def unsaved(self) -> Iterator[Draft]:
        """All that can be read. One that says what its file says is removed: there is nothing in it to go on with."""
        for draft in self._every():
            if _is_saved(draft):
                self.forget(draft.path)
            else:
                yield draft

    def keep_answers(self, answers: Mapping[str, str]) -> str:
        """Write down what was answered in the guided form; gives why that was not possible, empty where it was."""
        return self._write(_ANSWERS, dict(answers))

    def find_answers(self) -> dict[str, str]:
        """What was answered there and not used; nothing where there is nothing that can be read."""
        content = read_kept(self._folder / _ANSWERS, _MOST_BYTES) if self._folder is not None else None
        return {str(each): _printable(str(value)) for each, value in content.items()} if isinstance(content, dict) else {}

    def forget_answers(self) -> None:
        """Remove them; where there are none, nothing happens."""
        if self._folder is not None:
            with suppress(OSError):
                (self._folder / _ANSWERS).unlink()

    def _every(self) -> Iterator[Draft]:
        if self._folder is None:
            return
        try:
            places = sorted(self._folder.glob("*.json"))
        except OSError:
            return
        for place in places:
            draft = _read(place)
            if draft is not None:
                yield draft

    def _write(self, name: str, content: Mapping[str, str]) -> str:
        if self._folder is None:
            return "there is no state folder"
        place = self._folder / name
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_text(place, json.dumps(content).encode("utf-8", "surrogatepass"), expected=None)
            place.chmod(0o600)
        except (TextFileError, OSError) as error:
            return str(error)
        return ""

    def _file(self, path: Path) -> Path:
        name = sha256(os.fsencode(Path.cwd() / path)).hexdigest()[:24]
        return (self._folder or Path()) / f"{name}.json"


class Kept(Generic[What]):
    """What is kept of something while it is typed: it stands on the disk exactly as long as it is not saved.

    It may be settled from several threads: one after the other, and none after the last.
    """

    def __init__(self, keep: Callable[[What], str], forget: Callable[[What], None]) -> None:
        self._keep = keep
        self._forget = forget
        self._lock = Lock()
        self._ended = False

    def settle(self, what: What, *, modified: bool, last: bool = False) -> str:
        """Keep what is `modified`, else forget it, and after the `last` time do nothing more. It writes to the disk.

        Gives why it could not be kept, empty where it was or need not be.
        """
        with self._lock:
            if self._ended:
                return ""
            self._ended = last
            if modified:
                return self._keep(what)
            self._forget(what)
            return ""


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
