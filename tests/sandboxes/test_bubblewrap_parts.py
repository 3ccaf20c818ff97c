"""The bubblewrap engine's parts that need no sandbox: the system call filter, hierarchies, records, users, writable folders."""

import contextlib
import fcntl
import json
import os
import struct
import threading
import time
from pathlib import Path

import pytest
from engine_suite import descriptors_left, files_may_grow_to, request

from local_backend.sandboxes.bubblewrap import users as users_module
from local_backend.sandboxes.bubblewrap.cgroups import Hierarchies, find_hierarchies, group_paths, make, members, remove
from local_backend.sandboxes.bubblewrap.layout import writable_folders
from local_backend.sandboxes.bubblewrap.records import Record, Records, records_folder, started_ticks
from local_backend.sandboxes.bubblewrap.seccomp import filter_program
from local_backend.sandboxes.bubblewrap.users import Users, find_users, weakness
from local_backend.sandboxes.interface import SandboxError
from local_backend.sandboxes.owner import this_process
from nodus_tui.values import fields_of, replace

ALLOW, KILL, EPERM, ENOSYS, EAFNOSUPPORT = 0x7FFF0000, 0x80000000, 0x50001, 0x50026, 0x50061
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def _decide(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """What the kernel would do: the steps that the filter uses, as seccomp(2) and the classic BPF define them."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, *(list(arguments) + [0] * 6)[:6])
    steps = list(struct.iter_unpack("<HBBI", program))
    at = value = 0
    while True:
        code, if_true, if_false, operand = steps[at]
        at += 1
        if code == 0x06:
            return operand
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
            continue
        holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
        at += if_true if holds else if_false


@pytest.mark.parametrize(
    ("machine", "calls"),
    [
        (
            "x86_64",
            {"read": 0, "execve": 59, "kill": 62, "mount": 165, "ptrace": 101, "clone": 56, "clone3": 435, "socket": 41, "ioctl": 16},
        ),
        (
            "aarch64",
            {"read": 63, "execve": 221, "kill": 129, "mount": 40, "ptrace": 117, "clone": 220, "clone3": 435, "socket": 198, "ioctl": 29},
        ),
    ],
)
def test_what_the_filter_decides(machine: str, calls: dict[str, int]) -> None:
    program = filter_program(machine)
    assert program is not None

    def decide(name: str, *arguments: int) -> int:
        return _decide(program, ARCHITECTURES[machine], calls[name], *arguments)

    for name in ("read", "execve", "kill"):
        assert decide(name) == ALLOW
    for name in ("mount", "ptrace"):
        assert decide(name) == EPERM
    assert decide("clone3") == ENOSYS
    assert decide("clone", 0x11) == ALLOW  # What fork asks for.
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert decide("clone", 0x11 | flag) == EPERM
    assert [decide("socket", family) for family in (1, 2, 10, 16)] == [ALLOW] * 4
    assert [decide("socket", family) for family in (0, 17, 38, 40)] == [EAFNOSUPPORT] * 4
    assert decide("ioctl", 0, 0x5401) == ALLOW
    assert decide("ioctl", 0, 0x5412) == decide("ioctl", 0, 0x541C) == EPERM
    # High halves do not hide a request.
    assert decide("ioctl", 0, 0x5412 | 1 << 32) == EPERM


def test_other_architectures_calls_end_the_program() -> None:
    program = filter_program("x86_64")
    assert program is not None
    assert _decide(program, 0x40000003, 20) == KILL  # The 32-bit calls of the same machine.
    assert _decide(program, ARCHITECTURES["x86_64"], 0x40000000 | 101) == KILL  # x32.
    assert filter_program("riscv64") is None


def test_hierarchies_of_both_versions(tmp_path: Path) -> None:
    line = "30 24 0:26 / {} rw,relatime - {} cgroup {}\n"
    first = "".join(line.format(tmp_path, "cgroup", f"rw,{name}") for name in ("memory", "pids", "cpu,cpuacct"))
    assert find_hierarchies(first) == Hierarchies(1, (tmp_path, tmp_path, tmp_path))
    assert find_hierarchies(first.replace("pids", "blkio")) is None
    second = line.format(tmp_path, "cgroup2", "rw")
    assert find_hierarchies(second) is None
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n", encoding="ascii")
    assert find_hierarchies(second) == Hierarchies(2, (tmp_path,))
    assert group_paths(Hierarchies(1, (Path("/a"), Path("/b"), Path("/a"))), "n") == (Path("/a/nodus/n"), Path("/b/nodus/n"))


@pytest.mark.skipif(os.geteuid() != 0, reason="control groups need root")
def test_in_a_group_that_is_just_removed_is_nobody() -> None:
    hierarchies = find_hierarchies()
    if hierarchies is None:
        pytest.skip("no control groups can be made on this machine")
    groups = group_paths(hierarchies, f"nodus-test-{os.getpid()}")
    over = threading.Event()
    found: list[set[int] | OSError] = []

    def look() -> None:
        while not over.is_set():
            try:
                found.append(members(groups))
            except OSError as error:
                found.append(error)

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for each in lookers:
        each.start()
    for _ in range(100):
        make(hierarchies, groups[0].name, request("x").limits)
        remove(groups)
    over.set()
    for each in lookers:
        each.join()
    assert [each for each in found if each] == []


def _record(name: str) -> Record:
    return Record(name, "run", "episode", this_process("/w"), "image", "2030-01-01T00:00:00+00:00", groups=("/g",))


def test_records_take_slots_and_give_them_back(tmp_path: Path) -> None:
    records = Records(tmp_path / "deep" / "records")
    assert records.all() == []
    first, second = records.take(_record("one")), records.take(_record("two"))
    assert first.slot != second.slot
    assert sorted(records.all(), key=lambda each: each.id) == [first, second]
    assert (first, second) == (replace(_record("one"), slot=first.slot), replace(_record("two"), slot=second.slot))
    records.update(replace(first, init=42, init_started="7"))
    assert [(each.init, each.slot) for each in records.all() if each.id == "one"] == [(42, first.slot)]
    # Another process begins at the first slot, and goes past what is taken.
    assert Records(tmp_path / "deep" / "records").take(_record("three")).slot not in {first.slot, second.slot}
    records.remove(first)
    records.remove(first)
    assert {each.id for each in records.all()} == {"two", "three"}
    assert all(path.suffix == ".json" for path in (tmp_path / "deep" / "records").iterdir())


def test_who_has_a_slot_since_keeps_it(tmp_path: Path) -> None:
    records = Records(tmp_path)
    removed = records.take(_record("one"))
    records.remove(removed)
    now = Records(tmp_path).take(_record("two"))
    assert now.slot == removed.slot
    with pytest.raises(FileNotFoundError):
        records.update(replace(removed, init=42))
    records.remove(removed)
    assert records.all() == [now]


class _Watched(Records):
    """Between its look at a record and what it does, another process removes that and takes its slot, where nothing keeps it from it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.others: list[Record] = []

    def _holds(self, record: Record) -> bool:
        held = super()._holds(record)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._path(record.slot).unlink()
                self.others.append(Records(self._folder).take(_record("other")))
        finally:
            os.close(folder)
        return held


@pytest.mark.parametrize("act", ["remove", "update"])
def test_nobody_takes_a_slot_between_the_look_at_it_and_what_is_done(tmp_path: Path, act: str) -> None:
    mine = Records(tmp_path).take(_record("mine"))
    watched = _Watched(tmp_path)
    getattr(watched, act)(mine)
    assert Records(tmp_path).all() == (watched.others or ([mine] if act == "update" else []))


def test_a_record_that_cannot_be_written_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    records = Records(tmp_path)
    kept, one = records.take(_record("kept")), _record("one")
    with files_may_grow_to(10):
        with pytest.raises(SandboxError, match=r"record could not be written.*File too large"):
            records.take(one)
        with pytest.raises(OSError, match="File too large"):
            records.update(replace(kept, init=42))
    assert [path.name for path in tmp_path.iterdir()] == ["00000.json"]
    assert records.all() == [kept]
    with descriptors_left(0):
        for act in (records.all, lambda: records.take(one), lambda: records.remove(kept)):
            with pytest.raises(SandboxError, match="Too many open files"):
                act()
    assert records.all() == [kept]


@pytest.mark.skipif(os.geteuid() != 0, reason="control groups need root")
def test_groups_that_cannot_be_removed_are_a_failure_that_says_why() -> None:
    hierarchies = find_hierarchies()
    if hierarchies is None:
        pytest.skip("no control groups can be made on this machine")
    groups = make(hierarchies, f"nodus-test-{os.getpid()}", request("x").limits)
    with descriptors_left(0), pytest.raises(SandboxError, match="could not be removed: Too many open files"):
        remove(groups)
    remove(groups)
    assert not any(group.exists() for group in groups)


@pytest.mark.parametrize("content", ["{", "null", "3", '"text"', "[]", "{}", '{"owner": null}', "nothing", "number", "time"])
def test_a_broken_record_is_told_by_name_and_hides_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str) -> None:
    wrong = {"nothing": {"id": None}, "number": {"init": "12"}, "time": {"created_at": "yesterday"}}
    if content in wrong:
        values = {**fields_of(_record("broken")), **wrong[content]}
        content = json.dumps({name: value for name, value in values.items() if name != "slot"})
    (tmp_path / "00000.json").write_text(content, encoding="utf-8")
    records = Records(tmp_path)
    records.take(_record("one"))
    assert [each.id for each in records.all()] == ["one"]
    assert "00000.json is no record of a sandbox" in caplog.text


