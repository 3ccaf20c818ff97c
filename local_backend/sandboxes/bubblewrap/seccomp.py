"""The system calls that nothing in a bubblewrap sandbox may make, as the classic BPF program that the kernel runs on each call.

A deny-list on top of namespaces, capabilities and no-new-privileges: it closes kernel interfaces that a program in a sandbox has no use
for and that have been ways out of sandboxes. Whatever is not listed is allowed. Numbers are the kernel's ABI and never change.
"""

import struct

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
"""Offsets in struct seccomp_data; of the arguments, their low halves."""

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEW*: mount, cgroup, uts, ipc, user, pid and net."""

_FAMILIES = (1, 2, 10, 16)
"""Sockets: unix, IPv4, IPv6 and netlink, which all end at the network namespace; vsock, for one, does not."""

_TERMINAL_REQUESTS = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX write into the input of a terminal."""

_SPECIAL = {
    "x86_64": {"clone": 56, "clone3": 435, "socket": 41, "ioctl": 16},
    "aarch64": {"clone": 220, "clone3": 435, "socket": 198, "ioctl": 29},
}

_SINCE_5_1 = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430,
    "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_getfd": 438, "mount_setattr": 442, "quotactl_fd": 443, "open_tree_attr": 467,
}  # fmt: skip
"""One number on every architecture."""

_DENIED = {
    "x86_64": {
        "acct": 163, "add_key": 248, "bpf": 321, "chroot": 161, "clock_adjtime": 305, "clock_settime": 227, "delete_module": 176,
        "fanotify_init": 300, "finit_module": 313, "init_module": 175, "ioperm": 173, "iopl": 172, "kcmp": 312, "kexec_file_load": 320,
        "kexec_load": 246, "keyctl": 250, "lookup_dcookie": 212, "mount": 165, "name_to_handle_at": 303, "open_by_handle_at": 304,
        "perf_event_open": 298, "pivot_root": 155, "process_vm_readv": 310, "process_vm_writev": 311, "ptrace": 101, "quotactl": 179,
        "reboot": 169, "request_key": 249, "setns": 308, "settimeofday": 164, "swapoff": 168, "swapon": 167, "syslog": 103,
        "umount2": 166, "unshare": 272, "uselib": 134, "userfaultfd": 323, "ustat": 136, "vhangup": 153,
    },
    "aarch64": {
        "acct": 89, "add_key": 217, "bpf": 280, "chroot": 51, "clock_adjtime": 266, "clock_settime": 112, "delete_module": 106,
        "fanotify_init": 262, "finit_module": 273, "init_module": 105, "kcmp": 272, "kexec_file_load": 294, "kexec_load": 104,
        "keyctl": 219, "lookup_dcookie": 18, "mount": 40, "name_to_handle_at": 264, "open_by_handle_at": 265, "perf_event_open": 241,
        "pivot_root": 41, "process_vm_readv": 270, "process_vm_writev": 271, "ptrace": 117, "quotactl": 60, "reboot": 142,
        "request_key": 218, "setns": 268, "settimeofday": 170, "swapoff": 225, "swapon": 224, "syslog": 116, "umount2": 39,
        "unshare": 97, "userfaultfd": 282, "vhangup": 58,
    },
}  # fmt: skip


def filter_program(machine: str) -> bytes | None:
    """The program for `platform.machine()`; None for an architecture whose numbers are not known here."""
    if machine not in _ARCHITECTURES:
        return None
    special = _SPECIAL[machine]
    program = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, _ARCHITECTURES[machine], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        program += [_step(_AT_LEAST, _X32, 0, 1), _step(_RETURN, _KILL)]
    for number in sorted({*_DENIED[machine].values(), *_SINCE_5_1.values()}):
        program += [_step(_EQUAL, number, 0, 1), _refuse(_EPERM)]
    # Its flags lie in memory, where no filter looks; who is told that it does not exist uses clone.
    program += [_step(_EQUAL, special["clone3"], 0, 1), _refuse(_ENOSYS)]
    program += _when(
        special["clone"], [_step(_LOAD, _FIRST_ARGUMENT), _step(_ANY_BIT, _NEW_NAMESPACES, 0, 1), _refuse(_EPERM), _step(_RETURN, _ALLOW)]
    )
    families = [_step(_LOAD, _FIRST_ARGUMENT)]
    for family in _FAMILIES:
        families += [_step(_EQUAL, family, 0, 1), _step(_RETURN, _ALLOW)]
    program += _when(special["socket"], [*families, _refuse(_EAFNOSUPPORT)])
    requests = [_step(_LOAD, _SECOND_ARGUMENT)]
    for request in _TERMINAL_REQUESTS:
        requests += [_step(_EQUAL, request, 0, 1), _refuse(_EPERM)]
    program += _when(special["ioctl"], [*requests, _step(_RETURN, _ALLOW)])
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _when(number: int, steps: list[bytes]) -> list[bytes]:
    """These steps, which end with a return, for one system call; the number is loaded."""
    return [_step(_EQUAL, number, 0, len(steps)), *steps]


def _refuse(errno: int) -> bytes:
    return _step(_RETURN, _ERRNO | errno)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
