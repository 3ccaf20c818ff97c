"""From a process to its sandbox: what /proc tells of it, and what that leads to."""

from pathlib import Path

import pytest

from local_backend.hardware.attribution import Attribution, Place
from local_backend.hardware.process_reader import KEPT_SECONDS, ProcessReader
from local_backend.hardware.rates import Rates
from local_backend.hardware.readings import Whereabouts

CONTAINER = "4f6e" * 16
BOX = "nodus-0123456789ab"


TOKEN = "1f2e" * 8


def add_process(
    proc: Path, pid: int, parent: int, *, started: int = 100, cgroup: str = "", command: str = "python\0-m\0train\0", environ: str = ""
) -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    # The name may hold spaces and brackets.
    (folder / "stat").write_text(f"{pid} (a) b) S {parent} " + " ".join(["0"] * 17) + f" {started} 0")
    (folder / "cmdline").write_text(command)
    (folder / "comm").write_text("short\n")
    (folder / "cgroup").write_text(cgroup)
    (folder / "environ").write_text(environ)


@pytest.mark.parametrize(
    ("cgroup", "places"),
    [
        (f"0::/system.slice/docker-{CONTAINER}.scope\n", [CONTAINER]),
        (f"12:memory:/docker/{CONTAINER}\n3:cpu,cpuacct:/docker/{CONTAINER}\n", [CONTAINER]),
        (f"0::/user.slice/libpod-{CONTAINER}.scope/container\n", [CONTAINER]),
        (f"5:pids:/nodus/{BOX}\n", [BOX]),
        (f"0::/docker/{CONTAINER}/docker/{'a' * 64}\n", sorted([CONTAINER, "a" * 64])),
        (f"0::/x{CONTAINER}0/nodus-0123456789abc\n", []),
        ("0::/user.slice/user-1000.slice\n", []),
        (f"5:pids:/nodus/job-{TOKEN}\n", [f"job-{TOKEN}"]),
        (f"5:pids:/nodus/job-{TOKEN}0\n", []),
    ],
)
def test_the_names_of_its_control_groups(cgroup: str, places: list[str], tmp_path: Path) -> None:
    add_process(tmp_path, 7, 1, cgroup=cgroup)
    assert ProcessReader(tmp_path).facts(7)["places"] == places


@pytest.mark.parametrize(
    ("environ", "places"),
    [
        (f"A=1\0NODUS_JOB_MARK={TOKEN}\0B=2\0", [f"job-{TOKEN}"]),
        (f"NODUS_JOB_MARK={TOKEN}", [f"job-{TOKEN}"]),
        (f"X_NODUS_JOB_MARK={TOKEN}\0NODUS_JOB_MARK=x\0", []),
    ],
)
def test_a_job_is_known_by_the_mark_in_the_environment_of_its_processes(environ: str, places: list[str], tmp_path: Path) -> None:
    add_process(tmp_path, 7, 1, environ=environ)
    assert ProcessReader(tmp_path).facts(7)["places"] == places


def test_its_command_and_ancestors(tmp_path: Path) -> None:
    add_process(tmp_path, 30, 20, started=3)
    add_process(tmp_path, 20, 10, started=2)
    add_process(tmp_path, 10, 1, started=1, command="")
    reader = ProcessReader(tmp_path)
    assert reader.facts(30)["command"] == "python -m train"
    assert reader.facts(30)["ancestors"] == [[30, "3"], [20, "2"], [10, "1"]]
    assert reader.facts(10)["command"] == "short"
    assert reader.facts(99) == {"user": None, "command": None, "places": [], "ancestors": [], "seen": False}


def test_a_pid_that_came_back_is_another_process(tmp_path: Path) -> None:
    now = 0.0
    add_process(tmp_path, 7, 1, started=1, command="old")
    reader = ProcessReader(tmp_path, clock=lambda: now)
    assert reader.facts(7)["command"] == "old"
    add_process(tmp_path, 7, 1, started=1, command="changed")
    assert reader.facts(7)["command"] == "old", "looked at a moment ago"
    now = KEPT_SECONDS
    assert reader.facts(7)["command"] == "changed"
    add_process(tmp_path, 7, 1, started=2, command="new")
    assert reader.facts(7)["command"] == "new"
    reader.forget_all_but(set())
    assert reader.facts(7)["command"] == "new"


def found(*places: str, ancestors: tuple[tuple[int, str], ...] = ((5, "1"),)) -> Whereabouts:
    return Whereabouts(places, ancestors)


def test_a_process_is_in_the_sandbox_of_its_group_or_of_its_ancestor() -> None:
    attribution = Attribution()
    by_group, by_init = Place(CONTAINER, "r1"), Place(BOX, "r2", init=(20, "2"))
    attribution.take((by_group, by_init), {}, 0)
    assert attribution.place_of(found("a" * 64, CONTAINER)) is by_group
    assert attribution.place_of(found(ancestors=((30, "3"), (20, "2")))) is by_init
    assert attribution.place_of(found(ancestors=((20, "9"),))) is None, "the pid came back"
    assert attribution.place_of(found(ancestors=())) is None


def test_strangers_are_asked_about_again_after_a_while_only() -> None:
    attribution = Attribution()
    processes = {5: found()}
    assert attribution.unknown(processes, 0, again_seconds=30)
    attribution.take((), processes, 0)
    assert not attribution.unknown(processes, 29, again_seconds=30)
    assert attribution.unknown({**processes, 6: found(ancestors=((6, "1"),))}, 29, again_seconds=30)
    assert attribution.unknown(processes, 30, again_seconds=30)
    assert not attribution.unknown({7: found(ancestors=())}, 0, again_seconds=30), "nothing can be known of it"


def test_counters_that_go_back_give_no_rate() -> None:
    rates = Rates()
    assert rates.take({"a": 10, "b": 5}, 1) == {"a": None, "b": None}
    assert rates.take({"a": 30, "b": 4, "c": 1}, 3) == {"a": 10, "b": None, "c": None}
    assert rates.take({"a": 30}, 3) == {"a": None}
