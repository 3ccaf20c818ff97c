"""The handle of a Sandbox, synchronous: each call returns when it is done. `aio_sandbox` has the same to be awaited."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

from nodus_tui.contract.actions import Kill
from nodus_tui.contract.outcomes import ActionOutcome
from nodus_tui.contract.resources.sandbox import SandboxStatus
from nodus_tui.contract.sandboxes import FileEntry
from nodus_tui.sdk import operations, sandbox_operations
from nodus_tui.sdk.bridge import BRIDGE
from nodus_tui.sdk.documents import Money, checked_command, checked_input, checked_money, checked_timeout
from nodus_tui.sdk.sandbox_operations import Executed, User


class Sandbox:
    """A machine slice of its own with limits on idle time, lifetime and cost, by name. Made by `create` or `get`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Sandbox({self.name!r})"

    @classmethod
    def create(
        cls,
        name: str,
        *,
        max_cost: Money,
        spec: Mapping[str, object] | None = None,
        project: str | None = None,
        labels: Mapping[str, str] | None = None,
        exist_ok: bool = False,
    ) -> "Sandbox":
        """Create it and have it start; `exec` and `upload` wait until it runs.

        `max_cost` is the cap on its time × its rate in US dollars, as text or Decimal; `spec` has the other fields of the spec under their
        names there: image, memoryGiB, network, idleTimeout and so on. Raises NodusError with every fault of the values, or Conflict where
        one of this name exists; with `exist_ok` one that exists with the same spec is given instead. Raises TypeError for a float.
        """
        work = partial(
            sandbox_operations.create,
            name=name,
            spec=spec or {},
            max_cost=checked_money(max_cost, "max_cost"),
            project=project,
            labels=labels,
            exist_ok=exist_ok,
        )
        BRIDGE.run("work", work)
        return cls(name)

    @classmethod
    def get(cls, name: str) -> "Sandbox":
        """The handle of one that exists. Raises NodusError NotFound."""
        BRIDGE.run("look", partial(sandbox_operations.status, name=name))
        return cls(name)

    @classmethod
    def list(cls) -> "tuple[Sandbox, ...]":
        """All of them, in order of creation."""
        return tuple(cls(name) for name in BRIDGE.run("look", sandbox_operations.names))

    def status(self) -> SandboxStatus:
        """How it stands now."""
        return BRIDGE.run("look", partial(sandbox_operations.status, name=self.name))

    def wait_until_running(self, timeout: float | timedelta | None = None) -> SandboxStatus:
        """Wait until it runs. Raises NodusError InvalidAction where it has ended, TimeoutError after `timeout` seconds; it goes on."""
        work = partial(sandbox_operations.wait_until_running, name=self.name, timeout=checked_timeout(timeout))
        return BRIDGE.run("work", work)

    def wait(self, timeout: float | timedelta | None = None) -> SandboxStatus:
        """Wait until it has stopped, its files kept. Raises TimeoutError after `timeout` seconds; it goes on."""
        return BRIDGE.run("work", partial(sandbox_operations.wait, name=self.name, timeout=checked_timeout(timeout)))

    def exec(
        self,
        command: Sequence[str],
        *,
        input: bytes | str = b"",  # noqa: A002 - as of subprocess.run
        user: User = "agent",
        workdir: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | timedelta | None = None,
    ) -> Executed:
        """Run a command in it to its end, once it runs: a program and its arguments, which no shell reads.

        `workdir` is where it runs, the work folder where nothing is said. Raises NodusError InvalidAction where the sandbox has ended,
        TimeoutError after `timeout` seconds with the command killed. An interrupt, or a cancelled call, kills it too.
        """
        work = partial(
            sandbox_operations.execute,
            name=self.name,
            command=checked_command(command),
            stdin=checked_input(input),
            user=user,
            workdir=workdir,
            env=env or {},
            timeout=checked_timeout(timeout),
        )
        return BRIDGE.run("work", work)

    def files(self) -> tuple[FileEntry, ...]:
        """The files in its work folder: as they are while it runs, as they were kept afterwards. Paths are data."""
        return BRIDGE.run("look", partial(sandbox_operations.files, name=self.name))

    def download(self, path: str, target: str | Path, *, force: bool = False) -> Sequence[Path]:
        """Copy one of these files, a folder of them, or with the path `""` all of them to this machine; gives what was written.

        Like `cp -r`: into a target that is a folder, else under the target's name. Raises NodusError NotFound for a path that is not
        there, and Conflict, with nothing written, where a file exists and `force` is not given. Links are left out.
        """
        work = partial(sandbox_operations.download, name=self.name, path=path, target=Path(target), force=force)
        return BRIDGE.run("look", work)

    def upload(self, source: str | Path, target: str = "", *, force: bool = False) -> str:
        """Copy a file or a folder of this machine into it, once it runs; gives where it is there.

        Like `cp -r`: into a target that is a folder or ends with a slash, else under the target's name; a relative target starts in the
        work folder. Raises NodusError Conflict, with nothing written, where something exists and `force` is not given. Links are left out.
        """
        work = partial(sandbox_operations.upload, name=self.name, source=Path(source), target=target, force=force)
        return BRIDGE.run("work", work)

    def kill(self) -> ActionOutcome:
        """Stop it: its commands are hung up, its files kept."""
        return BRIDGE.run("act", partial(operations.act, action=Kill(kind="Sandbox", name=self.name)))

    def delete(self) -> None:
        """Remove it with its files. One that goes on is killed first."""
        BRIDGE.run("act", partial(sandbox_operations.delete, name=self.name))
