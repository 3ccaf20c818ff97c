"""Requests: every action and apply is written down before it is done, and its answer with it.

That makes each one durable (a kill survives a crash between the word and the deed), idempotent by its request id, and audited. It is
also the way by which another process reaches the scheduler of a workspace.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from local_backend.storage.records import time_text
from local_backend.storage.store import Store
from nodus_tui.contract.errors import ErrorCode, NodusError, Problem
from nodus_tui.contract.wording import quoted

_ANSWER_SECONDS = 300.0
"""How long another process's answer is waited for; an extension waits for a call in flight to end."""

_POLL_SECONDS = 0.1


class Requests:
    """The requests of one workspace."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    async def ask(self, form: str, payload: str, *, author: str, request_id: str) -> int:
        """Write a request down; a repeated request id gives the first one's number.

        Raises NodusError Conflict when the id was used for another request.
        """
        await self._store.commit(
            [
                (
                    "INSERT OR IGNORE INTO requests (request_id, form, payload, author, at, state) VALUES (?, ?, ?, ?, ?, 'Asked')",
                    (request_id, form, payload, author, time_text(self._clock())),
                )
            ]
        )
        rows = await self._store.read("SELECT id, form, payload FROM requests WHERE request_id = ?", (request_id,))
        if (rows[0]["form"], rows[0]["payload"]) != (form, payload):
            raise NodusError(
                ErrorCode.CONFLICT, f"the request id {quoted(request_id)} was used for another request; every request needs one of its own"
            )
        return int(rows[0]["id"])

    async def answer(self, number: int, work: Callable[[], Awaitable[str]]) -> None:
        """Do a request and write its answer, or its refusal."""
        try:
            state, text = "Done", await work()
        except NodusError as error:
            state, text = "Refused", error.problem().model_dump_json(by_alias=True)
        await self._store.commit(
            [("UPDATE requests SET state = ?, answer = ?, done_at = ? WHERE id = ?", (state, text, time_text(self._clock()), number))]
        )

    async def open_ones(self) -> list[tuple[int, str, str, str]]:
        """Number, form, payload and author of the requests that nobody has answered, oldest first."""
        rows = await self._store.read("SELECT id, form, payload, author FROM requests WHERE state = 'Asked' ORDER BY id")
        return [(row["id"], row["form"], row["payload"], row["author"]) for row in rows]

    async def is_open(self, number: int) -> bool:
        """Whether nobody has answered it."""
        rows = await self._store.read("SELECT state FROM requests WHERE id = ?", (number,))
        return bool(rows[0]["state"] == "Asked")

    async def outcome(self, number: int) -> str | None:
        """The answer of a request, None while there is none. Raises the NodusError with which it was refused."""
        rows = await self._store.read("SELECT state, answer FROM requests WHERE id = ?", (number,))
        if rows[0]["state"] == "Asked":
            return None
        if rows[0]["state"] == "Refused":
            problem = Problem.model_validate_json(rows[0]["answer"])
            raise NodusError(problem.code, problem.detail, problem.faults)
        return str(rows[0]["answer"])

    async def wait(self, number: int) -> str:
        """The answer that another process gives. Raises Unavailable when none comes; the request then still stands."""
        waited = 0.0
        while waited < _ANSWER_SECONDS:
            text = await self.outcome(number)
            if text is not None:
                return text
            await asyncio.sleep(_POLL_SECONDS)
            waited += _POLL_SECONDS
        raise NodusError(
            ErrorCode.UNAVAILABLE,
            "the process that runs this workspace's scheduler has not answered; what was asked stays recorded and is done when it does",
        )
