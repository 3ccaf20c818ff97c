"""Drafts: text that was not saved, kept in the state folder so that no crash loses it, and offered when its file is opened again."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from nodus_tui.authoring.text_file import Stamp, TextFileError, write_text

_MOST_BYTES = 8 << 20


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
        if self._folder is None:
            return "there is no state folder"
        content = json.dumps({"path": str(draft.path), "text": draft.text, "base": draft.base.digest})
        place = self._file(draft.path)
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_text(place, content.encode("utf-8", "surrogatepass"), expected=None)
            place.chmod(0o600)
        except (TextFileError, OSError) as error:
            return str(error)
        return ""

    def find(self, path: Path) -> Draft | None:
        """The draft of a file; None where there is none that can be read."""
        return _read(self._file(path)) if self._folder is not None else None

    def forget(self, path: Path) -> None:
        """Remove the draft of a file; where there is none, nothing happens."""
        if self._folder is not None:
            with suppress(OSError):
                self._file(path).unlink()

    def every(self) -> Iterator[Draft]:
        """All that can be read."""
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

    def _file(self, path: Path) -> Path:
        name = sha256(os.fsencode(Path.cwd() / path)).hexdigest()[:24]
        return (self._folder or Path()) / f"{name}.json"


def _read(place: Path) -> Draft | None:
    try:
        if place.stat().st_size > _MOST_BYTES:
            return None
        content = json.loads(place.read_bytes().decode("utf-8", "surrogatepass"))
        return Draft(Path(content["path"]), str(content["text"]), Stamp(str(content["base"])))
    except (OSError, ValueError, KeyError, TypeError):
        return None
