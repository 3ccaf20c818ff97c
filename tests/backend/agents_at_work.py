"""Agents with tools for tests: what the model server says turn by turn, and looks at what they did."""

from collections.abc import Awaitable, Callable

from aiohttp import web
from engine_place import Place, agent
from model_server import ModelServer, Seen

from local_backend.backend import LocalBackend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.agent_run import Transcript

TOOLS = ["bash", "read", "write", "edit", "submit"]

Turns = list[web.Response | Callable[[Seen], Awaitable[web.Response]]]


def plays(server: ModelServer, turns: Turns) -> None:
    """Have the server answer the nth turn of every conversation with the nth of these."""

    async def answer(seen: Seen) -> web.StreamResponse:
        turn = turns[seen.replies_before]
        if callable(turn):
            return await turn(seen)
        return web.Response(status=200, body=turn.body, content_type="application/json")

    server.answer = answer


def worker(**more: object) -> dict[str, object]:
    return agent(tools=TOOLS, **more)  # type: ignore[arg-type]  # the agent's other fields as they come


async def launch(place: Place, backend: LocalBackend, *documents: dict[str, object]) -> None:
    await backend.apply(place.specs(*documents), author="tester")


def results_of(transcript: Transcript) -> list[str]:
    return [result.text for turn in transcript.turns for result in turn.tool_results]


async def content(backend: LocalBackend, run: str, path: str) -> bytes:
    return b"".join([piece async for piece in backend.read_file(run, path)])


async def nothing_left(backend: LocalBackend) -> bool:
    return not [each for each in await backend.sandboxes() if each.mine]


async def at_hand(ask: Callable[[], Awaitable[bool]]) -> bool:
    """False, too, while nothing is there to be asked about yet."""
    try:
        return await ask()
    except NodusError as error:
        if error.code is not ErrorCode.NOT_FOUND:
            raise
        return False
