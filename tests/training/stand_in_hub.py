"""STAND-IN for the Hugging Face hub on this machine: one repository, of one commit, over the protocol that huggingface_hub speaks."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

REPOSITORY = "own/tiny"
COMMIT = "c0ffee" + "0" * 34


@dataclass
class Hub:
    """Where it listens, and what it was asked for."""

    url: str = ""
    files: list[str] = field(default_factory=list)
    """The files that were fetched."""
    tokens: set[str | None] = field(default_factory=set)


class Handler(BaseHTTPRequestHandler):
    """Of a server whose class knows the folder and what is told."""

    protocol_version = "HTTP/1.1"
    folder: Path
    told: Hub

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        self.told.tokens.add(self.headers.get("Authorization"))
        path = self.path.partition("?")[0]
        files = {each.name: each.read_bytes() for each in sorted(self.folder.iterdir())}
        name = path.removeprefix(f"/{REPOSITORY}/resolve/{COMMIT}/")
        if path == f"/api/models/{REPOSITORY}/revision/{COMMIT}":
            facts = {"id": REPOSITORY, "sha": COMMIT, "siblings": [{"rfilename": each} for each in files]}
            self._send(json.dumps(facts).encode(), "application/json")
        elif path == f"/api/models/{REPOSITORY}/tree/{COMMIT}":
            tree = [{"type": "file", "path": each, "size": len(data), "oid": _digest(data)} for each, data in files.items()]
            self._send(json.dumps(tree).encode(), "application/json")
        elif name in files:
            if body:
                self.told.files.append(name)
            self._send(files[name], "application/octet-stream", body=body)
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound" if name == path else "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def _send(self, data: bytes, kind: str, *, body: bool = True) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", f'"{_digest(data)}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def hub(folder: Path) -> Iterator[Hub]:
    """Serve the files of a folder as the repository, for as long as the context lasts."""
    told = Hub()
    handler = type("OfFolder", (Handler,), {"folder": folder, "told": told})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
