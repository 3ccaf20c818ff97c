"""Drafts: each editor has a place of its own, in this process and across processes; what a dead one left is offered."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from draft_files import answers_kept, draft_of, left_answers, left_draft

from nodus_tui.authoring.drafts import Draft, Drafts, Kept
from nodus_tui.authoring.text_file import NO_FILE

_ANOTHER = """
import sys
from pathlib import Path
from nodus_tui.authoring.drafts import Draft, Drafts
from nodus_tui.authoring.text_file import NO_FILE
folder, path, text = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
place = Drafts(folder).place(path)
found = place.find()
problem = place.keep(Draft(path, text, NO_FILE))
answers = Drafts(folder).answers()
answers.find()
answers.keep({"name": text})
print(found.text if found else "nothing", problem, flush=True)
sys.stdin.read()
"""


@contextmanager
def another_console(drafts: Path, path: Path, text: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that edits the file and keeps that text as its draft; and what it found there."""
    with subprocess.Popen(
        [sys.executable, "-c", _ANOTHER, str(drafts), str(path), text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        yield child, child.stdout.readline().strip()
        child.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.yaml"


@pytest.fixture
def drafts(tmp_path: Path) -> Drafts:
    return Drafts(tmp_path / "drafts")


def test_two_consoles_that_edit_one_file_keep_what_was_typed_in_both(tmp_path: Path, path: Path, drafts: Drafts) -> None:
    here = drafts.place(path)
    assert here.find() is None
    assert here.keep(Draft(path, "here", NO_FILE)) == ""
    with another_console(tmp_path / "drafts", path, "there") as (_, found):
        assert found == "nothing", "what is typed here is not offered there"
        assert not here.shared
        third = drafts.place(path)
        assert third.find() is None
        assert third.shared
        third.leave()
        assert list(drafts.unsaved()) == [], "nobody is offered what others are typing"
        assert here.keep(Draft(path, "here, more", NO_FILE)) == ""
    here.leave()
    assert {draft.text for draft in drafts.unsaved()} == {"here, more", "there"}


def test_what_a_killed_console_left_is_offered_and_one_after_the_other(tmp_path: Path, path: Path, drafts: Drafts) -> None:
    with another_console(tmp_path / "drafts", path, "one"), another_console(tmp_path / "drafts", path, "two"):
        pass
    first, second = drafts.place(path), drafts.place(path)
    texts = {draft.text for draft in (first.find(), second.find()) if draft is not None}
    assert texts == {"one", "two"}
    first.forget()
    second.forget()
    first.leave()
    second.leave()
    assert list((tmp_path / "drafts").glob("*.json*")) == [], "no lock is left behind"


def test_a_new_text_takes_no_place_that_has_a_draft(path: Path, drafts: Drafts) -> None:
    left = drafts.place(path)
    left.keep(Draft(path, "left", NO_FILE))
    left.leave()
    new = drafts.place(path)
    assert new.find(anew=True) is None
    new.keep(Draft(path, "new", NO_FILE))
    new.leave()
    assert {draft.text for draft in drafts.unsaved()} == {"left", "new"}


def test_a_draft_goes_along_with_its_text_into_another_file(tmp_path: Path, path: Path, drafts: Drafts) -> None:
    place = drafts.place(path)
    place.keep(Draft(path, "text", NO_FILE))
    place.keep(Draft(tmp_path / "other.yaml", "text", NO_FILE))
    place.leave()
    assert [draft.path for draft in drafts.unsaved()] == [tmp_path / "other.yaml"]


def test_answers_are_of_one_form_while_it_is_open(tmp_path: Path, path: Path, drafts: Drafts) -> None:
    with another_console(tmp_path / "drafts", path, "sums"):
        here = drafts.answers()
        assert here.find() == {}
        here.keep({"name": "products"})
        here.leave()
    names = set()
    for place in (drafts.answers(), drafts.answers()):
        names.add(place.find()["name"])
    assert names == {"sums", "products"}


def test_without_a_folder_nothing_is_kept_and_that_is_said(path: Path) -> None:
    place = Drafts(None).place(path)
    assert place.find() is None
    assert place.keep(Draft(path, "text", NO_FILE)) == "there is no state folder"
    assert list(Drafts(None).unsaved()) == []


def test_a_folder_that_cannot_be_is_told_until_it_can(tmp_path: Path, path: Path, drafts: Drafts) -> None:
    (tmp_path / "drafts").touch()
    place = drafts.place(path)
    assert place.find() is None
    assert "drafts" in place.keep(Draft(path, "text", NO_FILE))
    (tmp_path / "drafts").unlink()
    assert place.keep(Draft(path, "text", NO_FILE)) == ""
    place.leave()
    assert [draft.text for draft in drafts.unsaved()] == ["text"]


def test_drafts_are_kept_found_and_forgotten(path: Path, drafts: Drafts) -> None:
    draft = Draft(path, "text: \x1b ✓\n", NO_FILE)
    place = drafts.place(path)
    assert place.keep(draft) == ""
    place.leave()
    assert list(drafts.unsaved()) == [draft]
    assert place.find() == draft
    place.forget()
    place.leave()
    assert list(drafts.unsaved()) == []


def test_a_broken_draft_is_no_draft(tmp_path: Path, path: Path, drafts: Drafts) -> None:
    left_draft(tmp_path / "drafts", Draft(path, "x", NO_FILE))
    next((tmp_path / "drafts").iterdir()).write_text("{", encoding="utf-8")
    assert drafts.place(path).find() is None


def test_a_draft_that_says_what_its_file_says_is_removed(tmp_path: Path, drafts: Drafts) -> None:
    for name in ("same", "other", "gone"):
        left_draft(tmp_path / "drafts", Draft(tmp_path / f"{name}.yaml", "a: 1\n", NO_FILE))
    (tmp_path / "same.yaml").write_bytes(b"a: 1\r\n")
    (tmp_path / "other.yaml").write_bytes(b"a: 2\n")
    assert sorted(draft.path.name for draft in drafts.unsaved()) == ["gone.yaml", "other.yaml"]
    assert draft_of(tmp_path / "drafts", tmp_path / "same.yaml") is None


def test_a_text_that_is_edited_has_a_draft_as_long_as_it_is_another_than_its_files(tmp_path: Path, path: Path, drafts: Drafts) -> None:
    draft, place, folder = Draft(path, "a: 1", NO_FILE), drafts.place(path), tmp_path / "drafts"
    kept = Kept(place.keep, place.forget, place.leave)
    assert kept.settle(draft, modified=True) == ""
    assert draft_of(folder, path) == draft
    assert kept.settle(draft, modified=False) == ""
    assert draft_of(folder, path) is None
    assert kept.settle(draft, modified=False, last=True) == ""
    assert kept.settle(draft, modified=True) == "", "what was still to be written comes too late"
    assert draft_of(folder, path) is None


def test_answers_of_the_form_are_kept_apart_from_the_drafts_of_files(tmp_path: Path, drafts: Drafts) -> None:
    place = drafts.answers()
    assert place.find() == {}
    left_answers(tmp_path / "drafts", {"name": "sums", "system": "\x1b ✓"})
    place.leave()
    assert place.find() == {"name": "sums", "system": " ✓"}, "without what a terminal obeys"
    assert not list(drafts.unsaved())
    place.forget()
    assert answers_kept(tmp_path / "drafts") == {}
    assert "no state folder" in Drafts(None).answers().keep({})
