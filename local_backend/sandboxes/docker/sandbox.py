"""A container as the sandbox contract sees it: programs in it, the end of the agent's, and its own end."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from local_backend.sandboxes.docker.client import EngineClient, EngineError
from local_backend.sandboxes.docker.lifetime import remove_container
from local_backend.sandboxes.docker.output import REST_BYTES
from local_backend.sandboxes.docker.process import DockerProcess, is_running, start_process
from local_backend.sandboxes.interface import AGENT_HOME, SandboxError, SandboxGoneError, TerminalSize, User

_KILL = """
[ "$1" = agent ] && kill -9 -1 2>/dev/null
rounds=0
while [ $rounds -lt 2000 ]; do
  left=
  for each in /proc/[0-9]*; do
    [ "${each#/proc/}" = $$ ] && continue
    state= uid=
    while read -r key value rest; do
      case $key in
        State:) state=$value ;;
        Uid:) uid=$value; break ;;
      esac
    done <"$each/status"
    [ "$uid" = 1000 ] && [ "$state" != Z ] && left=yes && kill -9 "${each#/proc/}"
  done
  [ -z "$left" ] && exit 0
  [ "$1" = agent ] && kill -9 -1
  rounds=$((rounds + 1))
done 2>/dev/null
exit 1
"""
"""All of it is the shell's own, so that it needs no second process where the agent has taken them all, and no program of the image.

As the agent it ends all of them at once, which no fork can slip past; but it can be killed by them before it begins. As root it cannot.
"""

_SPARE_PIDS = 32
_KILL_SECONDS = 20.0


class Facts(Struct, frozen=True):
    """What is known of a sandbox from its start on."""

    id: str
    image: str
    workdir: str
    started_at: datetime
    pids: int


class DockerSandbox:
    """A running container."""

    def __init__(self, client: EngineClient, facts: Facts) -> None:
        self._client = client
        self._facts = facts
        self._processes: set[DockerProcess] = set()
        """Started and not let go of, as far as is known here."""

    @property
    def id(self) -> str:
        """The container's id."""
        return self._facts.id

    @property
    def engine(self) -> str:
        """Which engine made it."""
        return "docker"

    @property
    def image(self) -> str:
        """The image with its digest."""
        return self._facts.image

    @property
    def workdir(self) -> str:
        """The agent's folder."""
        return self._facts.workdir

    @property
    def started_at(self) -> datetime:
        """When it was up, by this machine's clock."""
        return self._facts.started_at

    async def spawn(
        self,
        command: Sequence[str],
        *,
        user: User = User.AGENT,
        cwd: str | None = None,
        environ: Mapping[str, str] | None = None,
        terminal: TerminalSize | None = None,
    ) -> DockerProcess:
        """Start a program in it."""
        home = {"HOME": AGENT_HOME, "USER": "agent", "LOGNAME": "agent"} if user is User.AGENT else {}
        process = await start_process(
            self._client,
            self.id,
            command,
            user=user,
            cwd=cwd or self.workdir,
            environ={**home, **(environ or {})},
            sacrificed=user is User.AGENT,
            lift=self._lift,
            terminal=terminal,
        )
        self._processes = {each for each in self._processes if not each.closed} | {process}
        return process

    async def kill_agent(self) -> None:
        """SIGKILL every process of the agent's uid, and wait until they are gone."""
        try:
            if await self._kill(User.AGENT):
                return
        except SandboxGoneError:
            raise
        except SandboxError:
            if not await self.alive():
                raise SandboxGoneError("the sandbox does not live any more") from None
        # The agent may have taken all processes that it may have: then nobody else can start one. The sandbox gets a few more meanwhile.
        await self._limit_pids(self._facts.pids + _SPARE_PIDS)
        try:
            killed = await self._kill_bluntly() or await self._kill(User.ROOT)
        except SandboxError:
            with contextlib.suppress(SandboxError):  # The first failure is the one to tell.
                await self._limit_pids(self._facts.pids)
            raise
        await self._limit_pids(self._facts.pids)
        if not killed:
            raise SandboxError("processes of the agent could not be killed")

    async def alive(self) -> bool:
        """Whether it still lives."""
        return await is_running(self._client, self.id)

    async def aclose(self) -> None:
        """End and remove it."""
        try:
            await remove_container(self._client, self.id)
        finally:
            for process in self._processes:
                await process.aclose()

    def _lift(self) -> None:
        for process in self._processes:
            process.output.lift(REST_BYTES)

    async def _kill_bluntly(self) -> bool:
        try:
            return await self._kill(User.AGENT)
        except SandboxGoneError:
            raise
        except SandboxError:
            return False  # What it should end has ended it.

    async def _kill(self, user: User) -> bool:
        try:
            async with asyncio.timeout(min(_KILL_SECONDS, self._client.deadline)):
                process = await start_process(
                    self._client,
                    self.id,
                    ["/bin/sh", "-c", _KILL, "sh", user.name.lower()],
                    user=user,
                    cwd="/",
                    environ={},
                    sacrificed=False,
                )
                # Whose output nobody takes now would keep the engine from telling that it ended, and then that anybody did.
                self._lift()
                try:
                    while await process.read() is not None:
                        pass
                    return await process.wait() == 0
                finally:
                    await process.aclose()
        except TimeoutError:
            return False

    async def _limit_pids(self, pids: int) -> None:
        try:
            await self._client.ask("POST", f"/containers/{self.id}/update", json_body={"PidsLimit": pids})
        except EngineError as error:
            if error.status == 404 or not await self.alive():
                raise SandboxGoneError(f"the sandbox does not live any more: {error.message}") from error
            raise
