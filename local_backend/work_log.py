"""What starts, stalls and ends in a workspace, and what was asked for by whom, as lines of its scheduler's log.

It follows the committed events, and of them only those of groups, jobs, sweeps and Sandboxes: runs are too many for a log.
"""

import json
import logging
import sqlite3
from collections.abc import Mapping
from decimal import Decimal

from pydantic import JsonValue

from local_backend.storage.store import Store
from nodus_tui.contract.money import display_usd
from nodus_tui.statistics.format import told_rate_text

_log = logging.getLogger(__name__)

_KINDS = {"AgentGroup": "group", "Job": "job", "TrainingJob": "tj", "Sweep": "sweep", "Sandbox": "sandbox"}
_MOST = 500


class Told:
    """What of each thing was told already: a line comes with a change of its phase or reason only. Pure."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[str, JsonValue]] = {}

    def line(self, kind: str, name: str, change: str, status: Mapping[str, JsonValue]) -> str | None:
        """What one event tells; None where that is nothing."""
        if change == "Deleted":
            return f"{_KINDS[kind]}/{name}: deleted" if self._known.pop((kind, name), None) is not None else None
        known = self._known.setdefault((kind, name), {})
        before = known.get("phase"), known.get("reason")
        known.update(status)
        if (known.get("phase"), known.get("reason")) == before or known.get("phase") is None:
            return None
        reason = f" ({known['reason']})" if known.get("reason") else ""
        said = [str(known["message"])] if known.get("message") else []
        return f"{_KINDS[kind]}/{name}: " + "; ".join([f"{known['phase']}{reason}", *said, *_figures(known)])


def _figures(status: Mapping[str, JsonValue]) -> list[str]:
    said = []
    money = status.get("money")
    if rated := told_rate_text(status):
        said.append(rated)
    if isinstance(status.get("cells"), int):
        said.append(f"{status.get('ended', 0)} of {status['cells']} cells ended")
    if status.get("exitCode") is not None:
        said.append(f"exit code {status['exitCode']}")
    spent = money.get("modelUSD") if isinstance(money, dict) else status.get("costUSD")
    if isinstance(spent, str):
        said.append(f"{display_usd(Decimal(spent))} spent")
    return said


class WorkLog:
    """The lines about one workspace, from the moment it is begun."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._told = Told()
        self._cursor: int | None = None
        self._news = True
        store.on_commit(self._note)

    def _note(self) -> None:
        self._news = True

    async def look(self) -> None:
        """Write down what was committed since the last look. Raises NodusError where the database cannot be read."""
        if not self._news or not _log.isEnabledFor(logging.INFO):
            return
        self._news = False
        newest = (await self._store.read("SELECT max(cursor) AS newest FROM events"))[0]["newest"] or 0
        after, self._cursor = self._cursor, newest
        while after is not None and after < newest:
            rows = await self._store.read(
                "SELECT cursor, change, kind, name, body FROM events WHERE cursor > ? AND cursor <= ? "
                "AND kind IN ('AgentGroup', 'Job', 'TrainingJob', 'Sweep', 'Sandbox') ORDER BY cursor LIMIT ?",
                (after, newest, _MOST),
            )
            for row in rows:
                self._write(row)
            after = rows[-1]["cursor"] if len(rows) == _MOST else newest

    def _write(self, row: sqlite3.Row) -> None:
        line = self._told.line(row["kind"], row["name"], row["change"], json.loads(row["body"]).get("status", {}))
        if line is not None:
            _log.info("%s", " ".join(line.split()))


def log_answer(form: str, author: str, answer: str) -> None:
    """Write down what came of a request, and who made it."""
    if not _log.isEnabledFor(logging.INFO):
        return
    document = json.loads(answer)
    if form == "apply":
        said = ", ".join(f"{each['kind']} {each['name']} {each['outcome']}" for each in document["documents"])
    else:
        said = document["message"]
    _log.info("%s by %s: %s", form if form == "apply" else document["action"], author or "nobody named", " ".join(said.split()))


def log_refusal(form: str, author: str, detail: str) -> None:
    """Write down that a request was refused, and why."""
    _log.info("%s by %s was refused: %s", form, author or "nobody named", " ".join(detail.split()))
