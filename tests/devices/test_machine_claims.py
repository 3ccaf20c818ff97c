"""A device is taken once on a machine, by whichever process, and free again when that one is gone, however it ended."""

import contextlib
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest

from local_backend.devices.machine_claims import MachineClaim, TakenError, claim, held, plain

PLACES = 2
HOLDER = """
import os, sys
from local_backend.devices.machine_claims import TakenError, claim
try:
    kept = claim(sys.argv[2:], shared=sys.argv[1] == "shared", places=2)
except TakenError:
    print("taken", flush=True)
else:
    print("mine", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def device() -> str:
    """No other test on this machine knows it."""
    return f"GPU-{uuid.uuid4()}"


@contextlib.contextmanager
def another(how: str, *devices: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Another process that claims them, with what it says of that."""
    command = [sys.executable, "-c", HOLDER, how, *devices]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
        process.kill()


@contextlib.contextmanager
def mine(*devices: str, shared: bool = False) -> Iterator[MachineClaim]:
    made = claim(devices, shared=shared, places=PLACES)
    try:
        yield made
    finally:
        made.close()


def taken(*devices: str, shared: bool = False) -> bool:
    try:
        claim(devices, shared=shared, places=PLACES).close()
    except TakenError:
        return True
    return False


def test_only_one_process_has_a_device_and_its_death_frees_it(device: str) -> None:
    with another("alone", device) as (process, said):
        assert said == "mine"
        assert taken(device)
        assert taken(device, shared=True)
        assert held()[device].alone
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert device not in held()
        assert not taken(device)


def test_so_many_share_and_none_has_it_alone_beside_them(device: str) -> None:
    with mine(device, shared=True), another("shared", device) as (_, said):
        assert said == "mine"
        assert held()[device].shares == 2
        assert taken(device, shared=True)
        assert taken(device)
    assert not taken(device)


def test_all_or_none(device: str) -> None:
    other = f"GPU-{uuid.uuid4()}"
    with mine(other):
        assert taken(device, other)
        assert device not in held()


def test_whoever_inherits_a_claim_holds_it_on(device: str) -> None:
    with mine(device) as made:
        heir = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=made.descriptors)
    assert taken(device)
    heir.communicate()
    assert not taken(device)


def test_it_is_told_whose_a_claim_is(device: str) -> None:
    with another("alone", device):
        assert held()[device].alone == subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()


def test_the_slash_in_the_uuid_of_an_older_drivers_slice_is_no_part_of_the_name(device: str) -> None:
    part = f"MIG-{device}/7/0"
    with mine(part):
        assert taken(part)
        assert not taken(f"MIG-{device}/8/0")
        assert held()[plain(part)].alone
