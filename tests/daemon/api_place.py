"""A workspace with a simulated model, served over HTTP as in earnest: real database, real sockets. Only the paid edge is simulated."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2

from local_backend.backend import open_backend
from local_backend.daemon.access import Limits, Role
from local_backend.daemon.server import Served, TcpListen, serving
from local_backend.daemon.tokens import FILE_NAME, TokenStore
from nodus_tui.contract.backend import Backend, BackendOptions
from nodus_tui.contract.http import YAML_TYPE

NOW = datetime(2026, 1, 1, tzinfo=UTC)
YAML = {"Content-Type": YAML_TYPE}


@dataclass
class ApiPlace:
    """One test's workspace."""

    folder: Path

    @property
    def home(self) -> Path:
        """The state folder."""
        return self.folder / "home"

    @property
    def tokens(self) -> TokenStore:
        """Its tokens."""
        return TokenStore(self.home / FILE_NAME)

    def token(self, name: str, role: Role) -> str:
        """A new token."""
        return self.tokens.create(name, role, now=NOW)

    @asynccontextmanager
    async def backend(self) -> AsyncIterator[Backend]:
        """The real backend, at work."""
        price = {"inputPerMTok": "1.00", "outputPerMTok": "5.00"}
        model = {"family": "sim", "provider": "simulated", "name": "simulated-1", "price": price}
        config = self.folder / "config.yaml"
        config.write_text(json.dumps({"models": [model]}))
        async with await open_backend(BackendOptions(self.home, config, "work")) as backend:
            yield backend

    @asynccontextmanager
    async def serving(self, backend: Backend, *, limits: Limits | None = None, listen: TcpListen | None = None) -> AsyncIterator[Served]:
        """Served on both kinds of socket."""
        socket_path = self.home / "run" / "s"
        listen = listen or TcpListen()
        async with serving(backend, socket_path=socket_path, listen=listen, tokens=self.home / FILE_NAME, limits=limits) as served:
            yield served


def over_socket(served: Served) -> httpx2.AsyncClient:
    """A client on the unix socket."""
    transport = httpx2.AsyncHTTPTransport(uds=str(served.socket_path))
    return httpx2.AsyncClient(transport=transport, base_url="http://nodus", timeout=30, verify=False)


def over_tcp(served: Served, token: str | None, headers: Mapping[str, str] | None = None) -> httpx2.AsyncClient:
    """A client on TCP."""
    own = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx2.AsyncClient(base_url=f"http://127.0.0.1:{served.port}", headers={**own, **(headers or {})}, timeout=30, verify=False)


def document(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A document of a kind."""
    return {"apiVersion": "nodus.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": dict(spec)}


def agent(name: str = "worker") -> dict[str, Any]:
    """An agent on the simulated model."""
    return document("Agent", name, {"system": "Be brief.", "model": {"families": ["sim"], "maxTokens": 100}, "perRunMaxCostUSD": "0.10"})


def group(name: str = "campaign", *, tasks: int = 3) -> dict[str, Any]:
    """A group over the catalogue's arithmetic."""
    evaluation = {"environment": "nodus/arithmetic-v2@2.0.0", "tasks": tasks}
    return document("AgentGroup", name, {"agent": "worker", "maxCostUSD": "10.00", "evaluation": evaluation})


def environment(file: str) -> dict[str, Any]:
    """An environment over a task file."""
    return document("Environment", "numbers", {"version": "1.0.0", "file": file, "grader": {"type": "numeric"}})


def yaml(*documents: Mapping[str, Any]) -> bytes:
    """Documents as a file holds them (JSON is YAML)."""
    return "\n---\n".join(json.dumps(each) for each in documents).encode()
