"""Budgets, whichever way the backend is reached: how they stand is told alike, and an operator may remove them."""

import json

import pytest
from ways import Reached, bundle_of

from nodus_tui.contract.actions import Delete
from nodus_tui.contract.errors import ErrorCode, NodusError

pytestmark = pytest.mark.timeout(60)

BUDGET = json.dumps({"apiVersion": "nodus.dev/v1", "kind": "Budget", "metadata": {"name": "month"}, "spec": {"limitUSD": "0.000000001"}})


async def test_a_budget_is_told_alike_everywhere_and_deleted_from_everywhere(there: Reached) -> None:
    await there.local.apply(bundle_of(BUDGET))
    snapshot = await there.backend.snapshot()
    assert snapshot.budgets == (await there.local.snapshot()).budgets
    assert [(each.name, each.status is not None) for each in snapshot.budgets] == [("month", True)]
    assert await there.backend.get("Budget", "month") == await there.local.get("Budget", "month")
    assert (await there.backend.list("Budget")).items == snapshot.budgets
    await there.backend.act(Delete(kind="Budget", name="month"))
    assert (await there.backend.snapshot()).budgets == ()
    with pytest.raises(NodusError) as gone:
        await there.backend.get("Budget", "month")
    assert gone.value.code is ErrorCode.NOT_FOUND
