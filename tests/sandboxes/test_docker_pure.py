"""What is decided of Docker sandboxes without an engine: configuration, facts, progress, and the framing of streams."""

import asyncio
import errno
import itertools
import json
import struct
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_backend.sandboxes.bubblewrap import seccomp
from local_backend.sandboxes.docker import process
from local_backend.sandboxes.docker.containers import ImageFacts, container_config, found_sandbox, writable_folders
from local_backend.sandboxes.docker.engine import starts_at_once
from local_backend.sandboxes.docker.facts import engine_facts, takes_filter
from local_backend.sandboxes.docker.hijack import BrokenStreamError, Hijacked
from local_backend.sandboxes.docker.process import DockerProcess, start_process
from local_backend.sandboxes.docker.progress import PullProgress
from local_backend.sandboxes.interface import Limits, NotBegunError, Owner, SandboxError, SandboxRequest, User

_OWNER = Owner(host="machine", pid=7, started="boot/1/2", workspace="/w")
_IMAGE = ImageFacts(id="sha256:1", reference="image@sha256:2")


def _request(**options: Any) -> SandboxRequest:
    return SandboxRequest(run="r", **{"purpose": "episode", "owner": _OWNER, "lifetime_seconds": 1.5, **options})


@given(
    disk=st.integers(1 << 20, 1 << 40), extra=st.sets(st.sampled_from(["/a", "/b", "/tmp"])), volumes=st.sets(st.sampled_from(["/a", "/v"]))
)
def test_the_folders_together_are_no_larger_than_the_disk(disk: int, extra: set[str], volumes: set[str]) -> None:
    limits = Limits(disk_bytes=disk, memory_bytes=1 << 34)
    folders = writable_folders(_request(limits=limits, extra_folders=tuple(extra)), sorted(volumes))
    assert folders.keys() == {"/task", "/tmp", "/home/agent", "/dev/shm", *extra, *volumes}
    stored = min(disk, (1 << 34) - (64 << 20))  # Some memory is left to programs, however large the disk.
    assert sum(folders.values()) <= stored
    assert folders["/task"] == stored // 2


def test_roots_one_right_in_an_episode_is_to_end_the_agents_programs_and_there_is_no_grader_folder() -> None:
    config = container_config(_request(), _IMAGE)
    host = config["HostConfig"]
    assert host["CapDrop"] == ["ALL"]
    assert host["CapAdd"] == ["KILL"]
    assert "/grader" not in host["Tmpfs"]
    assert host["NetworkMode"] == "none"
    assert host["Memory"] == host["MemorySwap"] == 1 << 30
    assert (config["Entrypoint"], config["Cmd"]) == (["sleep"], ["2"])


@pytest.mark.parametrize("purpose", ["grading", "check", "probe"])
def test_a_grader_may_change_users_and_kill_and_has_its_own_folder(purpose: str) -> None:
    host = container_config(_request(purpose=purpose), _IMAGE)["HostConfig"]
    assert set(host["CapAdd"]) == {"SETUID", "SETGID", "KILL"}
    assert "mode=0700,uid=0" in host["Tmpfs"]["/grader"]


def test_labels_come_back_as_they_were_and_damaged_ones_give_an_owner_that_nobody_is() -> None:
    config = container_config(_request(network=True), _IMAGE)
    found = found_sandbox({"Id": "c", "Labels": config["Labels"], "Created": 0, "Image": "other"})
    assert (found.run, found.purpose, found.owner, found.image, found.network) == ("r", "episode", _OWNER, "image@sha256:2", True)
    assert found.created_at == datetime(1970, 1, 1, tzinfo=UTC)
    damaged = found_sandbox({"Id": "c", "Labels": {"nodus.run": "r", "nodus.pid": "x"}, "Image": "other"})
    assert (damaged.owner, damaged.image, damaged.created_at) == (Owner(host="", pid=0, started=""), "other", None)


