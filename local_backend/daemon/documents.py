"""What goes over the wire beside the contract's own types: lists, packed bundles, and their text, made while others get their turn."""

import asyncio
import json
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from nodus_tui.contract.backend import Page
from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.estimates import Estimate, KindEstimate
from nodus_tui.contract.events import Snapshot
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.contract.sandboxes import FileEntry, SandboxFact

AnyResource = Annotated[
    Agent | AgentRun | AgentGroup | Environment | Budget | Sandbox | Sweep | Job | TrainingJob, Field(discriminator="kind")
]
"""A resource of any kind."""

_AT_ONCE = 200
"""Resources made into text before the event loop gets its turn."""


class ResourceList(ContractModel):
    """One page of resources, in order of creation."""

    items: tuple[AnyResource, ...]
    next_after: str
    """What `after` of the next page is; empty on the last one."""


class Estimates(ContractModel):
    """The estimate of each document that can cost money, in order."""

    estimates: tuple[Estimate | KindEstimate, ...]


class SandboxList(ContractModel):
    """The sandboxes on the server's machine."""

    sandboxes: tuple[SandboxFact, ...]


class FileList(ContractModel):
    """The files in a run's work folder, in order of their paths."""

    files: tuple[FileEntry, ...]


class PackedDocument(ContractModel):
    """One document of a packed bundle."""

    document: AnyResource
    file: str
    """The file's name as the client knows it; faults name it."""
    index: int
    """The document's place in its file, from 0."""
    folder: str | None
    """Where relative paths in it start."""
    positions: tuple[tuple[tuple[str | int, ...], int, int], ...]
    """Path, line and column of each field; lines and columns count from 1."""
    stand_ins: tuple[tuple[str | int, ...], ...]
    """Paths of values that are made up because what is written has a fault; only with `checkingOnly`."""


class PackedBundle(ContractModel):
    """Documents with the places of their fields."""

    documents: tuple[PackedDocument, ...]
    checking_only: bool
    """For a dry run only: some documents were mended to look for further faults."""
    unread: tuple[tuple[str, str], ...]
    """Kind and name of documents that could not be read; each may be empty."""


async def page_text(page: Page) -> str:
    """A page as JSON."""
    return f'{{"items":{await list_text(page.items)},"nextAfter":{json.dumps(page.next_after)}}}'


async def snapshot_text(snapshot: Snapshot) -> str:
    """A snapshot as JSON."""
    lists = {
        "groups": snapshot.groups,
        "runs": snapshot.runs,
        "jobs": snapshot.jobs,
        "trainingJobs": snapshot.training_jobs,
        "budgets": snapshot.budgets,
        "sweeps": snapshot.sweeps,
        "sandboxes": snapshot.sandboxes,
    }
    texts = [f'"{name}":{await list_text(items)}' for name, items in lists.items()]
    return f'{{"cursor":{snapshot.cursor},{",".join(texts)}}}'


async def list_text(items: Sequence[ContractModel]) -> str:
    """Values as a JSON list, each by its own type."""
    texts: list[str] = []
    for place, item in enumerate(items):
        if place % _AT_ONCE == _AT_ONCE - 1:
            await asyncio.sleep(0)
        texts.append(item.model_dump_json(by_alias=True))
    return f"[{','.join(texts)}]"
