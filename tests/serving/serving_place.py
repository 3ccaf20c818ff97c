"""A workspace with a job that serves a model, an agent that names its family, and groups of that agent."""

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

from engine_place import NUMBERS, environment, group
from engine_place import agent as agent_document
from free_ports import free_port
from job_place import job_now, until

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.backend_info import ModelFact
from nodus_tui.contract.resources.agent_group import AgentGroup, AgentGroupStatus
from nodus_tui.contract.resources.job import JobStatus, ServingStatus
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs

SERVER = Path(__file__).parent / "stand_in_server.py"
FAMILY = "qwen"


def server(
    folder: Path,
    *,
    name: str = "server",
    family: str = FAMILY,
    project: str | None = None,
    spec: Mapping[str, Any] | None = None,
    **serve: Any,
) -> dict[str, Any]:
    """A Job that serves a stand-in; what it is to do lies in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "apiVersion": "nodus.dev/v1",
        "kind": "Job",
        "metadata": {"name": name, **({"project": project} if project else {})},
        "spec": {
            "command": [sys.executable, str(SERVER), str(folder)],
            "network": True,
            "maxCostUSD": "100",
            "serve": {"family": family, "port": free_port(), "stopAfter": "0s", **serve},
            **(spec or {}),
        },
    }


def agent(family: str = FAMILY, name: str = "worker", **spec: Any) -> dict[str, Any]:
    """An agent of the served family."""
    return agent_document(family, name=name, **spec)


def specs(folder: Path, *documents: Mapping[str, Any]) -> SpecBundle:
    """Documents as one file in a folder with a task file would give them, an environment among them."""
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in NUMBERS[:20]), encoding="utf-8")
    text = "\n---\n".join(json.dumps(document) for document in (environment(), *documents))
    return load_specs([SpecSource("spec.yaml", text.encode(), folder)])


def campaign(folder: Path, *, name: str = "campaign", tasks: int = 3, **serve: Any) -> SpecBundle:
    """One file with everything: the server, the agent, a group."""
    return specs(folder, server(folder / "server", **serve), agent(), group(name=name, tasks=tasks))


def lines(folder: Path, file: str) -> list[str]:
    """What the server wrote down."""
    path = folder / "server" / file
    return path.read_text().splitlines() if path.exists() else []


async def serving(backend: Backend, name: str = "server") -> tuple[JobStatus, ServingStatus]:
    """How the server stands."""
    _, status = await job_now(backend, name)
    assert status.serving is not None
    return status, status.serving


async def until_serving(backend: Backend, name: str = "server") -> JobStatus:
    """The server's status once it answers."""
    return await until(backend, "Serving", name=name)


async def served(backend: Backend, holds: Callable[[ServingStatus], object], name: str = "server") -> JobStatus:
    """The server's status once it is up and the condition holds."""
    cursor = (await backend.snapshot()).cursor
    status, standing = await serving(backend, name)
    async with aclosing(cast("Any", backend.watch(after=cursor))) as batches:
        while not (status.phase == "Serving" and holds(standing)):
            assert not status.ended, status
            await anext(batches)
            status, standing = await serving(backend, name)
    return status


async def model_fact(backend: Backend, family: str = FAMILY) -> ModelFact | None:
    """What the list of models says of a family."""
    return next((each for each in (await backend.info()).models if each.family == family), None)


async def group_now(backend: Backend, name: str = "campaign") -> AgentGroupStatus:
    """How the group stands."""
    found = await backend.get("AgentGroup", name)
    assert isinstance(found, AgentGroup)
    assert found.status is not None
    return found.status
