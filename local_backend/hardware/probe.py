"""The process that looks at the machine: `python -m local_backend.hardware.probe FOLDER`.

It reads one JSON line a sample from stdin, `{"nvml": true, "without": [2]}` with whether NVML is to be asked and which devices are not, and
answers in lines: what it is about to ask (`{"at": …}`), so that whoever waits knows what hangs, then what it found, then `{"end": true}`.
It ends when its stdin does, also while a call hangs. It knows nothing of the contract and loads little.
"""

import json
import os
import queue
import sys
import threading
from typing import Any

from local_backend.hardware.machine_reader import MachineReader
from local_backend.hardware.process_reader import ProcessReader

Lines = queue.SimpleQueue[dict[str, Any]]


def _read(lines: Lines) -> None:
    """Take what is asked; at the end of the input everything ends, whatever the other thread waits for."""
    for line in sys.stdin:
        lines.put(json.loads(line))
    os._exit(0)


def _say(**values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


class Probe:
    """One process's readers."""

    def __init__(self, folder: str) -> None:
        self._machine = MachineReader(folder)
        self._processes = ProcessReader()
        self._nvml: Any = None
        self._no_nvml = ""

    def _open(self) -> None:
        """Load NVML and open it, once; the machine's own figures need neither."""
        if self._nvml is not None or self._no_nvml:
            return
        try:
            from local_backend.hardware.nvml_reader import NvmlReader  # noqa: PLC0415 - without the package the machine is told all the same
        except ImportError:
            self._no_nvml = "the Python package nvidia-ml-py is not installed: GPUs cannot be asked"
            return
        reader = NvmlReader()
        self._no_nvml = reader.open()
        if not self._no_nvml:
            self._nvml = reader

    def sample(self, *, nvml: bool, without: list[int]) -> None:
        """One sample, line by line."""
        _say(at="the machine")
        _say(machine=self._machine.read())
        if nvml:
            _say(at="NVML")
            self._open()
            if self._nvml is None:
                _say(no_nvml=self._no_nvml)
            else:
                self._devices(without)
        _say(end=True)

    def _devices(self, without: list[int]) -> None:
        count, problem = self._nvml.count()
        _say(count=count, problem=problem, **self._nvml.driver())
        pids: set[int] = set()
        for index in range(count):
            if index in without:
                continue
            _say(at=index)
            device = self._nvml.device(index)
            for place in (device, *device.get("mig_devices", ())):
                for process in place.get("processes") or ():
                    process |= self._processes.facts(process["pid"])  # noqa: PLW2901 - the process gets its facts in its place
                    pids.add(process["pid"])
            _say(device=device)
        self._processes.forget_all_but(pids)


def main() -> None:
    """Answer until the input ends."""
    lines: Lines = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    probe = Probe(sys.argv[1])
    while True:
        probe.sample(**lines.get())


if __name__ == "__main__":
    main()
