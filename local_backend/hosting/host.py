"""What the embedded backend brings so that it can work outside the process that asks (the contract's `Hosting`). Light to import."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.hosting import ListenRequest, TokenFact, TokenRole

if TYPE_CHECKING:
    from local_backend.daemon.tokens import TokenStore


class LocalHosting:
    """The embedded backend's scheduler, API and tokens."""

    scheduler_module = "local_backend.hosting.scheduler_process"

    async def serve(self, backend: Backend, home: Path, request: ListenRequest, ready: Callable[[str], None]) -> None:
        """Serve the backend over TCP until cancelled."""
        from local_backend.daemon.server import TcpListen, serving  # noqa: PLC0415 - the web server is loaded only here
        from local_backend.daemon.tokens import FILE_NAME  # noqa: PLC0415

        listen = TcpListen(
            host=request.host,
            port=request.port,
            certificate=request.certificate,
            key=request.key,
            behind_proxy=request.behind_proxy,
            names=request.names,
            metrics=request.metrics,
        )
        async with serving(backend, listen=listen, tokens=home / FILE_NAME) as served:
            scheme = "https" if request.certificate is not None else "http"
            host = f"[{request.host}]" if ":" in request.host else request.host
            ready(f"{scheme}://{host}:{served.port}")
            await asyncio.Event().wait()

    def create_token(self, home: Path, name: str, role: TokenRole) -> str:
        """A new token's secret."""
        from local_backend.daemon.access import Role  # noqa: PLC0415 - see above

        return self._store(home).create(name, Role(role), now=datetime.now(UTC))

    def tokens(self, home: Path) -> tuple[TokenFact, ...]:
        """The tokens, oldest first."""
        return tuple(TokenFact(name=each.name, role=each.role.value, created_at=each.created_at) for each in self._store(home).all())

    def token_of(self, home: Path, secret: str) -> TokenFact | None:
        """The token that has this secret."""
        caller = self._store(home).caller(secret)
        return next((each for each in self.tokens(home) if caller is not None and each.name == caller.name), None)

    def revoke_token(self, home: Path, name: str) -> None:
        """Take a token back."""
        self._store(home).revoke(name)

    def _store(self, home: Path) -> "TokenStore":
        from local_backend.daemon.tokens import FILE_NAME, TokenStore  # noqa: PLC0415 - see above

        return TokenStore(home / FILE_NAME)


HOSTING = LocalHosting()