def test_system_calls_are_filtered_where_the_engine_takes_a_filter_and_no_less_than_under_bubblewrap() -> None:
    security = container_config(_request(), _IMAGE)["HostConfig"]["SecurityOpt"]
    rules = json.loads(security[1].removeprefix("seccomp="))["syscalls"]
    refused = {name for rule in rules if not rule["args"] for name in rule["names"]}
    assert {*seccomp._DENIED["x86_64"], *seccomp._SINCE_5_1, "clone3"} <= refused
    assert next(rule["errnoRet"] for rule in rules if "clone3" in rule["names"]) == errno.ENOSYS
    partly = {name for rule in rules if rule["args"] for name in rule["names"]}
    assert {"clone", "socket", "ioctl", "kill", "tgkill", "pidfd_send_signal", "fcntl"} <= partly
    assert container_config(_request(), _IMAGE, filtered=False)["HostConfig"]["SecurityOpt"] == ["no-new-privileges"]
    assert takes_filter({"SecurityOptions": ["name=seccomp,profile=default"]})
    assert not takes_filter({"SecurityOptions": ["name=apparmor"]})


_GOOD = {
    "OSType": "linux",
    "MemoryLimit": True,
    "PidsLimit": True,
    "CpuCfsQuota": True,
    "SwapLimit": True,
    "SecurityOptions": ["name=seccomp"],
}


@pytest.mark.parametrize(
    ("changes", "isolation", "words"),
    [
        ({}, "full", ""),
        ({"SwapLimit": False}, "full", "swapping"),
        ({"SecurityOptions": []}, "full", "seccomp"),
        ({"PidsLimit": None, "MemoryLimit": False}, "weaker", "memory and processes"),
        ({"SecurityOptions": ["name=seccomp", "name=rootless"], "CgroupVersion": "1"}, "weaker", "rootless"),
        ({"SecurityOptions": ["name=seccomp", "name=rootless"], "CgroupVersion": "2"}, "full", ""),
    ],
)
def test_what_an_engine_cannot_limit_is_said(changes: Mapping[str, Any], isolation: str, words: str) -> None:
    facts = engine_facts({"Version": "1.2", "Components": [{"Name": "Engine"}]}, {**_GOOD, **changes})
    assert (facts.isolation, facts.version, bool(facts.weaknesses)) == (isolation, "1.2", bool(words))
    assert words in " ".join(facts.weaknesses)


def test_podman_is_refused() -> None:
    with pytest.raises(SandboxError, match="Podman's service"):
        engine_facts({"Version": "4.3", "Components": [{"Name": "Podman Engine"}]}, _GOOD)


def test_an_engine_of_windows_containers_is_an_error() -> None:
    with pytest.raises(SandboxError, match="windows containers"):
        engine_facts({}, {**_GOOD, "OSType": "windows"})


def test_a_pull_is_told_in_few_lines() -> None:
    said: list[str] = []
    told = PullProgress("image:1", said.append)
    told.hear({"status": "Pulling from image", "id": "1"})
    for layer in ("a", "b"):
        told.hear({"status": "Pulling fs layer", "id": layer})
    for current in range(0, 10_000_001, 10_000):
        told.hear({"status": "Downloading", "id": "a", "progressDetail": {"current": current, "total": 10_000_000}})
    told.hear({"status": "Pull complete", "id": "a"})
    told.hear({"status": "Already exists", "id": "b"})
    told.hear({"status": "Status: Downloaded newer image"})
    assert said[0] == "pulling image:1"
    assert said[1] == "pulling image:1: 0 of 2 layers, 1.0 of 9.5 MiB"
    assert said[-3:] == [
        "pulling image:1: 1 of 2 layers, 9.5 of 9.5 MiB",
        "pulling image:1: 2 of 2 layers, 9.5 of 9.5 MiB",
        "pulled image:1",
    ]
    assert len(said) <= 15


