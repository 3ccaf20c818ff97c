"""Copying out of a sandbox onto a real disk: nothing leaves the target, follows a link or replaces a file, whatever an agent named it.

The files come from a listing and bytes held here; that a backend gives them is tested with the backends.
"""

import errno
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodus_tui import copying
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.sandboxes import FileEntry
from nodus_tui.copying import CopyPlan, clean_name, clean_path, copy, plan_copy, plan_of
from nodus_tui.text import safe_text

RUN = "hello-c001"


class Shelf:
    """As much of a backend as copying asks."""

    def __init__(self, files: dict[str, bytes], *more: FileEntry) -> None:
        self.bytes = files
        self.entries = (*(FileEntry(path=path, kind="file", size=len(text)) for path, text in files.items()), *more)
        self.broken: NodusError | None = None

    async def files(self, run: str) -> tuple[FileEntry, ...]:
        assert run == RUN
        return self.entries

    async def read_file(self, run: str, path: str) -> AsyncIterator[bytes]:
        assert run == RUN
        yield self.bytes[path][:3]
        if self.broken is not None:
            raise self.broken
        yield self.bytes[path][3:]


async def take(shelf: Shelf, path: str, target: Path, *, force: bool = False) -> CopyPlan:
    backend = cast("Backend", shelf)
    plan = await plan_copy(backend, RUN, path, target)
    await copy(backend, RUN, plan, force=force)
    return plan


def tree(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file()}


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


async def refused(shelf: Shelf, path: str, target: Path, *, force: bool = False) -> NodusError:
    with pytest.raises(NodusError) as caught:
        await take(shelf, path, target, force=force)
    return caught.value


async def test_a_file_goes_into_a_folder_or_under_a_name(tmp_path: Path) -> None:
    shelf = Shelf({"src/answer.py": b"print(42)\n"})
    await take(shelf, "src/answer.py", tmp_path)
    await take(shelf, "./src//answer.py", tmp_path / "renamed.py")
    assert tree(tmp_path) == {"answer.py": b"print(42)\n", "renamed.py": b"print(42)\n"}
    assert (await refused(shelf, "src/answer.py", tmp_path / "none" / "x")).code is ErrorCode.INVALID_REQUEST


async def test_a_folder_goes_whole_with_its_empty_folders(tmp_path: Path) -> None:
    shelf = Shelf({"src/a": b"1", "src/deep/b": b"", "other": b"2"}, FileEntry(path="src/empty", kind="folder"))
    await take(shelf, "src", tmp_path / "copied")
    await take(shelf, "src/", tmp_path)
    await take(shelf, "", tmp_path / "all")
    await take(shelf, "", tmp_path)
    assert tree(tmp_path / "copied") == {"a": b"1", "deep/b": b""}
    assert (tmp_path / "copied" / "empty").is_dir()
    assert tree(tmp_path / "src") == tree(tmp_path / "copied")
    assert tree(tmp_path / "all") == {"other": b"2", "src/a": b"1", "src/deep/b": b""}
    assert tree(tmp_path / RUN) == tree(tmp_path / "all")


async def test_nothing_is_replaced_without_force_and_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")
    target = tmp_path / "target"
    target.mkdir()
    (target / "b").symlink_to(secret)
    (target / "dangling").symlink_to(tmp_path / "nowhere")
    shelf = Shelf({"a": b"1", "b": b"2", "dangling": b"3"})
    for name in ("b", "dangling"):
        error = await refused(shelf, name, target)
        assert error.code is ErrorCode.CONFLICT
        assert "--force" in error.detail
    assert tree(target) == {"b": b"mine"}
    await take(shelf, "b", target, force=True)
    assert secret.read_text() == "mine"
    assert not (target / "b").is_symlink()
    assert (target / "b").read_bytes() == b"2"


async def test_nothing_is_written_when_one_of_many_files_exists(tmp_path: Path) -> None:
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "z").write_text("mine")
    error = await refused(Shelf({"src/a": b"1", "src/z": b"2"}), "src", tmp_path)
    assert "nothing was copied" in error.detail
    assert tree(tmp_path) == {"src/z": b"mine"}


