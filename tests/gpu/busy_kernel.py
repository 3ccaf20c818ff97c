"""Keeps one GPU busy for some seconds: `python busy_kernel.py INDEX SECONDS MIB`. Needs the driver alone: its library compiles the kernel.

It prints `ready` once its memory is allocated and the first kernel runs.
"""

import ctypes
import sys
import time

TARGETS = ((b"6.3", b"sm_75"), (b"6.0", b"sm_50"))
"""Versions of PTX and the oldest devices that they are for. New drivers may know the first alone, old devices the second."""
KERNEL = b"""
.version %b
.target %b
.address_size 64
.visible .entry spin(.param .u64 cycles)
{
    .reg .u64 %%t<5>;
    .reg .pred %%go;
    ld.param.u64 %%t1, [cycles];
    mov.u64 %%t2, %%clock64;
again:
    mov.u64 %%t3, %%clock64;
    sub.u64 %%t4, %%t3, %%t2;
    setp.lt.u64 %%go, %%t4, %%t1;
    @%%go bra again;
    ret;
}
\0"""
CYCLES = 300_000_000
"""Of one kernel: about a fifth of a second."""


def call(library: ctypes.CDLL, name: str, *arguments: object) -> None:
    code = getattr(library, name)(*arguments)
    if code:
        raise SystemExit(f"{name} failed with CUDA's error {code}")


def main(index: int, seconds: float, mib: int) -> None:
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context, module, function, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    call(cuda, "cuInit", 0)
    call(cuda, "cuDeviceGet", ctypes.byref(device), index)
    call(cuda, "cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call(cuda, "cuCtxSetCurrent", context)
    call(cuda, "cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(mib << 20))
    if all(cuda.cuModuleLoadData(ctypes.byref(module), KERNEL % target) for target in TARGETS):
        raise SystemExit("the driver compiles the kernel for no kind of device")
    call(cuda, "cuModuleGetFunction", ctypes.byref(function), module, b"spin")
    cycles = ctypes.c_uint64(CYCLES)
    parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(cycles), ctypes.c_void_p))
    end = time.monotonic() + seconds
    told = False
    while time.monotonic() < end:
        # Two at a time, so that the device never waits for the next one.
        for _ in range(2):
            call(cuda, "cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, parameters, None)
        if not told:
            print("ready", flush=True)
            told = True
        call(cuda, "cuCtxSynchronize")


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
