"""Stands in for a console: speaks the protocol of textual-serve, and behaves as badly as it is told."""

import json
import os
import signal
import sys
import time


def packet(kind: bytes, payload: bytes) -> None:
    os.write(1, kind + len(payload).to_bytes(4, "big") + payload)


def read_exactly(count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = os.read(0, count - len(data))
        if not piece:
            sys.exit(0)
        data += piece
    return data


def main(behaviour: str) -> None:
    if behaviour == "dies":
        sys.exit(3)
    if behaviour == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(1, b"__GANGLION__\n")
    if behaviour == "fails":
        packet(b"M", json.dumps({"type": "failed", "detail": "there is no workspace, " + "ä" * 200}).encode())
        return
    if behaviour == "tricks":
        packet(b"M", json.dumps({"type": "open_url", "url": "https://evil.example", "new_tab": True}).encode())
        start = {"type": "deliver_file_start", "key": "k", "path": "/x", "open_method": "browser", "mime_type": "text/html", "encoding": ""}
        packet(b"M", json.dumps(start).encode())
    environment = {name: os.environ.get(name) for name in ("COLUMNS", "ROWS", "TEXTUAL_DRIVER", "NO_COLOR", "MORE")}
    packet(b"D", json.dumps({"arguments": sys.argv[1:], "environment": environment}).encode())
    if behaviour == "floods":
        while True:
            packet(b"D", b"x" * 65_536)
    answer(behaviour)


def answer(behaviour: str) -> None:
    """Give back every packet, until it is told to quit, or somebody types q."""
    while True:
        kind = read_exactly(1)
        payload = read_exactly(int.from_bytes(read_exactly(4), "big"))
        if kind == b"M" and json.loads(payload)["type"] == "quit":
            if behaviour == "stubborn":
                time.sleep(600)
            packet(b"M", b'{"type": "exit"}')
            return
        if kind == b"D" and payload == b"q":
            packet(b"M", b'{"type": "exit"}')
            return
        packet(b"D", kind + payload)


if __name__ == "__main__":
    main(sys.argv[1])
