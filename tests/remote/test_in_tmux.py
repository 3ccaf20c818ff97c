"""The console in a real tmux: launch, kill the tmux server, attach again; the campaign went on meanwhile and nothing is missing."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from detached import DetachedWorkspace, going, scored
from tmux_driver import Tmux, tmux_in

pytestmark = pytest.mark.timeout(150)


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    with tmux_in(tmp_path) as found:
        yield found


def cases_of(screen: str) -> list[int]:
    """The cases whose rows stand on the group's screen with a verdict."""
    return [int(found[1]) for line in screen.splitlines() if (found := re.match(r"^\W*(\d+) .*Correct", line))]


async def test_a_campaign_outlives_its_terminal(tmux: Tmux) -> None:
    place: DetachedWorkspace = tmux.place
    place.spec(family="steady", tasks=12, active=2)
    tmux.open()
    await tmux.reads("No campaigns yet", "work goes on without this window")
    tmux.type("l")
    await tmux.reads("hello.yaml")
    tmux.enter()
    await tmux.reads("Enter launches hello")
    tmux.enter()
    await tmux.reads("AgentGroup hello created")
    await place.group_when("hello", going(2))
    record = place.record()

    tmux.kill()
    await place.group_when("hello", scored(4))
    assert place.record() == record

    # It opens where it was left.
    tmux.open()
    screen = await tmux.reads("campaigns › hello", "12/12 scored")
    while len(cases_of(screen)) < 12:  # The head of the view may be painted before the last row.
        screen = await tmux.reads("12/12 scored")
    assert cases_of(screen) == list(range(1, 13)), "no gap in the table"
    assert place.record() == record
    results = json.loads((await asyncio.to_thread(place.installed, "results", "hello", "--json")).stdout)
    assert results["coverage"] == {"scored": 12, "total": 12}
    assert results["cost"]["unconfirmedUSD"] == "0.00"


async def test_leaving_the_console_says_that_the_work_goes_on(tmux: Tmux) -> None:
    place: DetachedWorkspace = tmux.place
    assert place.called("apply", "-f", place.spec(family="slow", tasks=1)).returncode == 0
    tmux.open(shell=True)
    await tmux.reads("campaigns", "hello", "work goes on without this window")
    tmux.type("q")
    await tmux.reads("work goes on in the background (hello)")
    await place.group_when("hello", going(1))
