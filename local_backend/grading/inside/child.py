"""The process of a loaded solution, and how plain values cross to it and back.

It runs as the judged user: the grader takes nothing that it says for more than the solution's own answer.

Values are JSON with tags, never pickles: what arrives can only be plain data. A frame is four bytes of length and JSON text.
"""

from __future__ import annotations

import base64
import binascii
import importlib.util
import json
import math
import os
import struct
import sys
import time

TYPE_CHECKING = False  # As `typing` has it; importing that costs a start.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LARGEST_FRAME = 4 * 2**20
"""Bytes of one frame, at most."""
REQUESTS = 3
"""The file descriptor on which the child reads."""
REPLIES = 4
_LARGEST_INTEGER = 1024
"""Bits of an integer that is written in digits; Python reads only so many of them."""
_LOOK_EVERY = 256
_LONGEST_MESSAGE = 500


class MalformedError(Exception):
    """What came is no plain value, or reading it takes too long."""


def encode(value: object, keep: Callable[[object], list[object]]) -> object:
    """The value as tagged JSON. `keep` gives what stands for an object that is no plain data."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (int, float, complex)):
        return _number(value)
    if isinstance(value, (bytes, bytearray)):
        return ["b" if isinstance(value, bytes) else "y", base64.b64encode(bytes(value)).decode()]
    if isinstance(value, dict):
        return ["d", [[encode(key, keep), encode(each, keep)] for key, each in dict.items(value)]]
    tag, items = _sequence(value)
    return [tag, [encode(each, keep) for each in items]] if tag else keep(value)


def _sequence(value: object) -> tuple[str, Iterable[object]]:
    for kind, tag in ((list, "l"), (tuple, "t"), (set, "s"), (frozenset, "f")):
        if isinstance(value, kind):
            return tag, value
    return "", ()


def _number(value: complex) -> object:
    if isinstance(value, int):
        plain = int.__int__(value)
        return plain if plain.bit_length() <= _LARGEST_INTEGER else ["i", hex(plain)]
    if isinstance(value, float):
        number = float.__float__(value)
        return number if math.isfinite(number) else ["n", repr(number)]
    return ["c", _number(value.real), _number(value.imag)]


class Decoder:
    """Reads tagged JSON until a deadline (time.monotonic): a set of chosen numbers can take as long as its sender likes."""

    def __init__(self, deadline: float, found: Callable[[object, object], object]) -> None:
        self._deadline = deadline
        self._found = found
        self._count = 0

    def value(self, data: object) -> object:
        """The value. Raises MalformedError."""
        try:
            return self._value(data)
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError, binascii.Error):
            raise MalformedError from None

    def _value(self, data: object) -> object:
        if data is None or isinstance(data, (bool, int, float, str)):
            return data
        if not isinstance(data, list):
            raise MalformedError
        tag = data[0]
        if tag in ("l", "t"):
            items = [self._value(each) for each in _listed(data[1])]
            return items if tag == "l" else tuple(items)
        if tag in ("s", "f"):
            made: set[object] = set()
            for each in self._timed(_listed(data[1])):
                made.add(self._value(each))
            return made if tag == "s" else frozenset(made)
        if tag == "d":
            pairs: dict[object, object] = {}
            for pair in self._timed(_listed(data[1])):
                key, value = _listed(pair)
                pairs[self._value(key)] = self._value(value)
            return pairs
        return self._scalar(tag, data)

    def _scalar(self, tag: object, data: list[object]) -> object:
        if tag == "r":
            return self._found(data[1], data[2])
        if tag == "c":
            real, imaginary = self._value(data[1]), self._value(data[2])
            if isinstance(real, float) and isinstance(imaginary, float):
                return complex(real, imaginary)
            raise MalformedError
        text = data[1]
        if not isinstance(text, str):
            raise MalformedError
        if tag == "i":
            return int(text, 16)
        if tag == "n" and text in ("nan", "inf", "-inf"):
            return float(text)
        if tag == "b":
            return base64.b64decode(text, validate=True)
        if tag == "y":
            return bytearray(base64.b64decode(text, validate=True))
        raise MalformedError

    def _timed(self, items: Iterable[object]) -> Iterator[object]:
        for each in items:
            self._count += 1
            if self._count % _LOOK_EVERY == 0 and time.monotonic() > self._deadline:
                raise MalformedError
            yield each


def _listed(data: object) -> list[object]:
    if not isinstance(data, list):
        raise MalformedError
    return data


class _Child:
    """Loads one module and does what the grader asks of it."""

    def __init__(self) -> None:
        self._kept: list[object] = []

    def serve(self) -> None:
        """Answer until the grader closes its end."""
        while True:
            head = _read(4)
            if len(head) < 4:
                return
            request = json.loads(_read(struct.unpack(">I", head)[0]))
            reply: dict[str, object]
            try:
                reply = {"ok": encode(self._do(request), self._keep)}
            except BaseException as error:  # noqa: BLE001  # Whatever judged code raises is its answer, an exit too.
                names = [kind.__name__ for kind in type(error).__mro__]
                try:
                    message = str(error)[:_LONGEST_MESSAGE]
                except BaseException:  # noqa: BLE001  # Its own __str__ may fail.
                    message = ""
                reply = {"error": names, "message": message}
            text = json.dumps({**reply, "id": request["id"]}).encode()
            _write(struct.pack(">I", len(text)) + text)

    def _keep(self, value: object) -> list[object]:
        self._kept.append(value)
        return ["r", len(self._kept) - 1, type(value).__name__]

    def _find(self, number: object, _: object) -> object:
        return self._kept[int(number)]  # type: ignore[call-overload]  # The grader sends what it was given.

    def _do(self, request: dict[str, object]) -> object:
        if request["do"] == "load":
            self._kept = [_loaded(str(request["path"]))]
            return None
        read = Decoder(math.inf, self._find)
        target = self._find(request["target"], None)
        for name in str(request["name"]).split("."):
            target = getattr(target, name)
        if request["do"] == "get":
            return target
        args, kwargs = read.value(request["args"]), read.value(request["kwargs"])
        result = target(*args, **kwargs)  # type: ignore[operator, misc, arg-type]  # As the grader calls it.
        return (result, args) if request["do"] == "mutate" else result


def _loaded(path: str) -> object:
    folder, name = os.path.split(path)
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name.rpartition(".")[0] or name, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _read(count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = os.read(REQUESTS, count - len(data))
        if not piece:
            break
        data += piece
    return data


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(REPLIES, data) :]


if __name__ == "__main__":
    _Child().serve()