def test_somebody_elses_folder_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(SandboxError, match="not a folder of yours"):
        Records(tmp_path / "link").take(_record("one"))


def test_where_records_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1234)
    assert records_folder({"XDG_RUNTIME_DIR": str(tmp_path)}) == tmp_path / "nodus-tui" / "sandboxes"
    assert "nodus-tui-sandboxes-" in str(records_folder({}))


def test_a_process_that_is_not_there_has_no_start() -> None:
    assert started_ticks(this_process().pid) == this_process().started.split("/")[2]
    assert started_ticks(2**22 + 1) == ""


def test_users_come_from_the_machines_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "subuid"
    table.write_text("somebody:100:65536\n1234:200000:65536\n", encoding="utf-8")
    assert users_module._range(table, {"1234"}) == (200000, 65536)
    assert users_module._range(table, {"nobody-like-that"}) is None
    assert users_module._range(tmp_path / "absent", {"1234"}) is None
    monkeypatch.setattr("os.geteuid", lambda: 1234)
    assert find_users({"PATH": str(tmp_path)}) == Users("single")


def test_host_users_of_sandboxes() -> None:
    root = Users("root", 1000, 1000)
    assert root.maps(0) == (((0, 1000), (1000, 1001)),) * 2
    assert root.maps(3)[0] == ((0, 1006), (1000, 1007))
    assert weakness(root) is None
    assert weakness(Users("single")) is not None


def test_writable_folders_are_the_disk_together() -> None:
    for options in ({}, {"purpose": "grading"}, {"extra_folders": ("/tests", "/logs")}, {"workdir": "/home/agent"}):
        asked = request("disk", **options)
        folders = writable_folders(asked)
        assert asked.limits.disk_bytes * 0.95 < sum(each.size_bytes for each in folders) <= asked.limits.disk_bytes
        assert len({each.path for each in folders}) == len(folders)
    grader = [each for each in writable_folders(request("disk", purpose="grading")) if each.path == "/grader"]
    assert [(each.mode, each.uid) for each in grader] == [(0o700, 0)]


def test_what_a_killed_writer_left_beside_the_records_is_removed(tmp_path: Path) -> None:
    old, new = tmp_path / ".0123456789abcdef", tmp_path / ".fedcba9876543210"
    for path, age in ((old, 3600), (new, 0)):
        path.touch()
        os.utime(path, (time.time() - age, time.time() - age))
    assert Records(tmp_path).all() == []
    assert (old.exists(), new.exists()) == (False, True)
