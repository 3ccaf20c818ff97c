"""What is read under a file's name is a file: a pipe, a device or a socket there is a sentence at once, and never waited for."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from local_backend.daemon.tokens import TokenStore
from nodus_tui.authoring.drafts import Drafts
from nodus_tui.authoring.finding import found_files
from nodus_tui.authoring.text_file import TextFileError, read_text, stamp_of
from nodus_tui.console_memory import FILE_NAME, ConsoleMemory
from nodus_tui.console_settings import console_settings
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.regular_files import NotRegularError, read_regular
from nodus_tui.contract.scheduler import RECORD_NAME
from nodus_tui.contract.spec_loading.files import read_sources
from nodus_tui.recording.reading import RecordingReader
from nodus_tui.remote.local import LocalScheduler
from nodus_tui.theme_shelf import ThemeShelf

pytestmark = pytest.mark.timeout(20)


def test_a_file_is_read_and_no_more_of_it_than_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    assert read_regular(tmp_path / "file") == b"0123456789"
    assert read_regular(tmp_path / "file", 4) == b"0123"


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path in (tmp_path / "pipe", tmp_path / "socket", Path("/dev/zero")):
            with pytest.raises(NotRegularError) as refused:
                read_regular(path)
            assert refused.value.strerror == "it is no regular file"
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "none")


def test_what_a_shell_hands_over_under_a_name_is_read() -> None:
    program = "from pathlib import Path; from nodus_tui.contract.regular_files import read_regular as r; print(r(Path('/dev/stdin')))"
    done = subprocess.run([sys.executable, "-c", program], input=b"given", capture_output=True, check=True)
    assert done.stdout.strip() == b"b'given'"
    assert read_regular(Path(os.devnull)) == b""


def _recording(path: Path) -> None:
    with pytest.raises(NodusError, match="no regular file"):
        RecordingReader(path)


def _settings(path: Path) -> None:
    with pytest.raises(NodusError, match="no regular file"):
        console_settings(path)


def _edited(path: Path) -> None:
    for reading in (read_text, stamp_of):
        with pytest.raises(TextFileError, match="is no regular file"):
            reading(path)


def _theme(path: Path) -> None:
    shelf = ThemeShelf((path.parent,))
    shelf.read()
    assert any("no regular file" in fault.message for fault in shelf.faults)


def _specs(path: Path) -> None:
    for named in (path, path.parent):
        assert all("no regular file" in source.problem for source in read_sources([str(named)], BytesIO()))
    assert all(Path(each.path).parent != path.parent for each in found_files(path.parent))


def _scheduler(path: Path) -> None:
    path.rename(path.parent / RECORD_NAME)
    assert LocalScheduler(path.parent, None, lambda: "").record() is None
    (path.parent / RECORD_NAME).unlink()


def _memory(path: Path) -> None:
    path.rename(path.parent / FILE_NAME)
    memory = ConsoleMemory(path.parent)
    assert memory.get("places") is None
    assert memory.keep("places", {}) == ""
    assert ConsoleMemory(path.parent).get("places") == {}


def _drafts(path: Path) -> None:
    path.rename(path.parent / "0.json")
    assert not list(Drafts(path.parent).unsaved())


def _tokens(path: Path) -> None:
    with pytest.raises(NodusError, match="no regular file"):
        TokenStore(path).all()


@pytest.mark.parametrize("reads", [_recording, _settings, _edited, _theme, _specs, _scheduler, _memory, _drafts, _tokens])
def test_nothing_that_reads_a_file_waits_at_a_pipe(reads: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    os.mkfifo(path)
    reads(path)
