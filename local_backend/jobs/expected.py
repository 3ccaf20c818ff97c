"""Sweeps that are about to use a served model: their next cells name its family and have not started. Reads only, from their rows."""

import json
import sqlite3
from collections.abc import Iterator, Mapping

from local_backend.storage.store import Store

_WAITING_CELLS = """
SELECT DISTINCT sweeps.name AS sweep, json_extract(cells.spec, '$.model.uri') AS uri, revisions.spec AS agent
FROM sweep_cells AS cells JOIN sweeps ON sweeps.name = cells.sweep
LEFT JOIN agent_revisions AS revisions ON revisions.agent = json_extract(cells.spec, '$.agent')
  AND revisions.revision = json_extract(sweeps.pins, '$."' || json_extract(cells.spec, '$.agent') || '"')
WHERE sweeps.ended_at IS NULL AND sweeps.paused = '' AND NOT sweeps.killed AND sweeps.phase IN ('Pending', 'Running')
  AND NOT cells.launched AND NOT cells.doomed
"""
"""Of sweeps that go on by themselves: what stands stalled or paused may do so for ever."""

_FAMILY = "family://"


async def expected_users(store: Store) -> Mapping[str, tuple[str, ...]]:
    """The sweeps with cells yet to start that will use a family, as `sweep/NAME`, by family."""
    found: dict[str, dict[str, None]] = {}
    for row in await store.read(_WAITING_CELLS):
        for family in _families(row):
            found.setdefault(family, {})[f"sweep/{row['sweep']}"] = None
    return {family: tuple(sweeps) for family, sweeps in found.items()}


def _families(row: sqlite3.Row) -> Iterator[str]:
    if row["agent"] is not None:
        yield from json.loads(row["agent"])["model"]["families"]
    elif row["uri"] is not None and str(row["uri"]).startswith(_FAMILY):
        yield str(row["uri"]).removeprefix(_FAMILY).partition("/")[0]
