"""Hosting: what a backend brings so that it can work outside the process that asks: a detached scheduler, an API, and its tokens."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.base import ContractModel, UTCTime

HOSTING_ENTRY_POINT_GROUP = "nodus_tui.hosts"
"""Where backends register a `Hosting` under their name."""

TokenRole = Literal["viewer", "operator"]


class ListenRequest(Struct, frozen=True):
    """Where an API is to listen, and how it is protected."""

    host: str
    port: int
    """0 lets the system choose."""
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False
    """Somebody else speaks TLS in front of it."""
    names: tuple[str, ...] = ()
    """Further names by which clients call it."""
    metrics: bool = False
    """Whether Prometheus may read `/v1/metrics` there."""


class TokenFact(ContractModel):
    """One token, without its secret."""

    name: str
    role: TokenRole
    created_at: UTCTime


class Hosting(Protocol):
    """What a backend registers."""

    scheduler_module: str
    """The module that `python -m` runs as the workspace's scheduler: `--home FOLDER [--config FILE] [--detach]`."""

    async def serve(self, backend: Backend, home: Path, request: ListenRequest, ready: Callable[[str], None]) -> None:
        """Serve the backend over TCP until cancelled; `ready` is told the URL once it answers. Raises NodusError when it cannot."""
        ...

    def create_token(self, home: Path, name: str, role: TokenRole) -> str:
        """A new token's secret: it is shown once and kept as a hash only. Raises NodusError Conflict for a name that is taken."""
        ...

    def tokens(self, home: Path) -> tuple[TokenFact, ...]:
        """The tokens by name."""
        ...

    def token_of(self, home: Path, secret: str) -> TokenFact | None:
        """The token that has this secret; None where none has, or has it any more."""
        ...

    def revoke_token(self, home: Path, name: str) -> None:
        """Take a token back, at once. Raises NodusError NotFound."""
        ...
