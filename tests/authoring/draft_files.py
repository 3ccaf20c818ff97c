"""Drafts in tests: left as by a console that ended, and read from the disk whoever has them."""

import json
from pathlib import Path

from nodus_tui.authoring.drafts import Draft, Drafts
from nodus_tui.authoring.text_file import Stamp


def left_draft(folder: Path, draft: Draft) -> None:
    """It was kept by an editor that is closed."""
    place = Drafts(folder).place(draft.path)
    assert place.keep(draft) == ""
    place.leave()


def left_answers(folder: Path, answers: dict[str, str]) -> None:
    """They were given in a form that is closed."""
    place = Drafts(folder).answers()
    assert place.keep(answers) == ""
    place.leave()


def draft_of(folder: Path, path: Path) -> Draft | None:
    """What is kept of a file, also by an editor that is open."""
    for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["path"] == str(path):
            return Draft(path, content["text"], Stamp(content["base"]))
    return None


def answers_kept(folder: Path) -> dict[str, str]:
    """What is kept of the form's answers."""
    return next((json.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*.answers")), {})
