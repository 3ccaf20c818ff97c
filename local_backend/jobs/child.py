"""Between fork and exec: what makes the new process the job's command. Runs alone in the child, which never returns.

It gives the command its own session, limits, network and folder; a failure goes through a pipe to the supervisor, as a sentence.
"""

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from local_backend.jobs.order import Order
from local_backend.jobs.process_tree import die_with_parent
from local_backend.sandboxes.bubblewrap import cgroups

NOT_STARTED = 127
"""The exit code of a command that could not be started."""

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_MS_NODEV, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_SLAVE = 4, 32, 4096, 16384, 1 << 19


class StartError(Exception):
    """The command cannot be started; the text is a sentence."""


def become(order: Order, *, output: int, failure: int, groups: Sequence[Path]) -> NoReturn:
    """Become the command, or tell why not and end."""
    try:
        die_with_parent()
        os.setsid()
        _set_limits(order, groups)
        if order.hidden:
            _hide(order.hidden)
        if not order.network:
            leave_network()
        _enter(order.working_dir)
        _set_files(output)
        # Python ignores these; programs expect to be ended by them.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _execute(order)
    except StartError as error:
        os.write(failure, str(error).encode())
    except OSError as error:
        os.write(failure, f"the command could not be started: {error.strerror or error}".encode())
    finally:
        os._exit(NOT_STARTED)


def _set_limits(order: Order, groups: Sequence[Path]) -> None:
    if groups:
        cgroups.join(groups, os.getpid())
        return
    # Without control groups: each process by itself.
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = order.memory_bytes if most == resource.RLIM_INFINITY else min(order.memory_bytes, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
    mine = sorted(os.sched_getaffinity(0))
    wanted = max(1, round(order.cpus + 0.499))
    first = os.getpid() % len(mine)
    os.sched_setaffinity(0, {mine[(first + place) % len(mine)] for place in range(min(wanted, len(mine)))})


def _hide(files: Sequence[str]) -> None:
    """Make device files unopenable for this process and all that it starts, root included; the machine sees nothing of it."""
    libc = ctypes.CDLL(None, use_errno=True)

    def call(done: int, what: str) -> None:
        if done != 0:
            raise StartError(f"the devices that it was not given could not be hidden from it ({what}: {os.strerror(ctypes.get_errno())})")

    call(libc.unshare(_CLONE_NEWNS), "unshare")
    # What is mounted on the machine later is seen here, and what is mounted here is not seen there.
    call(libc.mount(None, b"/", None, _MS_REC | _MS_SLAVE, None), "mount /")
    for file in files:
        path = os.fsencode(file)
        call(libc.mount(path, path, None, _MS_BIND, None), file)
        call(libc.mount(None, path, None, _MS_REMOUNT | _MS_BIND | _MS_NODEV, None), file)


def leave_network() -> None:
    """A network namespace with nothing but its own loopback."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.getuid(), os.getgid()
    flags = _CLONE_NEWNET if uid == 0 else _CLONE_NEWUSER | _CLONE_NEWNET
    if libc.unshare(flags) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise StartError(f"this system lets nobody take the network from a command ({reason}): set network: true, or use an image")
    if uid != 0:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def _enter(folder: str) -> None:
    try:
        os.chdir(folder)
    except OSError as error:
        raise StartError(f"its working folder {folder} cannot be entered: {error.strerror}") from error


def _set_files(output: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)


def _execute(order: Order) -> NoReturn:
    program = order.command[0]
    try:
        os.execvpe(program, list(order.command), order.environ)  # noqa: S606 - the command is what a person wrote, and no shell reads it
    except FileNotFoundError as error:
        where = "" if "/" in program else f" in the folders of PATH ({order.environ.get('PATH', '')})"
        raise StartError(f"there is no program {program}{where}") from error
    except PermissionError as error:
        raise StartError(f"{program} may not be executed") from error
    except OSError as error:
        raise StartError(f"{program} cannot be executed: {error.strerror}") from error
