"""The calls that change or start something or hand out contents, all refused: the base of backends that are there to be looked at."""

from collections.abc import AsyncGenerator, AsyncIterator
from decimal import Decimal
from typing import Any, NoReturn

from nodus_tui.contract.actions import Action
from nodus_tui.contract.environment_check import GoldCase
from nodus_tui.contract.estimates import Estimate, KindEstimate
from nodus_tui.contract.outcomes import ActionOutcome, ApplyOutcome
from nodus_tui.contract.portions import OUTPUT_SECONDS
from nodus_tui.contract.sandbox_exec import ExecEnd, ExecPiece, ExecRequest, ExecSession, ExecSignal, ExecTaken, TerminalShape
from nodus_tui.contract.sandboxes import ReapOutcome
from nodus_tui.contract.spec_loading.bundle import SpecBundle


class Refusing:
    """Whoever inherits says why, in `refuse`, and writes out again what they allow."""

    def refuse(self, call: str) -> NoReturn:
        """Raise the NodusError that says why a call of the protocol, by its name, cannot be had here."""
        raise NotImplementedError

    async def apply(self, bundle: SpecBundle, *, dry_run: bool = False, author: str = "", request_id: str = "") -> ApplyOutcome:
        """Refused."""
        self.refuse("apply")

    async def estimate(self, bundle: SpecBundle, *, minutes_per_case: Decimal) -> tuple[Estimate | KindEstimate, ...]:
        """Refused."""
        self.refuse("estimate")

    async def act(self, action: Action) -> ActionOutcome:
        """Refused."""
        self.refuse("act")

    async def reap_sandboxes(self) -> ReapOutcome:
        """Refused."""
        self.refuse("reap_sandboxes")

    def read_file(self, run: str, path: str) -> AsyncIterator[bytes]:
        """Refused."""
        return self._nothing("read_file")

    def read_job_file(self, job: str, path: str) -> AsyncIterator[bytes]:
        """Refused."""
        return self._nothing("read_job_file")

    async def exec_start(self, sandbox: str, request: ExecRequest, *, request_id: str = "") -> ExecSession:
        """Refused."""
        self.refuse("exec")

    def exec_output(
        self, sandbox: str, session: str, *, after: int = 0, wait_seconds: float = OUTPUT_SECONDS
    ) -> AsyncIterator[ExecPiece | ExecEnd]:
        """Refused."""
        return self._nothing("exec")

    async def exec_input(self, sandbox: str, session: str, data: bytes, *, offset: int, end: bool = False) -> ExecTaken:
        """Refused."""
        self.refuse("exec")

    async def exec_resize(self, sandbox: str, session: str, terminal: TerminalShape) -> None:
        """Refused."""
        self.refuse("exec")

    async def exec_signal(self, sandbox: str, session: str, signal: ExecSignal) -> None:
        """Refused."""
        self.refuse("exec")

    def read_sandbox_file(self, sandbox: str, path: str) -> AsyncIterator[bytes]:
        """Refused."""
        return self._nothing("read_sandbox_file")

    def check_environment(
        self, reference: str, *, split: str | None = None, tasks: int | None = None, seed: int = 0
    ) -> AsyncIterator[GoldCase]:
        """Refused."""
        return self._nothing("check_environment")

    async def stop_work(self, *, grace_seconds: float, groups: tuple[str, ...] = ()) -> None:
        """Refused."""
        self.refuse("stop_work")

    async def _nothing(self, call: str) -> AsyncGenerator[Any, None]:
        nothing: tuple[Any, ...] = ()
        for each in nothing:
            yield each
        self.refuse(call)
