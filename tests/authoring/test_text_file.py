"""A file that is edited keeps all that was not edited, and is never half written or overwritten unseen."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.authoring.text_file import (
    NO_FILE,
    ChangedOnDiskError,
    NoFileError,
    ReadText,
    TextFileError,
    read_text,
    stamp_of,
    write_text,
)


def test_line_ends_and_the_byte_order_mark_stay(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\nc: 3\r\nd: 4")
    read = read_text(file)
    assert read.text == "a: 1\nb: 2\nc: 3\nd: 4"
    assert read.data(read.text) == file.read_bytes()
    assert read.data("a: 1\nnew\nb: 2\nc: 3\nd: 4") == b"\xef\xbb\xbfa: 1\r\nnew\r\nb: 2\nc: 3\r\nd: 4"


@given(st.text(alphabet="ab\r\n\t\x0b\u2028 "))
def test_a_text_that_is_not_edited_is_the_same_bytes(text: str) -> None:
    with_ends = text.encode()
    read = ReadText(re.sub("\r\n|\n|\r", "\n", text), tuple(re.findall("\r\n|\n|\r", text)))
    assert read.data(read.text) == with_ends


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"\xff\xfea\x00", "is not UTF-8"), (b"a: 1\nb: \xe9\n", "in line 2"), (b"a" * (10 << 20), "larger than 1,024 KiB")],
)
def test_what_cannot_be_edited_without_loss_is_refused_with_a_sentence(tmp_path: Path, data: bytes, words: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(data)
    with pytest.raises(TextFileError, match=words):
        read_text(file)
    assert file.read_bytes() == data


def test_folders_missing_files_and_pipes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TextFileError, match="folder"):
        read_text(tmp_path)
    with pytest.raises(NoFileError):
        read_text(tmp_path / "none")


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a: 1\n", encoding="utf-8")
    read = read_text(file)
    file.write_text("a: theirs\n", encoding="utf-8")
    with pytest.raises(ChangedOnDiskError, match="has changed on disk"):
        write_text(file, b"a: mine\n", expected=read.stamp)
    assert file.read_text(encoding="utf-8") == "a: theirs\n"
    with pytest.raises(ChangedOnDiskError, match="exists already"):
        write_text(file, b"a: mine\n", expected=NO_FILE)
    assert write_text(file, b"a: mine\n", expected=None) == stamp_of(file)


def test_a_written_file_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    file, link = tmp_path / "a.yaml", tmp_path / "b.yaml"
    file.write_text("a", encoding="utf-8")
    file.chmod(0o640)
    link.symlink_to(file)
    write_text(link, b"b", expected=None)
    assert link.is_symlink()
    assert file.read_bytes() == b"b"
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.yaml", "b.yaml"]


def test_a_long_file_of_mixed_line_ends_is_written_back_as_it_was_where_it_was_not_edited(tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    data = b"".join(b"a: 1\r\n" if row % 3 else b"a: 1\n" for row in range(40_000))
    path.write_bytes(data)
    read = read_text(path)
    lines = read.text.split("\n")
    lines[20_000] = "b: 2"
    expected = data.split(b"\n")
    expected[20_000] = b"b: 2\r"
    assert read.data("\n".join(lines)) == b"\n".join(expected)
