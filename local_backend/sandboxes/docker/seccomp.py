"""The filter of system calls of a Docker sandbox, as the profile that is sent along with its configuration. Pure.

An engine's own default differs from version to version: older ones let programs open sockets to a virtual machine's hypervisor, which no
network namespace holds back, and use io_uring. None refuses SIGSTOP, which here decides more than it seems: runc turns into the agent's
user before it starts a program, and an agent that stops it just then holds up the engine itself, which can then neither start nor end
anything in that sandbox.

What is not listed is allowed, as in bubblewrap's filter, on top of dropped capabilities, namespaces and no-new-privileges.
"""

import json
from collections.abc import Mapping
from typing import Any

DENIED = (
    "_sysctl", "acct", "add_key", "bpf", "chroot", "clock_adjtime", "clock_adjtime64", "clock_settime", "clock_settime64", "create_module",
    "delete_module", "fanotify_init", "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "get_kernel_syms", "get_mempolicy",
    "init_module", "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm", "iopl", "kcmp", "kexec_file_load", "kexec_load",
    "keyctl", "lookup_dcookie", "mbind", "migrate_pages", "mount", "mount_setattr", "move_mount", "move_pages", "name_to_handle_at",
    "nfsservctl", "open_by_handle_at", "open_tree", "open_tree_attr", "perf_event_open", "pidfd_getfd", "pivot_root", "process_madvise",
    "process_vm_readv", "process_vm_writev", "ptrace", "query_module", "quotactl", "quotactl_fd", "reboot", "request_key", "set_mempolicy",
    "set_mempolicy_home_node", "setns", "settimeofday", "socketcall", "stime", "swapoff", "swapon", "sysfs", "syslog", "umount", "umount2",
    "unshare", "uselib", "userfaultfd", "ustat", "vhangup", "vm86", "vm86old",
)  # fmt: skip
"""By name; `socketcall` is how 32-bit programs open sockets, of a family that no filter can see."""

_ENOSYS, _EPERM, _EAFNOSUPPORT = 38, 1, 97
_LOW_HALF = 0xFFFFFFFF
"""The kernel looks at the low half of these arguments only, and so must the filter."""

_SIGSTOP = 19
_SIGNALS = {"kill": 1, "tkill": 1, "tgkill": 2, "rt_sigqueueinfo": 1, "rt_tgsigqueueinfo": 2, "pidfd_send_signal": 1}
"""The place of the signal among the arguments."""
_F_SETSIG = 10
"""Has the kernel send a signal in place of SIGIO, to whom else F_SETOWN says."""

_NEW_NAMESPACES = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
"""CLONE_NEW*: mount, cgroup, uts, ipc, user, pid and net."""

_FAMILIES = frozenset({1, 2, 10, 16})
"""Sockets: unix, IPv4, IPv6 and netlink, which all end at the network namespace."""
_LAST_FAMILY = 63

_TERMINAL_REQUESTS = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX write into the input of a terminal."""


def profile() -> str:
    """The profile as the engine takes it."""
    calls = [
        _refused(*DENIED),
        # Its flags lie in memory, where no filter looks; who is told that it does not exist uses clone.
        _refused("clone3", errno=_ENOSYS),
        *(_refused("clone", args=[_masked(0, flag, flag)]) for flag in _NEW_NAMESPACES),
        *(_refused(name, args=[_masked(place, _LOW_HALF, _SIGSTOP)]) for name, place in _SIGNALS.items()),
        _refused("fcntl", "fcntl64", args=[_masked(1, _LOW_HALF, _F_SETSIG), _masked(2, _LOW_HALF, _SIGSTOP)]),
        *(_refused("ioctl", args=[_masked(1, _LOW_HALF, request)]) for request in _TERMINAL_REQUESTS),
        *(
            _refused("socket", errno=_EAFNOSUPPORT, args=[_masked(0, _LOW_HALF, family)])
            for family in range(_LAST_FAMILY + 1)
            if family not in _FAMILIES
        ),
        _refused("socket", errno=_EAFNOSUPPORT, args=[{"index": 0, "value": _LAST_FAMILY, "op": "SCMP_CMP_GT"}]),
    ]
    machines = [
        {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86"]},
        {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": ["SCMP_ARCH_ARM"]},
    ]
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "archMap": machines, "syscalls": calls})


def _refused(*names: str, errno: int = _EPERM, args: list[Mapping[str, Any]] | None = None) -> dict[str, Any]:
    return {"names": list(names), "action": "SCMP_ACT_ERRNO", "errnoRet": errno, "args": args or []}


def _masked(index: int, mask: int, value: int) -> dict[str, Any]:
    return {"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}
