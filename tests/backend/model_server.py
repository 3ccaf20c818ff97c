"""A model server for tests: the paid edge, and nothing else, is a stand-in. It speaks the OpenAI chat protocol over real HTTP.

A test decides how each request is answered, may hold answers back until it lets them go, and sees what was served.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

INPUT_TOKENS, OUTPUT_TOKENS = 20, 10
"""What every normal reply reports."""


@dataclass
class Seen:
    """One request as the server saw it."""

    number: int
    body: dict[str, Any]
    answered: bool = False

    @property
    def last_user_text(self) -> str:
        """The newest user message."""
        return str(self.body["messages"][-1]["content"])

    @property
    def replies_before(self) -> int:
        """How many replies the conversation has already."""
        return sum(message["role"] == "assistant" for message in self.body["messages"])


Answer = Callable[[Seen], Awaitable[web.StreamResponse]]


def asks(*calls: tuple[str, dict[str, Any]]) -> web.Response:
    """A reply that asks for tools, each with its arguments."""
    wanted = [
        {"id": f"call-{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for place, (name, arguments) in enumerate(calls)
    ]
    return reply("", finish="tool_calls", tool_calls=wanted)


def reply(text: str, *, usage: dict[str, int] | None = None, finish: str = "stop", **message: Any) -> web.Response:
    """A normal chat completion."""
    counted = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS}
    return web.json_response(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "stand-in-1",
            "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}],
            "usage": counted if usage is None else usage,
        }
    )


def solve(text: str) -> str:
    """The number that an input of these tests asks for: `say 7` is answered with 7."""
    return text.rsplit(" ", 1)[-1]


@dataclass
class ModelServer:
    """The server; use it as an async context manager."""

    answer: Answer | None = None
    """How requests are answered; None answers each with the number it asks for."""
    seen: list[Seen] = field(default_factory=list)
    hold: asyncio.Event | None = None
    """When set to an Event, replies wait for it."""
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)
    base_url: str = ""

    @property
    def served(self) -> int:
        """Replies that went out in full."""
        return sum(each.answered for each in self.seen)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        one = Seen(len(self.seen) + 1, json.loads(await request.text()))
        self.seen.append(one)
        async with self.arrived:
            self.arrived.notify_all()
        if self.hold is not None:
            await self.hold.wait()
        made = await self.answer(one) if self.answer is not None else reply(solve(one.last_user_text))
        one.answered = True
        return made

    async def until_seen(self, count: int) -> None:
        """Return once so many requests have arrived."""
        async with self.arrived:
            await self.arrived.wait_for(lambda: len(self.seen) >= count)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/v1/chat/completions", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self.hold is not None:
            self.hold.set()
        await self._runner.cleanup()
