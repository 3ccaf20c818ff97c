"""A model server for fault injection: it bills every reply that it begins, and keeps the bill. The paid edge alone is a stand-in.

What it does to a request (its delay, its size, an overload, a reply cut in the middle) follows from the seed and the request's number.
"""

import asyncio
import json
import random
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

from aiohttp import web
from msgspec import Struct

INPUT_NANO, OUTPUT_NANO = 1_000, 5_000
"""Nano-dollars a token: $1.00 and $5.00 a million."""

MAX_TOKENS = 60
"""Output tokens that a request allows; no reply has more."""

_PROMPT = re.compile(r"(?P<campaign>[a-z0-9-]+) task (?P<task>\d+) turn (?P<turn>\d+): say (?P<number>\d+)")


class Served(Struct, frozen=True):
    """One reply that the server billed."""

    number: int
    campaign: str
    task: int
    turn: int
    cost: int
    """Nano-dollars by the usage that the reply reports."""
    right: bool
    """Whether it says the number that was asked for."""
    whole: bool
    """False where the server cut it in the middle."""


@dataclass
class PaidServer:
    """The server; use it as an async context manager."""

    seed: int
    bill: list[Served] = field(default_factory=list)
    requests: int = 0
    on_request: Callable[[], None] = lambda: None
    on_reply: Callable[[], None] = lambda: None
    base_url: str = ""

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        number = self.requests
        chance = random.Random(f"{self.seed}/{number}")
        body = json.loads(await request.text())
        asked = _PROMPT.fullmatch(body["messages"][-1]["content"])
        assert asked is not None
        self.on_request()
        await asyncio.sleep(chance.uniform(0, 0.03))
        if chance.random() < 0.03:
            return web.json_response({"error": {"message": "overloaded"}}, status=503, headers={"Retry-After": "0"})
        usage = {"prompt_tokens": chance.randint(10, 60), "completion_tokens": chance.randint(1, MAX_TOKENS)}
        right, whole = chance.random() < 0.8, chance.random() >= 0.01
        said = int(asked["number"]) + (0 if right else 1)
        self.bill.append(
            Served(
                number,
                asked["campaign"],
                int(asked["task"]),
                int(asked["turn"]),
                usage["prompt_tokens"] * INPUT_NANO + usage["completion_tokens"] * OUTPUT_NANO,
                right,
                whole,
            )
        )
        self.on_reply()
        message = {"role": "assistant", "content": f"reply {number}\nAnswer: {said}"}
        document = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1,
            "model": "stand-in-1",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {**usage, "total_tokens": sum(usage.values())},
        }
        if whole:
            return web.json_response(document)
        text = json.dumps(document).encode()
        cut = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(text))})
        with suppress(ConnectionError):  # The client may be dead already.
            await cut.prepare(request)
            await cut.write(text[: len(text) // 2])
        if request.transport is not None:
            request.transport.abort()
        return cut

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._runner.cleanup()
