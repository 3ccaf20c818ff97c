"""A solution that is loaded in a process of its own, questioned with plain values. Nothing that it sends is more than plain data."""

from __future__ import annotations

import builtins
import json
import os
import secrets
import select
import struct
import sys
import time

from . import child
from .files import absolute
from .processes import GradingError, Live, SolutionError, SolutionTimeoutError, budget, kill_all, reap, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

_MOST_RECEIVED = 16 * 2**20
"""Bytes that one loaded solution may send in all: they become objects of the grader."""


def load(path: str, timeout: float = 5.0, *, memory: int | None = None) -> Solution:
    """Load a Python file of the work folder in a process of the judged user, and give a proxy of it.

    `timeout` is in seconds and holds for loading and for each call, `memory` in bytes. Raises SolutionError when it cannot be loaded.
    """
    solution = Solution(absolute(path), timeout, memory)
    solution.start()
    return solution


class Solution:
    """Stands for the loaded module: `solution.name(…)` calls its function there. Arguments and results are copied plain values.

    A result that is no plain value becomes a Remote. What the function raises is raised here as a SolutionError that is also the built-in
    exception which it was derived from. `solution.get("NAME")` gives a value, `solution.mutated("name", …)` a result with the arguments
    as the call left them.
    """

    def __init__(self, path: str, timeout: float, memory: int | None) -> None:
        self._path = path
        self._timeout = timeout
        self._memory = memory
        self._pid = 0
        self._ends: tuple[int, int] | None = None
        self._live = -1
        self._received_bytes = 0

    def start(self) -> None:
        """Load it, afresh if it was loaded."""
        self.close()
        if budget.left <= 0:
            # Not even started: that takes the grader's own time.
            raise SolutionTimeoutError("the solution has used up its time")
        requests = os.pipe()
        replies = os.pipe()
        nowhere = os.open(os.devnull, os.O_RDWR)
        with open(child.__file__, encoding="utf-8") as file:
            program = file.read()
        descriptors = {0: nowhere, 1: nowhere, 2: nowhere, child.REQUESTS: requests[0], child.REPLIES: replies[1]}
        try:
            argv = [sys.executable, "-I", "-X", "utf8", "-c", program]
            with budget.spending(self._timeout) as deadline:
                self._pid = spawn(argv, descriptors, cwd=os.path.dirname(self._path), environ=None, memory=self._memory, deadline=deadline)
        except SolutionError:
            os.close(requests[1])
            os.close(replies[0])
            raise  # Such as for a folder whose rights the solution took away.
        finally:
            for each in (nowhere, requests[0], replies[1]):
                os.close(each)
        self._ends = (requests[1], replies[0])
        self._live = Live.number
        self._received_bytes = 0
        for each in self._ends:
            os.set_blocking(each, False)
        self._ask({"do": "load", "path": self._path})

    def close(self) -> None:
        """End its process, with every other process of the judged user."""
        if self._ends is not None:
            for each in self._ends:
                os.close(each)
            self._ends = None
            kill_all()
            reap(self._pid, time.monotonic() + 5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> _Call:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Call(self, 0, name)

    def get(self, name: str) -> object:
        """The value of a name in the module."""
        return self.ask({"do": "get", "target": 0, "name": name})

    def call(self, name: str, *args: object, **kwargs: object) -> object:
        """Call a function by its name, such as one that begins with underscores."""
        return _Call(self, 0, name)(*args, **kwargs)

    def mutated(self, name: str, *args: object) -> tuple[object, tuple[object, ...]]:
        """Call a function; its result, and the arguments as it left them."""
        request = {"do": "mutate", "target": 0, "name": name, "args": self.encoded(args), "kwargs": self.encoded({})}
        both = self.ask(request)
        if not (isinstance(both, tuple) and len(both) == 2 and isinstance(both[1], tuple)):
            raise SolutionError("the solution's process answered nonsense")
        return both

    def encoded(self, value: object) -> object:
        """A value as the child reads it. Raises GradingError for what is no plain value."""

        def keep(each: object) -> list[object]:
            if isinstance(each, Remote):
                return each.reference(self)
            raise GradingError(f"a {type(each).__name__} cannot be given to the solution: give plain values")

        return child.encode(value, keep)

    def ask(self, request: dict[str, object]) -> object:
        """Have a request done; after a crash the module is loaded again first."""
        if self._ends is None or self._live != Live.number:
            if request["target"] != 0:
                raise SolutionError("the solution's process has ended, and with it this object")
            self.start()
        return self._ask(request)

    @property
    def live(self) -> int:
        """Changes whenever its process is another one."""
        return self._pid

    def _ask(self, request: dict[str, object]) -> object:
        with budget.spending(self._timeout) as deadline:
            nonce = secrets.token_hex(16)
            try:
                reply = self._exchange({**request, "id": nonce}, deadline)
                if "error" not in reply:
                    decoder = child.Decoder(deadline, lambda number, name: Remote(self, number, name))
                    return decoder.value(reply["ok"])
                error = _raised(reply["error"], reply.get("message"))
            except (child.MalformedError, KeyError):
                self.close()
                raise SolutionError("the solution's process answered nonsense") from None
            except SolutionTimeoutError:
                self.close()
                raise
        # Not above: it may be a KeyError.
        raise error

    def _exchange(self, request: dict[str, object], deadline: float) -> dict[str, object]:
        text = json.dumps(request).encode()
        if len(text) > child.LARGEST_FRAME:
            raise GradingError("the arguments are too large to be given to the solution")
        send, receive = self._ends or (-1, -1)
        rest = memoryview(struct.pack(">I", len(text)) + text)
        while rest:
            self._wait(deadline, writing=send)
            try:
                rest = rest[os.write(send, rest) :]
            except BlockingIOError:
                continue
            except OSError:
                self._gone()
        (length,) = struct.unpack(">I", self._received(receive, 4, deadline))
        self._received_bytes += length
        if length > child.LARGEST_FRAME or self._received_bytes > _MOST_RECEIVED:
            raise child.MalformedError
        try:
            reply = json.loads(self._received(receive, length, deadline))
        except (ValueError, RecursionError):
            raise child.MalformedError from None
        if not isinstance(reply, dict) or reply.get("id") != request["id"]:
            raise child.MalformedError
        return reply

    def _received(self, end: int, count: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < count:
            self._wait(deadline, reading=end)
            try:
                piece = os.read(end, min(count - len(data), 2**20))
            except BlockingIOError:
                continue
            if not piece:
                self._gone()
            data += piece
        return bytes(data)

    def _wait(self, deadline: float, *, reading: int | None = None, writing: int | None = None) -> None:
        left = deadline - time.monotonic()
        ready = left > 0 and any(select.select([reading] if reading else [], [writing] if writing else [], [], left))
        if not ready:
            raise SolutionTimeoutError("the solution did not finish in time")

    def _gone(self) -> None:
        self.close()
        raise SolutionError("the solution's process ended")


class _Call:
    """A function of a loaded solution, or of an object that it made."""

    def __init__(self, solution: Solution, target: object, name: str) -> None:
        self._solution = solution
        self._target = target
        self._name = name

    def __getattr__(self, name: str) -> _Call:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Call(self._solution, self._target, f"{self._name}.{name}")

    def __call__(self, *args: object, **kwargs: object) -> object:
        given = {"args": self._solution.encoded(args), "kwargs": self._solution.encoded(kwargs)}
        return self._solution.ask({"do": "call", "target": self._target, "name": self._name, **given})


class Remote:
    """An object that stays in the solution's process: its methods are called there. It equals itself alone."""

    def __init__(self, solution: Solution, number: object, name: object) -> None:
        if not isinstance(number, int) or isinstance(number, bool) or not isinstance(name, str):
            raise child.MalformedError
        self._solution = solution
        self._number = number
        self._process = solution.live
        self.type_name = name[:200]
        """What its class says it is called."""

    def reference(self, solution: Solution) -> list[object]:
        """What stands for it in a request."""
        if solution is not self._solution or solution.live != self._process:
            raise SolutionError("the solution's process has ended, and with it this object")
        return ["r", self._number, self.type_name]

    def get(self, name: str) -> object:
        """The value of an attribute."""
        self.reference(self._solution)
        return self._solution.ask({"do": "get", "target": self._number, "name": name})

    def __getattr__(self, name: str) -> _Call:
        if name.startswith("__"):
            raise AttributeError(name)
        self.reference(self._solution)
        return _Call(self._solution, self._number, name)

    def call(self, name: str, *args: object, **kwargs: object) -> object:
        """Call a method by its name, such as `__str__`."""
        self.reference(self._solution)
        return _Call(self._solution, self._number, name)(*args, **kwargs)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call it, where it is a function or the like."""
        return self.call("__call__", *args, **kwargs)

    def __len__(self) -> int:
        try:
            count = self.call("__len__")
        except SolutionError as error:
            if error.kind == "AttributeError":
                raise TypeError("it has no length") from None  # What `list` takes for "unknown".
            raise
        if isinstance(count, int) and 0 <= count < 2**62:
            return count
        raise SolutionError("the length is no number")

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key: object) -> object:
        return self.call("__getitem__", key)

    def __setitem__(self, key: object, value: object) -> None:
        self.call("__setitem__", key, value)

    def __contains__(self, item: object) -> bool:
        return self.call("__contains__", item) is True

    def __iter__(self) -> Iterator[object]:
        found = self.call("__iter__")
        if not isinstance(found, Remote):
            raise SolutionError("iterating gives no iterator")
        return found

    def __next__(self) -> object:
        try:
            return self.call("__next__")
        except SolutionError as error:
            if error.kind == "StopIteration":
                raise StopIteration from None
            raise


_NEVER = frozenset({"StopIteration", "StopAsyncIteration", "BaseExceptionGroup", "ExceptionGroup"})
_BUILT_IN: dict[str, type[SolutionError]] = {
    name: type(name, (SolutionError, kind), {})
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, (Warning, UnicodeError)) and name not in _NEVER
}
"""Errors that tests can expect as the built-in ones that the solution raised."""


def _raised(names: object, message: object) -> SolutionError:
    """The error that a reply tells of."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or not isinstance(message, str):
        raise child.MalformedError
    kind = next((_BUILT_IN[name] for name in names if name in _BUILT_IN), SolutionError)
    error = kind(message[:500])
    error.kind = str(names[0])[:200] if names else ""
    return error
