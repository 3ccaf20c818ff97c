"""NVML's error codes and clock reasons in words for people. Pure."""

from collections.abc import Iterable

NOT_SUPPORTED = 3
NO_PERMISSION = 4
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13

LOST_CODES = frozenset({15, 16, 28})
"""The device is gone until somebody acts: lost, needs a reset, not found."""

_OPENING = {
    LIBRARY_NOT_FOUND: "no NVIDIA driver here: its library libnvidia-ml.so.1 is not found",
    9: "the NVIDIA driver is not loaded: the library is here, the kernel module is not (`modprobe nvidia`, or look into `dmesg`)",
    18: "the NVIDIA driver and its library are of different versions, as after an update: restart the machine, or load the driver anew",
    NO_PERMISSION: "no permission to use the NVIDIA driver: this user may not open /dev/nvidiactl",
    FUNCTION_NOT_FOUND: "the NVIDIA library is too old: it lacks what is needed to ask it",
}

_CODES = {
    1: "NVML is not ready",
    2: "NVML refused the question",
    6: "not found",
    9: "the driver is not loaded",
    10: "NVML gave up waiting",
    11: "the driver could not receive interrupts",
    14: "the device's own records are corrupted",
    15: "the device is lost: it fell off the bus, or needs a restart of the machine",
    16: "the device needs a reset before it works again",
    17: "the operating system refused the request",
    18: "the driver and its library are of different versions",
    19: "the device is in use",
    20: "out of memory",
    21: "no figure yet",
    28: "the device is not found any more",
    999: "an error inside the driver",
}

_REASONS = (
    (0x4, "power limit"),
    (0x8, "hardware slowdown"),
    (0x20, "heat (by the driver)"),
    (0x40, "heat (by the hardware)"),
    (0x80, "external power brake"),
    (0x2, "clocks set by the user"),
    (0x10, "kept in step with other devices"),
    (0x100, "display clocks"),
    (0x200, "board limit"),
    (0x400, "reliability limit"),
)
"""Bits of the clocks' event reasons. 0x1 says that the device is idle, which is no throttling."""


def opening_words(code: int, told: str) -> str:
    """Why NVML could not be opened."""
    return _OPENING.get(code) or f"the NVIDIA driver does not answer: {error_words(code, told)}"


def error_words(code: int, told: str) -> str:
    """One error; `told` is NVML's own word for it, for codes that are newer than this."""
    return _CODES.get(code) or f"{told} (NVML error {code})"


def reason_words(bits: int) -> tuple[str, ...]:
    """Why clocks are lowered, the weighty ones first."""
    return tuple(words for bit, words in _REASONS if bits & bit)


def listed(names: Iterable[str]) -> str:
    """`a, b and c`."""
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last
