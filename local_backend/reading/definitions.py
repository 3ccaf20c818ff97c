"""The shelf of what is applied and does not run itself: Agents, Environments and Budgets."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from local_backend.reading.shelf import page_of
from local_backend.storage.store import Store
from nodus_tui.contract.backend import Page, Query
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.spec_loading.nearest import nearest

if TYPE_CHECKING:
    from nodus_tui.contract.resources.agent import Agent
    from nodus_tui.contract.resources.budget import Budget


class DefinitionShelf:
    """Reads one workspace's definitions. `kept_budget` gives the status of a budget that this process itself keeps; None for any other."""

    def __init__(self, store: Store, clock: Callable[[], datetime], kept_budget: Callable[[str], Mapping[str, Any] | None]) -> None:
        self._store = store
        self._clock = clock
        self._kept_budget = kept_budget

    async def get(self, kind: str, name: str) -> Resource:
        """One of them; an agent also as `NAME@REVISION`. Raises NotFound with the nearest name."""
        if kind == "Agent" and "@" in name:
            return await self._pinned_agent(name)
        rows = await self._store.read("SELECT * FROM resources WHERE kind = ? AND name = ?", (kind, name))
        if not rows:
            names = await self._store.read("SELECT name FROM resources WHERE kind = ?", (kind,))
            raise NodusError.not_found(kind, name, nearest(name, [row["name"] for row in names]))
        return await self._of(rows[0])

    async def page(self, kind: str, query: Query) -> Page:
        """Those of a kind in order of their names."""
        rows = await self._store.read(
            "SELECT * FROM resources WHERE kind = ? AND name > ? ORDER BY name LIMIT ?", (kind, query.after, query.limit + 1)
        )
        return page_of([await self._of(row) for row in rows], query)

    async def _pinned_agent(self, name: str) -> "Agent":
        from nodus_tui.contract.resources.agent import Agent  # noqa: PLC0415 - one kind of several

        agent, _, revision = name.partition("@")
        query = "SELECT * FROM agent_revisions WHERE agent = ? AND revision = ?"
        rows = await self._store.read(query, (agent, revision))
        if not rows:
            raise NodusError.not_found("Agent", name)
        status = {"revision": rows[0]["revision"], "updatedAt": rows[0]["created_at"]}
        return Agent.model_validate({"metadata": {"name": agent}, "spec": json.loads(rows[0]["spec"]), "status": status})

    async def _of(self, row: sqlite3.Row) -> Resource:
        if row["kind"] == "Budget":
            return await self.budget(row)
        status: dict[str, Any] = json.loads(row["status"])
        if row["kind"] == "Agent":
            from nodus_tui.contract.resources.agent import Agent, AgentStatus  # noqa: PLC0415 - one kind of several

            return Agent.model_validate_json(row["document"]).model_copy(update={"status": AgentStatus.model_validate(status)})
        from nodus_tui.contract.resources.environment import Environment, EnvironmentStatus  # noqa: PLC0415 - one kind of several

        environment = Environment.model_validate_json(row["document"])
        return environment.model_copy(update={"status": EnvironmentStatus.model_validate(status)})

    async def budget(self, row: sqlite3.Row) -> "Budget":
        """The budget of this row with its status as of now."""
        from local_backend.budgets.standing import standing_now  # noqa: PLC0415 - one kind of several
        from nodus_tui.contract.resources.budget import Budget, BudgetStatus  # noqa: PLC0415 - one kind of several

        found = Budget.model_validate_json(row["document"])
        kept = self._kept_budget(found.name)
        if kept is not None:
            return found.model_copy(update={"status": BudgetStatus.model_validate(kept)})
        status = BudgetStatus.model_validate_json(row["status"])
        return await standing_now(self._store, found.model_copy(update={"status": status}), self._clock)
