"""The ways to a backend that the conformance suite goes: in process, over the unix socket, and over TCP with TLS and a token."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import trustme

from local_backend.backend import LocalBackend, open_local
from local_backend.daemon.access import Role
from local_backend.daemon.server import TcpListen, serving
from local_backend.daemon.tokens import FILE_NAME, TokenStore
from nodus_tui.contract.backend import Backend, BackendOptions
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs
from nodus_tui.remote.address import Address, socket_address
from nodus_tui.remote.backend import RemoteBackend

WAYS = ("in process", "unix socket", "TCP with TLS")

CONFIGURATION = "models:\n" + "".join(
    f"""\
  - family: {family}
    provider: simulated
    name: simulated-{family}
    price: {{inputPerMTok: "1.00", outputPerMTok: "5.00", notional: true}}
    simulated: {{accuracy: 1.0, outputTokens: 20, latencySeconds: {latency}, seed: 1}}
"""
    for family, latency in (("perfect", 0), ("steady", 0.3), ("slow", 600))
)

HOSTILE_NAMES = ("a b?c=d&path=x#e%2e%2e", "\u00fc\u202e\u2028", "esc\x1b[2J\nline", "-rf", "deep/er/\U0001f4a5")
"""What an agent may call its files."""

# Made in the sandbox by a program that is sent as plain letters: a shell would read the names in ways of its own.
_MAKE = f"""python3 -c \"import json, os
for name in json.loads(bytes.fromhex('{json.dumps(HOSTILE_NAMES).encode().hex()}')):
    os.makedirs(os.path.dirname('./' + name), exist_ok=True)
    open(name, 'w').write(name)
os.symlink('/etc/passwd', 'passwords')
open('large', 'wb').write(bytes(range(256)) * 4096)\"; printf '#!/bin/sh' > tool; chmod +x tool; : > empty"""

CONFIGURATION += f"""\
  - family: scripted
    provider: simulated
    name: simulated-scripted
    price: {{inputPerMTok: "1.00", outputPerMTok: "5.00", notional: true}}
    simulated:
      accuracy: 1.0
      outputTokens: 20
      script: {json.dumps([{"text": "I make files.", "tools": [{"name": "bash", "arguments": {"command": _MAKE}}]}])}
  - family: busy
    provider: simulated
    name: simulated-busy
    price: {{inputPerMTok: "1.00", outputPerMTok: "5.00", notional: true}}
    simulated:
      outputTokens: 20
      script: {json.dumps([{"tools": [{"name": "bash", "arguments": {"command": command}}]} for command in ("echo 1 > half", "sleep 100")])}
"""

SPEC = """\
apiVersion: nodus.dev/v1
kind: Agent
metadata: {{name: solver}}
spec:
  system: Calculate.
  model: {{families: [{family}], maxTokens: 100}}
  perRunMaxCostUSD: "0.10"
  tools: {tools}
---
apiVersion: nodus.dev/v1
kind: AgentGroup
metadata: {{name: {name}}}
spec:
  agent: solver
  maxActive: {active}
  maxCostUSD: "{cap}"
  evaluation:
    environment: {environment}
    tasks: {tasks}
    seed: 7
"""


def spec_text(
    name: str = "hello",
    *,
    family: str = "perfect",
    tasks: int = 5,
    active: int = 10,
    cap: str = "5.00",
    environment: str = "nodus/arithmetic-v2@2.0.0",
    tools: str = "[]",
) -> str:
    return SPEC.format(name=name, family=family, tasks=tasks, active=active, cap=cap, environment=environment, tools=tools)


def bundle_of(text: str) -> SpecBundle:
    return load_specs([SpecSource("evals/hello.yaml", text.encode(), None)])


def spec(name: str = "hello", **values: object) -> SpecBundle:
    return bundle_of(spec_text(name, **values))  # type: ignore[arg-type]  # tests name the right ones


class Authority:
    """A certificate authority of our own, and a server's certificate by it."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self.ca = folder / "ca.pem"
        authority.cert_pem.write_to_path(str(self.ca))
        issued = authority.issue_cert("localhost", "127.0.0.1")
        self.certificate, self.key = folder / "cert.pem", folder / "key.pem"
        for number, pem in enumerate(issued.cert_chain_pems):
            pem.write_to_path(str(self.certificate), append=number > 0)
        issued.private_key_pem.write_to_path(str(self.key))


@dataclass
class Reached:
    """A backend by one of the ways, and the one that does the work."""

    way: str
    backend: Backend
    local: LocalBackend
    author: str
    """Who stands as the author of what is done by this way, when the action says "somebody"."""


@asynccontextmanager
async def workspace(folder: Path, settings: str = "") -> AsyncIterator[LocalBackend]:
    """The embedded backend at work over a database of its own, with more of a configuration."""
    config = folder / "config.yaml"
    config.write_text(CONFIGURATION + settings, encoding="utf-8")
    async with await open_local(BackendOptions(home=folder / "home", config=config, role="work")) as backend:
        yield backend


@asynccontextmanager
async def reached(way: str, folder: Path, authority: Authority, settings: str = "") -> AsyncIterator[Reached]:
    """A fresh workspace, reached by that way."""
    async with workspace(folder, settings) as local:
        if way == "in process":
            yield Reached(way, local, local, "somebody")
        elif way == "unix socket":
            path = folder / "s.sock"
            async with serving(local, socket_path=path), RemoteBackend(socket_address(path)) as backend:
                yield Reached(way, backend, local, "somebody")
        else:
            tokens = folder / FILE_NAME
            token = TokenStore(tokens).create("ann", Role.OPERATOR, now=datetime.now(UTC))
            listen = TcpListen(certificate=authority.certificate, key=authority.key)
            async with serving(local, listen=listen, tokens=tokens) as served:
                url = f"https://localhost:{served.port}"
                async with RemoteBackend(Address(url=url, shown=url, token=token, ca=authority.ca)) as backend:
                    yield Reached(way, backend, local, "ann")
