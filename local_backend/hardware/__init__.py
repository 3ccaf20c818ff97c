"""This machine as it is now: accelerators, the processes on them, CPU, memory, disk and network.

Everything that may hang or crash (NVML, /proc of foreign processes, file systems) is asked by a process of its own (`probe.py`), which the
scheduler can give up without harm. What a device costs is not here: rates are in `nodus_tui.statistics`.
"""
