"""The probe run: a sandbox is made, and what the contract promises is tried in it. What does not hold is said in a sentence.

An engine's own word is not enough: some ignore limits silently.
"""

import asyncio
import contextlib

from local_backend.sandboxes.interface import GRADER_FOLDER, Limits, Sandbox, SandboxEngine, SandboxError, SandboxRequest, User
from local_backend.sandboxes.owner import this_process
from local_backend.sandboxes.running import Finished, run

PROBE_SECONDS = 180.0
"""Of a whole probe run, in seconds: an engine may have to take in the base image first."""

_STEP_SECONDS = 30.0
_LIMITS = Limits(cpus=0.25, memory_bytes=96 << 20, pids=32, disk_bytes=32 << 20, open_files=256)
_PYTHON = ("python3", "-I", "-S", "-c")

_CPU = """
import time
began = time.monotonic()
while time.process_time() < 0.15: pass
print("limited" if time.monotonic() - began > 0.25 else "free")
"""
_PIDS = """
import os, time
made = 0
try:
    while made < 100:
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        made += 1
except OSError:
    pass
print("limited" if made < 32 else "free", flush=True)
os._exit(0)
"""
_MEMORY = """
try:
    kept = [bytearray(1 << 20) for _ in range(256)]
except MemoryError:
    raise SystemExit(3)
print("free")
"""
_DISK = """
try:
    with open("filled", "wb") as file:
        for _ in range(64): file.write(bytes(1 << 20))
except OSError as error:
    print("limited" if error.errno == 28 else error)
else:
    print("free")
"""


async def probe(engine: SandboxEngine) -> tuple[str, ...]:
    """What is weaker than the contract, as sentences. Raises SandboxError when no sandbox can be made, used and removed."""
    request = SandboxRequest(run="probe", purpose="probe", owner=this_process(), lifetime_seconds=PROBE_SECONDS + 60, limits=_LIMITS)
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            sandbox = await engine.create(request)
            try:
                weaknesses = await _look(sandbox, two_users=engine.facts.two_users)
            except BaseException:
                with contextlib.suppress(SandboxError):  # The first failure is the one to tell.
                    await sandbox.aclose()
                raise
            await sandbox.aclose()
            if any(each.id == sandbox.id for each in await engine.list()):
                raise SandboxError("The probe's sandbox was not removed.")
    except TimeoutError:
        raise SandboxError(f"The probe run did not end within {PROBE_SECONDS:.0f} s.") from None
    return weaknesses


async def _look(sandbox: Sandbox, *, two_users: bool) -> tuple[str, ...]:
    for user in User if two_users else (User.AGENT,):
        done = await run(sandbox, ("id", "-u"), user=user, timeout=_STEP_SECONDS)
        if done.stdout.strip() != user.value.encode():
            raise SandboxError(f"A program that was started as uid {user.value} did not run so.")
    weaknesses = []
    if two_users and not await _hides_answers(sandbox):
        weaknesses.append(f"The agent can read what root keeps in {GRADER_FOLDER}.")
    if not await _has_no_network(sandbox):
        weaknesses.append("A sandbox has a network that nobody asked for.")
    for what, script in (("disk", _DISK), ("CPU", _CPU), ("number of processes", _PIDS)):
        done = await run(sandbox, (*_PYTHON, script), timeout=_STEP_SECONDS)
        await sandbox.kill_agent()
        if done.stdout.strip() == b"free":
            weaknesses.append(f"The {what} of a sandbox is not limited.")
        elif done.stdout.strip() != b"limited":
            raise SandboxError(f"The probe of the {what} did not end as it should: {_ended(done)}.")
    if (await run(sandbox, (*_PYTHON, _MEMORY), timeout=_STEP_SECONDS)).exit_code == 0:
        weaknesses.append("The memory of a sandbox is not limited.")
    return tuple(weaknesses)


async def _hides_answers(sandbox: Sandbox) -> bool:
    path = f"{GRADER_FOLDER}/probe"
    wrote = await run(sandbox, ("sh", "-c", f"umask 022; echo secret > {path}"), user=User.ROOT, timeout=_STEP_SECONDS)
    if wrote.exit_code != 0:
        raise SandboxError(f"Root cannot write to {GRADER_FOLDER}: {_ended(wrote)}.")
    return (await run(sandbox, ("cat", path), timeout=_STEP_SECONDS)).exit_code != 0


async def _has_no_network(sandbox: Sandbox) -> bool:
    told = await run(sandbox, ("cat", "/proc/net/dev"), timeout=_STEP_SECONDS)
    devices = [line.partition(b":")[0].strip() for line in told.stdout.splitlines() if b":" in line]
    return devices == [b"lo"]


def _ended(done: Finished) -> str:
    if done.timed_out:
        return f"not within {_STEP_SECONDS:.0f} s"
    said = "".join(letter for letter in done.stderr.decode("utf-8", "replace")[-200:].strip() if letter.isprintable())
    return f"exit code {done.exit_code}{f', {said}' if said else ''}"
