import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from local_backend.jobs.log_files import KEPT_SEGMENTS, LogWriter, read_log, whole_characters


@given(pieces=st.lists(st.binary(max_size=50), max_size=40), limit=st.integers(min_value=1, max_value=64))
def test_what_is_kept_stands_at_its_place_and_the_rest_is_counted(pieces: list[bytes], limit: int) -> None:
    whole = b"".join(pieces)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "log"
        writer = LogWriter(folder, 160)
        for piece in pieces:
            writer.write(piece)
        writer.close()
        assert sum(path.stat().st_size for path in folder.iterdir()) <= 160
        assert writer.size == len(whole)
        read, skipped, place = b"", 0, 0
        while True:
            found = read_log(folder, place, limit)
            assert found.size == len(whole)
            assert whole[found.offset : found.offset + len(found.data)] == found.data
            if not found.data:
                break
            skipped += found.skipped
            read += found.data
            place = found.offset + len(found.data)
        assert len(read) + skipped == len(whole)
        assert read[:20] == whole[:20]
        assert read[-100:] == whole[-100:] or len(whole) <= 160


def test_the_end_of_a_log_is_asked_for_by_a_negative_place(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path / "log", 1 << 20)
    writer.write(b"0123456789")
    assert read_log(tmp_path / "log", -3, 100).data == b"789"
    assert read_log(tmp_path / "log", -30, 100).data == b"0123456789"
    assert read_log(tmp_path / "log", 30, 100).data == b""
    assert read_log(tmp_path / "none", 0, 100).size == 0
    writer.close()


def test_a_disk_that_takes_nothing_loses_output_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    writer = LogWriter(folder, KEPT_SEGMENTS * 4)
    writer.write(b"abcd")
    folder.rename(tmp_path / "away")
    writer.write(b"efgh")
    assert (writer.size, writer.lost) == (4, 4)
    (tmp_path / "away").rename(folder)
    writer.write(b"ijkl")
    assert (writer.size, read_log(folder, 0, 100).data, read_log(folder, 4, 100).data) == (8, b"abcd", b"ijkl")
    writer.close()


def test_a_log_leaves_the_disk_the_room_that_the_workspace_needs(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path / "log", 1 << 20, min_free_bytes=1 << 60)
    writer.write(b"abcd")
    assert (writer.size, writer.lost) == (0, 4)
    writer = LogWriter(tmp_path / "log", 1 << 20, min_free_bytes=1)
    writer.write(b"abcd")
    assert (writer.size, writer.lost) == (4, 0)
    writer.close()


@given(text=st.text(min_size=1), cut=st.integers(min_value=0, max_value=200))
def test_only_the_beginning_of_a_character_is_cut_off(text: str, cut: int) -> None:
    data = text.encode()[:cut]
    kept = whole_characters(data)
    assert data.startswith(kept)
    assert len(data) - len(kept) <= 3
    assert text.startswith(kept.decode())
