"""Fault injection: campaigns against a server that counts, whose scheduler is killed with SIGKILL at random instants, again and again.

The seed fixes when each kill comes: after so many requests or replies of a life, or so long after its start. What the operating system
and the event loop do meanwhile is theirs.
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from disk_checks import Kept, Money, check_disk, check_ended
from paid_server import MAX_TOKENS, PaidServer

_CHILD = Path(__file__).with_name("scheduler_child.py")

_LIFE_SECONDS = 120.0
"""A child that neither ends nor is killed by then is stuck."""


@dataclass
class Figures:
    """What came of it."""

    kills: Counter[str] = field(default_factory=Counter)
    """By what set the instant."""
    campaigns: int = 0
    cases: int = 0
    verdicts: int = 0
    events: int = 0
    replies: int = 0
    turns: int = 0
    money: Money = field(default_factory=lambda: Money(0, 0, 0))
    seconds: float = 0.0


class _Child:
    """One scheduler process: loaded and waiting, then let go."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def load(cls, home: Path, config: Path, spec: Path) -> "_Child":
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(_CHILD), str(home), str(config), str(spec), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        return cls(process)

    async def let_go(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdin is not None
        assert await self.process.stdout.readline() == b"loaded\n"
        self.process.stdin.write(b"\n")
        await self.process.stdin.drain()

    async def ended(self) -> bytes:
        """Its last word, once it has ended by itself."""
        assert self.process.stdout is not None
        word = await self.process.stdout.read()
        assert await self.process.wait() == 0, "the scheduler came to a bad end by itself"
        return word

    async def kill(self) -> None:
        """SIGKILL; the processes that it had started end by themselves."""
        orphans: list[psutil.Process] = []
        if self.process.returncode is None:
            with suppress(psutil.NoSuchProcess):
                orphans = psutil.Process(self.process.pid).children(recursive=True)
            self.process.kill()
        await self.process.wait()
        _, alive = await asyncio.to_thread(psutil.wait_procs, orphans, 60)
        assert not alive, f"left running after the scheduler's death: {alive}"


class KillCampaigns:
    """The whole experiment in one folder."""

    def __init__(self, folder: Path, *, seed: int, cases: int = 60, turns: int = 4) -> None:
        self._folder = folder
        self._cases = cases
        self._turns = turns
        self._chance = random.Random(seed)
        self._server = PaidServer(seed)
        self._kept = Kept()
        self._home = folder / "home"
        self._config = folder / "config.yaml"
        self.figures = Figures()

    @property
    def _database(self) -> Path:
        return self._home / "nodus.db"

    async def run(self, instants: int) -> Figures:
        """Kill at so many instants, over as many campaigns as that takes; the last campaign comes to its end."""
        began = time.monotonic()
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._server)
            self._write_config()
            while sum(self.figures.kills.values()) < instants:
                await self._campaign(instants)
        self.figures.seconds = time.monotonic() - began
        self.figures.replies = len(self._server.bill)
        self.figures.turns = len(self._kept.turns)
        return self.figures

    async def _campaign(self, instants: int) -> None:
        name = f"campaign-{self.figures.campaigns + 1}"
        spec = self._write_spec(name)
        standby = await self._load(spec)
        try:
            while True:
                child, standby = standby, await self._load(spec)
                killing = sum(self.figures.kills.values()) < instants
                async with asyncio.timeout(_LIFE_SECONDS):
                    try:
                        over = await self._life(child, killing=killing)
                    finally:
                        await child.kill()
                if self._database.exists():
                    self.figures.money = check_disk(self._database, self._server.bill, self._kept)
                if over:
                    break
        finally:
            await standby.kill()
        told = check_ended(self._database, name, self._cases, self._server.bill)
        self.figures.campaigns += 1
        self.figures.cases += self._cases
        self.figures.verdicts += sum(told.verdicts.values())
        self.figures.events += told.count

    async def _load(self, spec: Path) -> _Child:
        return await _Child.load(self._home, self._config, spec)

    async def _life(self, child: _Child, *, killing: bool) -> bool:
        """Let the scheduler work until it is killed or the campaign is over; true when it is over."""
        instant, why = self._instant()
        await child.let_go()
        ended = asyncio.create_task(child.ended())
        waits: list[asyncio.Task[object]] = [asyncio.create_task(instant())] if killing else []
        try:
            await asyncio.wait([ended, *waits], return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                assert (await ended).strip() == b"Completed"
                return True
            self.figures.kills[why] += 1
            await child.kill()
            return False
        finally:
            for task in (ended, *waits):
                task.cancel()
            await asyncio.gather(ended, *waits, return_exceptions=True)

    def _instant(self):  # type: ignore[no-untyped-def]  # a coroutine function made on the spot
        """When the next kill comes, as something to wait for, and what it goes by."""
        why = self._chance.choice(["time", "request", "reply"])
        count, delay = self._chance.randint(1, 50), self._chance.uniform(0, 0.02)
        since_start = self._chance.uniform(0, 1.2)
        reached = asyncio.Event()

        def counted() -> None:
            nonlocal count
            count -= 1
            if count == 0:
                reached.set()

        self._server.on_request = counted if why == "request" else lambda: None
        self._server.on_reply = counted if why == "reply" else lambda: None

        async def wait() -> None:
            if why == "time":
                await asyncio.sleep(since_start)
            else:
                await reached.wait()
                await asyncio.sleep(delay)

        return wait, why

    def _write_config(self) -> None:
        price = {"inputPerMTok": "1.00", "outputPerMTok": "5.00"}
        model = {"family": "own", "provider": "openai", "name": "stand-in-1", "baseURL": self._server.base_url, "price": price}
        self._config.write_text(json.dumps({"models": [model], "minFreeDiskMiB": 0}), encoding="utf-8")

    def _write_spec(self, name: str, *, cap: str = "0.08", run_cap: str = "0.003") -> Path:
        tasks = self._folder / f"{name}.jsonl"
        rows = [
            {
                "id": f"t{task}",
                "prompt": [f"{name} task {task} turn {turn}: say {task}" for turn in range(1, self._turns + 1)],
                "answer": task,
            }
            for task in range(self._cases)
        ]
        tasks.write_text("".join(json.dumps({**row, "answer": str(row["answer"])}) + "\n" for row in rows), encoding="utf-8")
        head = {"apiVersion": "nodus.dev/v1"}
        documents = [
            {
                **head,
                "kind": "Environment",
                "metadata": {"name": f"numbers-{name}"},
                "spec": {"version": "1.0.0", "file": tasks.name, "grader": {"type": "numeric"}},
            },
            {
                **head,
                "kind": "Agent",
                "metadata": {"name": "worker"},
                "spec": {"model": {"families": ["own"], "maxTokens": MAX_TOKENS}, "perRunMaxCostUSD": run_cap},
            },
            {
                **head,
                "kind": "AgentGroup",
                "metadata": {"name": name},
                "spec": {
                    "agent": "worker",
                    "maxActive": 8,
                    # Less than every case needs at once, so that admission has something to decide.
                    "maxCostUSD": cap,
                    "evaluation": {"environment": f"numbers-{name}@1.0.0", "tasks": self._cases, "timeout": "24h"},
                },
            },
        ]
        path = self._folder / f"{name}.yaml"
        path.write_text("\n---\n".join(json.dumps(document) for document in documents), encoding="utf-8")
        return path
