"""A workspace for tests: a folder with a configuration, a task file, and specs that name them."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from local_backend.backend import LocalBackend
from local_backend.storage.store import Store
from local_backend.storage.workspace import Workspace
from nodus_tui.contract.backend import BackendOptions, Query
from nodus_tui.contract.phases import RunPhase
from nodus_tui.contract.resources.agent_group import AgentGroup, AgentGroupStatus
from nodus_tui.contract.resources.agent_run import AgentRun, AgentRunStatus
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.spec_loading.loader import SpecSource, load_configuration, load_specs

PRICE_INPUT, PRICE_OUTPUT = 1_000, 5_000
"""Nano-dollars a token at the prices below."""


class Clock:
    """The wall clock, which a test can put forward."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@dataclass
class Place:
    """One test's folder."""

    folder: Path
    base_url: str = ""
    clock: Clock = field(default_factory=Clock)
    simulated: Mapping[str, Any] = field(default_factory=dict)
    max_tries: int = 6
    max_concurrency: int = 64
    model: str = "stand-in-1"
    sandboxes: Mapping[str, Any] = field(default_factory=dict)
    """The configuration's part of that name."""
    environ: Mapping[str, str] = field(default_factory=dict)
    rates: Mapping[str, str] = field(default_factory=dict)
    """US dollars an hour by hardware."""
    smtp: Mapping[str, Any] | None = None
    """The configuration's part of that name."""

    @property
    def home(self) -> Path:
        """The state folder."""
        return self.folder / "home"

    @property
    def configuration(self) -> str:
        """The configuration file's text (JSON is YAML)."""
        price = {"inputPerMTok": "1.00", "outputPerMTok": "5.00"}
        models: list[dict[str, Any]] = [
            {"family": "sim", "provider": "simulated", "name": "simulated-1", "price": price, "simulated": dict(self.simulated)}
        ]
        if self.base_url:
            own = {"family": "own", "provider": "openai", "name": self.model, "baseURL": self.base_url, "price": price}
            models.append({**own, "maxTries": self.max_tries, "maxConcurrency": self.max_concurrency})
        return json.dumps({"models": models, "sandboxes": dict(self.sandboxes), "rates": dict(self.rates), "smtp": self.smtp})

    def tasks(self, rows: Sequence[Mapping[str, Any]], name: str = "tasks.jsonl") -> Path:
        """Write a task file."""
        path = self.folder / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    def specs(self, *documents: Mapping[str, Any]) -> SpecBundle:
        """Documents as a file in this folder would give them."""
        text = "\n---\n".join(json.dumps(document) for document in documents)
        return load_specs([SpecSource("spec.yaml", text.encode(), self.folder)])

    @asynccontextmanager
    async def backend(self, role: Literal["work", "look"] = "work") -> AsyncIterator[LocalBackend]:
        """The real backend over the real database of this folder, on this place's clock."""
        config = self.folder / "config.yaml"
        config.write_text(self.configuration, encoding="utf-8")
        options = BackendOptions(self.home, config, role)
        workspace = Workspace(self.home)
        workspace.prepare()
        backend = LocalBackend(
            options=options,
            workspace=workspace,
            store=await Store.open(workspace.database),
            configuration=load_configuration(str(config), config.read_bytes()),
            environ=self.environ,
            clock=self.clock,
        )
        await backend.start()
        try:
            yield backend
        finally:
            await backend.aclose()


def agent(family: str = "own", *, name: str = "worker", cap: str = "0.10", max_tokens: int = 100, **more: Any) -> dict[str, Any]:
    """An Agent document."""
    return {
        "apiVersion": "nodus.dev/v1",
        "kind": "Agent",
        "metadata": {"name": name},
        "spec": {"system": "Be brief.", "model": {"families": [family], "maxTokens": max_tokens}, "perRunMaxCostUSD": cap, **more},
    }


def environment(grader: Mapping[str, Any] | None = None, *, file: str = "tasks.jsonl", version: str = "1.0.0") -> dict[str, Any]:
    """An Environment document over a task file."""
    return {
        "apiVersion": "nodus.dev/v1",
        "kind": "Environment",
        "metadata": {"name": "numbers"},
        "spec": {"version": version, "file": file, "grader": dict(grader or {"type": "numeric"})},
    }


def group(
    *,
    name: str = "campaign",
    cap: str = "10.00",
    max_active: int = 10,
    tasks: int = 3,
    environment: str = "numbers@1.0.0",
    **evaluation: Any,
) -> dict[str, Any]:
    """An AgentGroup document with an evaluation."""
    return {
        "apiVersion": "nodus.dev/v1",
        "kind": "AgentGroup",
        "metadata": {"name": name},
        "spec": {
            "agent": "worker",
            "maxActive": max_active,
            "maxCostUSD": cap,
            "evaluation": {"environment": environment, "tasks": tasks, **evaluation},
        },
    }


async def until(backend: LocalBackend, settled: Callable[[], Any], *, after: int = 0) -> None:
    """Return once the awaited condition holds, looked at after every batch of events."""
    if await settled():
        return
    async for _ in backend.watch(after=after):
        if await settled():
            return


async def at_rest(backend: LocalBackend, name: str = "campaign") -> AgentGroupStatus:
    """The group's status once nothing of it goes on."""

    async def settled() -> bool:
        return (await status(backend, name)).phase.at_rest

    await until(backend, settled)
    return await status(backend, name)


async def in_phase(backend: LocalBackend, phase: str, name: str = "campaign") -> AgentGroupStatus:
    """The group's status once it is in a phase."""

    async def settled() -> bool:
        return (await status(backend, name)).phase == phase

    await until(backend, settled)
    return await status(backend, name)


async def run_in_phase(backend: LocalBackend, run: str, phase: RunPhase) -> AgentRunStatus:
    """A run's status once it is in a phase."""

    async def settled() -> bool:
        found = await run_status(backend, run)
        return found.phase is phase

    await until(backend, settled)
    return await run_status(backend, run)


async def status(backend: LocalBackend, name: str = "campaign") -> AgentGroupStatus:
    """A group's status now."""
    found = await backend.get("AgentGroup", name)
    assert isinstance(found, AgentGroup)
    assert found.status is not None
    return found.status


async def run_status(backend: LocalBackend, name: str) -> AgentRunStatus:
    """A run's status now."""
    found = await backend.get("AgentRun", name)
    assert isinstance(found, AgentRun)
    assert found.status is not None
    return found.status


async def runs(backend: LocalBackend, *, current_only: bool = True, name: str = "campaign") -> list[AgentRun]:
    """The group's runs."""
    page = await backend.list("AgentRun", Query(group=name, current_only=current_only))
    return [run for run in page.items if isinstance(run, AgentRun)]


NUMBERS = [{"id": f"n{count}", "prompt": f"say {count}", "answer": str(count)} for count in range(1, 101)]
"""A hundred tasks that the stand-in server solves."""
