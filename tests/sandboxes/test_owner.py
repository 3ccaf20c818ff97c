"""Owners: a process is known by more than its number."""

import os
import subprocess
import sys

from engine_suite import descriptors_left

from local_backend.sandboxes.owner import owner_alive, this_process
from nodus_tui.values import replace

_TELL = """
import sys
from local_backend.sandboxes.owner import this_process
print(this_process().pid, this_process().started, flush=True)
sys.stdin.read()
"""


def test_this_process_lives() -> None:
    owner = this_process("/home/w")
    assert owner.workspace == "/home/w"
    assert owner_alive(owner) is True
    assert this_process("/home/w") == owner


def test_a_pid_that_came_back_is_another_process() -> None:
    owner = this_process()
    boot, namespace, ticks = owner.started.split("/")
    assert owner_alive(replace(owner, started=f"{boot}/{namespace}/{int(ticks) - 1}")) is False


def test_another_boot_is_dead_and_another_place_is_unknown() -> None:
    owner = this_process()
    boot, namespace, ticks = owner.started.split("/")
    assert owner_alive(replace(owner, started=f"another-boot/{namespace}/{ticks}")) is False
    assert owner_alive(replace(owner, started=f"{boot}/1/{ticks}")) is None
    assert owner_alive(replace(owner, host="elsewhere.invalid")) is None


def test_who_cannot_be_looked_at_is_not_taken_for_dead() -> None:
    owner = this_process()
    seen = []
    for count in range(4):
        with descriptors_left(count):
            seen.append(owner_alive(owner))
    assert seen[0] is None
    assert set(seen) == {None, True}


def test_a_process_lives_until_it_is_killed_even_as_a_zombie() -> None:
    with subprocess.Popen([sys.executable, "-c", _TELL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        pid, started = child.stdout.readline().split()
        owner = replace(this_process(), pid=int(pid), started=started)
        assert owner_alive(owner) is True
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # It is dead now, and still there as a zombie.
        assert owner_alive(owner) is False
    assert owner_alive(owner) is False
