"""The making and the removal of containers: what the engine is asked is seen through, whoever does not wait for it any more."""

import asyncio
from collections.abc import Mapping
from typing import Any

from local_backend.sandboxes.docker.client import EngineClient, EngineError
from local_backend.sandboxes.docker.containers import RUN_LABEL
from local_backend.sandboxes.interface import SandboxError

_REMOVAL_POLL_SECONDS = 0.05
_MAKING_SECONDS = 5.0
"""How long whoever does not want it any more waits for one to be made."""


async def make_container(client: EngineClient, name: str, config: Mapping[str, Any]) -> str:
    """Have one made, not started; gives its id. Raises EngineError, SilentError.

    The engine makes what it was asked for also where nobody waits for the answer: a cancellation waits for it, so that it can be removed.
    """
    making = asyncio.ensure_future(client.ask("POST", "/containers/create", params={"name": name}, json_body=dict(config)))
    try:
        return str((await asyncio.shield(making))["Id"])
    except asyncio.CancelledError:
        await asyncio.wait({making}, timeout=_MAKING_SECONDS)
        raise
    finally:
        making.cancel()
        await asyncio.gather(making, return_exceptions=True)


async def remove_container(client: EngineClient, name: str) -> None:
    """End and remove a container of ours by name or id, with what belongs to it, and see that it is gone. Raises SandboxError."""
    try:
        async with asyncio.timeout(client.deadline):
            while True:
                if await _removed(client, name):
                    return
                await asyncio.sleep(_REMOVAL_POLL_SECONDS)
    except TimeoutError as error:
        raise SandboxError(f"the sandbox {name[:12]} could not be removed within {client.deadline:g} s") from error


async def _removed(client: EngineClient, name: str) -> bool:
    """Have it removed; whether it is gone."""
    known = True
    try:
        await client.ask("DELETE", f"/containers/{name}", params={"force": "1", "v": "1"})
    except EngineError as error:
        # 409: the engine is removing it already, because its lifetime is over.
        if error.status not in {404, 409}:
            raise
        known = error.status == 409
    try:
        await client.ask("GET", f"/containers/{name}/json")
    except EngineError as error:
        if error.status == 404:
            return known or not await _listed(client, name)
        raise
    return False


async def _listed(client: EngineClient, name: str) -> bool:
    """Whether the engine lists it: one that is just being made is listed before anything else can be asked of it."""
    return any(each.get("Id") == name or f"/{name}" in (each.get("Names") or ()) for each in await listed_containers(client))


async def listed_containers(client: EngineClient) -> list[dict[str, Any]]:
    """Those with our label, as the engine lists them. Raises SandboxError.

    Without those that it removed while it was finding its containers again, after it was killed: it lists them for good, dead and without a
    name, and knows nothing of them when it is asked.
    """
    params = {"all": "1", "filters": f'{{"label": ["{RUN_LABEL}"]}}'}
    found = await client.ask("GET", "/containers/json", params=params)
    return [each for each in found if each.get("State") != "dead" or each.get("Names")]
