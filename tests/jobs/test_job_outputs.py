"""Keeping outputs: what is kept is what was there, and nothing leads out of the job's folder."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from local_backend.jobs.outputs import GivenUpError, Kept, entries, keep_outputs, pieces
from local_backend.jobs.removing import remove_tree


def test_what_is_empty_takes_no_room_and_what_is_larger_than_the_disk_is_left_out(tmp_path: Path, work: Path) -> None:
    with (work / "sparse").open("wb") as file:
        file.write(b"head")
        file.truncate(200 << 20)
    with (work / "huge").open("wb") as file:
        file.truncate(1 << 43)
    kept = keep(tmp_path, "sparse", "huge")
    assert [(each.path, each.bytes) for each in kept.files] == [("sparse", 200 << 20)]
    copy = tmp_path / "job" / "outputs" / "sparse"
    assert copy.stat().st_size == 200 << 20
    assert copy.stat().st_blocks * 512 < 8 << 20
    assert sum(len(piece) for piece in pieces(tmp_path / "job", kept.files[0].to_document())) == 200 << 20
    assert kept.notes == ["The output huge was not kept: it is 8,796,093,022,208 bytes, and the disk has no such room."]


def keep(tmp_path: Path, *outputs: str, shortage: str = "") -> Kept:
    (tmp_path / "job").mkdir(exist_ok=True)
    return keep_outputs(tmp_path / "work", outputs, tmp_path / "job", shortage=lambda: shortage)


@pytest.fixture(autouse=True)
def work(tmp_path: Path) -> Path:
    found = tmp_path / "work"
    (found / "out" / "deep").mkdir(parents=True)
    (found / "out" / "a").write_bytes(b"one")
    (found / "out" / "deep" / "b").write_bytes(b"two" * 1_000_000)
    (found / "top").write_bytes(b"")
    return found


def test_files_and_folders_are_kept_with_their_digests(tmp_path: Path) -> None:
    kept = keep(tmp_path, "out", "top", "./out/a", "out/")
    assert [(each.path, each.bytes) for each in kept.files] == [("out/a", 3), ("out/deep/b", 3_000_000), ("top", 0)]
    for each in kept.files:
        data = (tmp_path / "job" / "outputs" / each.path).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (each.bytes, each.sha256)
    assert kept.notes == []
    manifest = json.loads((tmp_path / "job" / "manifest.json").read_text())
    assert manifest["files"] == [each.to_document() for each in kept.files]
    listed = entries(tmp_path / "job", [each.to_document() for each in kept.files])
    assert [(each.path, each.kind) for each in listed] == [
        ("out", "folder"),
        ("out/a", "file"),
        ("out/deep", "folder"),
        ("out/deep/b", "file"),
        ("top", "file"),
    ]


def test_links_pipes_and_strange_names_are_left_out_and_told(tmp_path: Path, work: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (work / "out" / "link").symlink_to(tmp_path / "secret")
    (work / "way").symlink_to(tmp_path)
    os.mkfifo(work / "out" / "pipe")
    (work / "out" / os.fsdecode(b"\xff")).write_text("x")
    kept = keep(tmp_path, "out", "way", "way/secret", "absent")
    assert [each.path for each in kept.files] == ["out/a", "out/deep/b"]
    told = "\n".join(kept.notes)
    for words in ("its name is no UTF-8", "way/secret was not kept", "absent is not there", "3 outputs were not kept: they are links"):
        assert words in told, told
    assert told.encode()
    assert not [path for path in (tmp_path / "job").rglob("*") if path.is_file() and b"secret" in path.read_bytes()]


def test_what_lies_deeper_than_folders_are_opened_is_told_and_the_rest_is_kept(tmp_path: Path, work: Path) -> None:
    deep(work / "out" / "deep", 100)
    kept = keep(tmp_path, "out")
    assert [each.path for each in kept.files] == ["out/a", "out/deep/b"]
    assert [note for note in kept.notes if "in more than 64 folders" in note] == kept.notes != []


def test_folders_deeper_than_python_goes_are_removed(tmp_path: Path) -> None:
    deep(tmp_path / "out", 3_000)
    remove_tree(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def deep(folder: Path, count: int) -> None:
    """So many folders in each other; the path of the last may be longer than a path can be."""
    folder.mkdir(exist_ok=True)
    at = os.open(folder, os.O_RDONLY)
    for _ in range(count):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)


def test_a_disk_without_room_is_told_and_nothing_half_is_kept(tmp_path: Path) -> None:
    kept = keep(tmp_path, "out", "top", shortage="less than 200 MiB are free: no run starts")
    assert [each.path for each in kept.files] == ["top"]
    assert "out/a was not kept: less than 200 MiB are free." in "\n".join(kept.notes)
    assert not [path for path in (tmp_path / "job" / "outputs").rglob("*") if path.is_file() and path.name != "top"]


def test_keeping_is_given_up_when_asked_and_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    with pytest.raises(GivenUpError):
        keep_outputs(tmp_path / "work", ["out"], tmp_path / "job", shortage=str, given_up=lambda: True)
    assert [each.path for each in keep(tmp_path, "top").files] == ["top"]
    assert not (tmp_path / "job" / "outputs" / "out").exists()


def test_a_working_folder_that_is_gone_is_told(tmp_path: Path, work: Path) -> None:
    work.rename(tmp_path / "elsewhere")
    assert keep(tmp_path, "out").notes == ["The output out is not there."]
