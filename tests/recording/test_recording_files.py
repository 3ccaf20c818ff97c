"""The file of a recording: private, whole lines only, bounded, without secrets; and read for what it is worth when it is damaged."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from recording_place import Steady, played_to_end, recorded, recording_file, replayed, watched_campaign
from ways import bundle_of

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.hardware_view import GpuDevice, GpuProcess, HardwareView, MachineFact
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.recording.lines import WITHHELD, secret_values, text_of, without_values
from nodus_tui.recording.reading import RecordingReader
from nodus_tui.recording.recording_backend import recording

TOKEN = "nodus_" + "x" * 43


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


async def test_the_file_is_private_begins_with_its_format_and_ends_with_why(tmp_path: Path) -> None:
    before = os.umask(0)
    async with recorded(tmp_path) as place:
        await watched_campaign(place, tasks=1)
        await place.backend.results("hello")
        await place.backend.results("hello")
    os.umask(before)
    assert place.path.stat().st_mode & 0o777 == 0o600
    header, *lines = lines_of(place.path)
    assert (header["recording"], header["format"], header["of"]) == ("nodus-tui", 1, "local at /here")
    kinds = [line["what"] for line in lines]
    assert (kinds[0], kinds[-1], lines[-1]["why"]) == ("snapshot", "end", "closed")
    assert kinds.count("results") == 1, "an answer that reads the same is written once"
    assert kinds.count("acted") == 1
    assert [line["t"] for line in lines] == sorted(line["t"] for line in lines)


def test_what_is_there_is_never_written_over(tmp_path: Path) -> None:
    there, link = tmp_path / "there", tmp_path / "link"
    there.write_text("mine", encoding="utf-8")
    link.symlink_to(tmp_path / "elsewhere")
    for path in (there, link):
        with pytest.raises(NodusError, match="is there already") as caught:
            recording_file(path, Steady())
        assert caught.value.code is ErrorCode.CONFLICT
    assert there.read_text(encoding="utf-8") == "mine"
    with pytest.raises(NodusError, match="cannot be made: No such file or directory"):
        recording_file(tmp_path / "none" / "file", Steady())


def test_a_full_recording_ends_with_a_sentence_and_can_be_read(tmp_path: Path) -> None:
    file = recording_file(tmp_path / "small", Steady(), most_bytes=4096)
    for number in range(100):
        file.add("batch", answer={"cursor": number, "events": []})
    assert not file.open
    assert file.problem == f"the recording {tmp_path / 'small'} is full at 0.00390625 MiB and has ended"
    assert file.path.stat().st_size <= 4096
    with RecordingReader(file.path) as reader:
        assert (reader.ended_by, reader.notes()) == ("full", ())
    file.add("batch", answer={})
    file.close()


def test_a_disk_that_takes_no_more_leaves_whole_lines_and_a_sentence(tmp_path: Path) -> None:
    file = recording_file(tmp_path / "cut", Steady())
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    heard = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        # The system takes a part of the line and refuses the rest, as a full disk does.
        resource.setrlimit(resource.RLIMIT_FSIZE, (file.size + 100, old[1]))
        file.add("batch", answer={"cursor": 1, "events": [], "filler": "x" * 200})
        file.add("batch", answer={"cursor": 2, "events": []})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, heard)
    assert not file.open
    assert file.problem == f"the recording {file.path} has ended: its disk is full"
    assert file.path.stat().st_size == file.size
    with RecordingReader(file.path) as reader:
        assert reader.notes() == (f"{file.path}:1: the recording was cut off after this line",)


def test_a_killed_process_leaves_every_line_whole(tmp_path: Path) -> None:
    path = tmp_path / "killed"
    program = textwrap.dedent(
        f"""
        import sys, time
        from datetime import UTC, datetime
        from pathlib import Path
        from nodus_tui.recording.file import RecordingFile
        from nodus_tui.recording.lines import Header
        file = RecordingFile(Path({str(path)!r}), Header(started_at=datetime.now(UTC), program="1", of="x"), clock=time.monotonic)
        for number in range(10**9):
            file.add("batch", answer={{"cursor": number, "events": []}})
            if number == 100:
                print("going", flush=True)
        """
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"going\n"
        child.send_signal(signal.SIGKILL)
    text = path.read_bytes()
    assert text.endswith(b"\n")
    with RecordingReader(path) as reader:
        assert len(reader.kinds) > 100
    assert reader.notes() == (f"{path}:{len(reader.kinds) + 1}: the recording was cut off after this line",)


async def test_no_secret_stands_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = """\
apiVersion: nodus.dev/v1
kind: Job
metadata: {name: careful}
spec:
  command: ["true"]
  env: {PLAIN: value-of-a-variable}
  maxCostUSD: "0.10"
