"""What CUDA lets a program see: `python seen_devices.py [SECONDS]` prints each device's uuid, and then computes for some seconds.

It needs the driver alone. Without any device that it may see it prints `none` and CUDA's error.
"""

import ctypes
import sys


def uuids() -> list[str]:
    cuda = ctypes.CDLL("libcuda.so.1")
    code = cuda.cuInit(0)
    if code:
        print(f"none (CUDA's error {code})", flush=True)
        return []
    count = ctypes.c_int()
    cuda.cuDeviceGetCount(ctypes.byref(count))
    found = []
    for index in range(count.value):
        device, raw = ctypes.c_int(), (ctypes.c_ubyte * 16)()
        cuda.cuDeviceGet(ctypes.byref(device), index)
        cuda.cuDeviceGetUuid(raw, device)
        text = bytes(raw).hex()
        found.append(f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}")
    return found


if __name__ == "__main__":
    seen = uuids()
    for uuid in seen:
        print(uuid, flush=True)
    if seen and len(sys.argv) > 1:
        from busy_kernel import main as compute  # It lies beside this one, which runs alone in sandboxes.

        compute(0, float(sys.argv[1]), 256)
