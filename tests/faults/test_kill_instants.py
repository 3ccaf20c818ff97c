"""The short form of the fault injection: SIGKILL at twenty random instants. `python tests/faults/long.py` is the long one."""

from pathlib import Path

import pytest
from kill_campaigns import KillCampaigns

INSTANTS = 20


@pytest.mark.timeout(300)
async def test_a_scheduler_killed_at_random_instants_loses_no_spend_no_verdict_and_no_paid_turn(tmp_path: Path) -> None:
    seed = 20_261
    print(f"seed {seed}")
    figures = await KillCampaigns(tmp_path, seed=seed, cases=36).run(INSTANTS)
    assert sum(figures.kills.values()) == INSTANTS
    assert len(figures.kills) == 3, "every kind of instant was met"
    assert figures.money.recorded >= figures.money.served > 0
    assert figures.money.unconfirmed > 0, "kills met calls under way"
    assert figures.verdicts > 0