"""
    process = GpuProcess(pid=1, kind="compute", user="ann", command="/bin/train --key argument-of-it", memory_bytes=1)
    device = GpuDevice(index=0, uuid="GPU-1", name="L4", processes=(process,))
    async with recorded(tmp_path, secrets=secret_values({"SOME_API_KEY": "key-of-a-provider", "HOME": "/root"})) as place:

        async def hardware(*, history: bool = False, rates: bool = True) -> HardwareView:
            return HardwareView(at=place.backend.file.started_at, devices=(device,), machine=MachineFact(host="here"))

        monkeypatch.setattr(place.local, "gpus", hardware)
        snapshot = await place.backend.snapshot()
        await place.backend.apply(bundle_of(job))
        await played_to_end(place.backend, snapshot.cursor, (await place.local.snapshot()).cursor)
        await place.backend.get("Job", "careful")
        await place.backend.list("Job")
        assert (await place.backend.gpus()).devices[0].processes == (process,)
        place.backend.file.add("get", answer={"text": f"key-of-a-provider {TOKEN} https://ann:word@host/x"})
    text = place.path.read_text(encoding="ascii")
    for secret in ("value-of-a-variable", "argument-of-it", "key-of-a-provider", TOKEN, "ann:word"):
        assert secret not in text
    assert text.count('"PLAIN"') >= 3, "names of variables are told"
    assert "https://host/x" in text
    async with replayed(place.path) as backend:
        backend.jump(backend.playback.length)
        assert (await backend.get("Job", "careful")).spec.env == {"PLAIN": WITHHELD}


def test_values_are_withheld_however_deep_and_odd_figures_are_null() -> None:
    template = {"kind": "Sweep", "spec": {"template": {"kind": "Job", "spec": {"env": {"A": "secret"}, "envFrom": ["B"]}}}}
    assert without_values(template) == {
        "kind": "Sweep",
        "spec": {"template": {"kind": "Job", "spec": {"env": {"A": WITHHELD}, "envFrom": ["B"]}}},
    }
    assert without_values([{"env": "no map"}]) == [{"env": "no map"}]
    assert json.loads(text_of({"a": float("nan"), "b": [float("inf"), 1.5]})) == {"a": None, "b": [None, 1.5]}
    assert text_of({"a": "\ud800\u2028\x1b"}) == '{"a":"\\ud800\\u2028\\u001b"}\n'
    assert secret_values({"A_TOKEN": "1", "B_API_KEY": "longer", "C": "x", "D_TOKEN": ""}) == ("longer", "1")
    assert json.loads(text_of({"a": "1 of 1"}, ("1",))) == {"a": "1 of 1"}, "a short value would be found in harmless words"


async def damaged(folder: Path, *, cut: int = 0, spoiled: tuple[str, ...] = ()) -> tuple[Path, int]:
    """A real recording with more lines before its last one, without bytes of its end; and the number of the first of those lines."""
    async with recorded(folder) as place:
        await watched_campaign(place, tasks=2)
    *lines, end = place.path.read_text(encoding="ascii").splitlines(keepends=True)
    data = "".join((*lines, *(text + "\n" for text in spoiled), end)).encode()
    place.path.write_bytes(data[: len(data) - cut])
    return place.path, len(lines) + 1


async def test_a_cut_off_recording_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    path, end = await damaged(tmp_path, cut=10)
    async with replayed(path) as backend:
        backend.jump(backend.playback.length)
        assert (await backend.snapshot()).groups[0].name == "hello"
        (note,) = (await backend.info()).notes
        assert note == f"{path}:{end}: the file is cut off within this line; what it held is left out"


async def test_damaged_lines_are_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    nonsense = '{"cursor":99999,"at":"2026-03-01T12:00:00Z","change":"Changed","kind":"AgentGroup","name":"hello","status":{"phase":"?"}}'
    spoiled = (
        "{ no json",
        '{"t": "soon", "what": "batch"}',
        "[" * 100_000,
        '{"t": 1e999, "what": "batch"}',
        '{"t": 95, "what": "batch", "answer": {"cursor": 99999, "events": [' + nonsense + "]}}",
        '{"t": 96, "what": "batch", "answer": 7}',
        '{"t": 97, "what": "snapshot", "answer": {"cursor": "x"}}',
        '{"t": 98, "what": "something new", "answer": 1}',
    )
    path, first = await damaged(tmp_path, spoiled=spoiled)
    async with replayed(path) as backend:
        for _ in range(2):
            backend.jump(0)
            backend.jump(backend.playback.length)
            await backend.snapshot(runs_of="")
        assert (await backend.snapshot(runs_of="")).groups[0].status.phase is GroupPhase.COMPLETED
        assert backend.reader.notes() == (
            f"{path}:{first}: this line is damaged; what it held is left out",
            f"{path}:{first + 1}: this line has no time or does not say what it is; what it held is left out",
            f"{path}:{first + 2}: this line is damaged; what it held is left out",
            f"4 more places of {path} cannot be read",
        )
        assert sorted(int(note.split(":")[1]) - first for note in backend.reader._damage) == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("first_line", "code", "sentence"),
    [
        ("", ErrorCode.INVALID_REQUEST, "is no recording of nodus-tui"),
        ("apiVersion: nodus.dev/v1", ErrorCode.INVALID_REQUEST, "is no recording of nodus-tui"),
        ("\x7fELF\x00", ErrorCode.INVALID_REQUEST, "is no recording of nodus-tui"),
        ('{"recording":"other"}', ErrorCode.INVALID_REQUEST, "is no recording of nodus-tui"),
        ('{"recording":"nodus-tui","format":1}', ErrorCode.INVALID_REQUEST, ":1: the first line of the recording is damaged: startedAt"),
        (
            '{"recording":"nodus-tui","format":2,"program":"9.1.0","startedAt":[]}',
            ErrorCode.NOT_SUPPORTED,
            "was recorded by nodus-tui 9.1.0 in format 2; this version reads formats up to 1: install a newer one",
        ),
    ],
)
def test_what_is_no_recording_or_a_newer_one_is_refused_with_a_sentence(
    tmp_path: Path, first_line: str, code: ErrorCode, sentence: str
) -> None:
    path = tmp_path / "file"
    path.write_text(first_line + "\n", encoding="utf-8")
    with pytest.raises(NodusError) as caught:
        RecordingReader(path)
    assert caught.value.code is code
    assert sentence in caught.value.detail


def test_what_cannot_be_opened_is_told(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "none", os.strerror(errno.ENOENT)), (tmp_path, os.strerror(errno.EISDIR))):
        with pytest.raises(NodusError, match=why):
            RecordingReader(path)


async def test_a_lost_stream_is_written_down_and_a_new_snapshot_counts_from_then_on(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        await watched_campaign(place, tasks=1)
        place.steady.seconds += 1
        # Nobody watches while another campaign runs: what the stream told of it is not in the recording.
        (tmp_path / "unseen").mkdir()
        async with recorded(tmp_path / "unseen") as unseen:
            await watched_campaign(unseen, "unseen", tasks=1)
            elsewhere = recording(unseen.local, place.backend.file)
            whole = await elsewhere.snapshot(runs_of="unseen")
        async with replayed(place.path) as backend:
            backend.jump(backend.playback.length)
            assert await backend.snapshot(runs_of="") == whole
            backend.jump(backend.playback.length - 0.5)
            assert [group.name for group in (await backend.snapshot()).groups] == ["hello"]