async def test_no_folder_below_the_target_is_entered_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = tmp_path / "target"
    target.mkdir()
    (target / "src").symlink_to(outside)
    for force in (False, True):
        error = await refused(Shelf({"src/a": b"1"}), "src", target, force=force)
        assert error.code is ErrorCode.CONFLICT
        assert "link" in error.detail
    assert tree(outside) == {}


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", ".."])
async def test_a_path_that_leads_out_is_refused(path: str, tmp_path: Path) -> None:
    assert (await refused(Shelf({"a": b"1"}), path, tmp_path)).code is ErrorCode.INVALID_REQUEST


async def test_links_are_left_out_and_named(tmp_path: Path) -> None:
    shelf = Shelf({"src/a": b"1"}, FileEntry(path="src/passwords", kind="link"))
    plan = await take(shelf, "src", tmp_path)
    assert plan.left_out == ('"src/passwords" is a link and was left out',)
    assert tree(tmp_path) == {"src/a": b"1"}
    assert "not followed" in (await refused(shelf, "src/passwords", tmp_path)).detail


async def test_hostile_names_are_saved_harmless_or_left_out(tmp_path: Path) -> None:
    names = ["../../evil", "/abs", "a/../../evil", "x\x1b[2J\n\u202e", "x␛[2J␤<U+202E>", "\u200b", "long" * 100, "ok"]
    plan = await take(Shelf(dict.fromkeys(names, b"1")), "", tmp_path)
    assert set(tree(tmp_path / RUN)) == {"x␛[2J␤<U+202E>", "_", "ok"}
    assert names_in(tmp_path) == [RUN]
    told = "\n".join(plan.left_out)
    assert all(sentence.isprintable() for sentence in plan.left_out)
    assert "under the name of another file" in told
    assert told.count("no path within") == 3


async def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    shelf = Shelf({"a": b"123456"})
    shelf.broken = NodusError(ErrorCode.UNAVAILABLE, "the sandbox is gone")
    assert (await refused(shelf, "a", tmp_path)).detail == "the sandbox is gone"
    assert names_in(tmp_path) == []
    (tmp_path / "a").write_text("mine")
    await refused(shelf, "a", tmp_path, force=True)
    assert tree(tmp_path) == {"a": b"mine"}


async def test_a_file_that_never_ends_does_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "MAY_GROW_BYTES", 10)
    shelf = Shelf({"a": b"x" * 100})
    shelf.entries = (FileEntry(path="a", kind="file", size=1),)
    assert "much larger" in (await refused(shelf, "a", tmp_path)).detail
    assert names_in(tmp_path) == []


async def test_programs_can_be_executed_and_nothing_has_more_rights_than_the_umask_lets(tmp_path: Path) -> None:
    shelf = Shelf({"plain": b"1"}, FileEntry(path="tool", kind="file", size=1, executable=True))
    shelf.bytes["tool"] = b"2"
    await take(shelf, "", tmp_path / "all")
    mask = os.umask(0)
    os.umask(mask)
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "all").iterdir()}
    assert modes == {"plain": 0o666 & ~mask, "tool": 0o777 & ~mask}


async def test_a_disk_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    await take(Shelf({"a": b"1"}), "a", tmp_path)
    assert tree(tmp_path) == {"a": b"1"}
    assert (await refused(Shelf({"a": b"2"}), "a", tmp_path)).code is ErrorCode.CONFLICT


async def test_a_target_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    error = await refused(Shelf({"a": b"1"}), "a", Path("/proc/self/a"))
    assert error.code is ErrorCode.UNAVAILABLE
    assert "cannot be written" in error.detail


def test_what_is_not_there_is_said() -> None:
    entries = Shelf({"ab/c": b""}).entries
    for path in ("a", "ab/c/d", "x"):
        with pytest.raises(NodusError) as caught:
            plan_of(entries, RUN, path, Path("/tmp"))
        assert caught.value.code is ErrorCode.NOT_FOUND
    assert plan_of((), RUN, "", Path("/tmp")).files == ()
    assert clean_path("./a//b/") == "a/b"


@settings(max_examples=300)
@given(st.text(min_size=1))
def test_a_clean_name_is_one_part_of_a_path_that_no_terminal_obeys(name: str) -> None:
    cleaned = clean_name(name.replace("/", "_"))
    assert cleaned not in {"", ".", ".."}
    assert "/" not in cleaned
    assert safe_text(cleaned) == cleaned
    assert os.fsencode(cleaned)
