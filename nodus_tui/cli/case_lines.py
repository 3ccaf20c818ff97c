"""Each case of a group with its whole conversation, a line of JSON each: what a person takes away to read errors by the hundred."""

import asyncio
import json
from collections.abc import AsyncIterator

from pydantic import JsonValue

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.results import CaseResult, GroupResults
from nodus_tui.text_formats import escaped

_AT_ONCE = 16
"""Conversations that are asked for before their lines are written: as many are in memory."""


async def case_lines(backend: Backend, results: GroupResults) -> AsyncIterator[str]:
    """The lines, in the order of the cases. Raises NodusError."""
    for place in range(0, len(results.results), _AT_ONCE):
        for told in await asyncio.gather(*(_line(backend, results, case) for case in results.results[place : place + _AT_ONCE])):
            yield told


async def _line(backend: Backend, results: GroupResults, case: CaseResult) -> str:
    transcript = (await backend.transcript(case.run)).to_document()
    told: dict[str, JsonValue] = {
        "group": results.group,
        "simulated": results.simulated,
        **case.to_document(),
        "graderMessage": transcript["graderMessage"],
        "turns": transcript["turns"],
        "calls": transcript["calls"],
    }
    return escaped(json.dumps(told, ensure_ascii=False))