class _Pieces:
    """A connection's bytes in pieces; stands where sockets are."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def receive(self) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""

    def close(self) -> None:
        self._pieces.clear()


def _stream(pieces: list[bytes], begun: bytes = b"") -> Hijacked:
    return Hijacked(_Pieces(pieces), begun)  # type: ignore[arg-type]


async def _drain(stream: Hijacked, most: int) -> list[tuple[str, bytes]]:
    said: list[tuple[str, bytes]] = []
    while (piece := await stream.read(most)) is not None:
        assert 0 < len(piece[1]) <= most
        said.append(piece)
    return said


def _cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in itertools.pairwise(edges)]


@given(
    messages=st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=200)), max_size=20),
    places=st.lists(st.integers(0, 10_000), max_size=20),
    most=st.integers(1, 100),
)
def test_streams_are_the_same_however_the_connection_cuts_them(messages: list[tuple[int, bytes]], places: list[int], most: int) -> None:
    data = b"".join(struct.pack(">BxxxL", kind, len(text)) + text for kind, text in messages)
    first, *rest = [*_cut(data, places), b""]
    said = asyncio.run(_drain(_stream([each for each in rest if each], first), most))
    for kind, name in ((1, "stdout"), (2, "stderr")):
        assert b"".join(text for source, text in said if source == name) == b"".join(text for number, text in messages if number == kind)


@pytest.mark.parametrize(
    "data", [b"\x01\x00\x00", b"\x01\x00\x00\x00\x00\x00\x00\x05abc", b"\x09\x00\x00\x00\x00\x00\x00\x01a", b"HTTP/1.1 400"]
)
async def test_a_stream_that_breaks_off_or_is_none_is_an_error(data: bytes) -> None:
    with pytest.raises(BrokenStreamError):
        await _drain(_stream([data]), 10)


_RESET = b"OCI runtime exec failed: exec failed: container_linux.go:380: read init-p: connection reset by peer: unknown\r\n"


class _Engine:
    """What an engine answers about programs that it starts; stands where one is that fails in passing."""

    deadline = 60.0

    def __init__(self, *said: bytes) -> None:
        self._said = list(said)
        self.started = 0

    async def ask(self, method: str, path: str, **_: object) -> dict[str, Any]:
        if method == "POST":
            return {"Id": f"exec-{self.started}"}
        return {"State": {"Running": True}} if path.startswith("/containers") else {"Running": False, "ExitCode": 126}

    async def hijack(self, _path: str, _body: object, *, terminal: bool) -> Hijacked:
        self.started += 1
        text = self._said.pop(0)
        return _stream([struct.pack(">BxxxL", 1, len(text)) + text])

    async def watched(self, wait: Any) -> Any:
        return await wait()


async def _started(engine: _Engine) -> DockerProcess:
    return await start_process(engine, "c", ["true"], user=User.AGENT, cwd="/task", environ={}, sacrificed=True)  # type: ignore[arg-type]


@pytest.fixture
def _lives_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_LIFE_POLL_SECONDS", 0)


@pytest.mark.usefixtures("_lives_at_once")
async def test_a_program_that_the_engines_runtime_lost_before_it_began_is_started_again_a_few_times() -> None:
    engine = _Engine(_RESET, _RESET, b"nodus:up 0000000042\n")
    await (await _started(engine)).aclose()
    assert engine.started == 3
    with pytest.raises(NotBegunError, match="connection reset by peer"):
        await _started(_Engine(_RESET, _RESET, _RESET))


@pytest.mark.usefixtures("_lives_at_once")
@pytest.mark.parametrize("said", [b"sh: 3: cd: can't cd to /gone", b'OCI runtime exec failed: exec: "/bin/sh": no such file: unknown'])
async def test_a_program_that_cannot_begin_is_started_once(said: bytes) -> None:
    engine = _Engine(said)
    with pytest.raises(NotBegunError):
        await _started(engine)
    assert engine.started == 1


@pytest.mark.parametrize(("processors", "starts"), [(1, 2), (2, 2), (4, 4), (64, 8), (None, 2), ("16", 2)])
def test_as_many_containers_start_at_once_as_the_engine_has_processors(processors: object, starts: int) -> None:
    assert starts_at_once({} if processors is None else {"NCPU": processors}) == starts
