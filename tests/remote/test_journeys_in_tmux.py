"""The main journeys by the installed command in a real tmux, as a person types them: from a spec to results, and away with many runs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from detached import going
from tmux_driver import Tmux, tmux_in

pytestmark = pytest.mark.timeout(150)


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    with tmux_in(tmp_path) as found:
        yield found


def lines_of(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines()


async def test_from_a_spec_to_its_results(tmux: Tmux) -> None:
    lines = lines_of(tmux.place.spec(tasks=6, active=3, run_cap="0.0003"))
    tmux.open()
    await tmux.reads("No campaigns yet")
    tmux.type("F")
    await tmux.reads("hello.yaml", "not applied")
    tmux.enter()
    await tmux.reads("no problem", "tasks: 6", "at most   $0.0018")
    tmux.type(*["Down"] * lines.index("    tasks: 6"), "End", "BSpace", "4")
    await tmux.reads("tasks: 4", "at most   $0.0012", "no run could make a call")
    tmux.type("C-o")
    await tmux.reads("Saved hello.yaml")
    assert "    tasks: 4" in lines_of(str(tmux.place.folder / "hello.yaml"))
    tmux.type("C-l")
    await tmux.reads("hello.yaml › estimate", "Enter launches hello")
    tmux.enter()
    await tmux.reads("campaigns › hello", "Stalled", "4 runs wait at their own caps")
    tmux.type("C")
    await tmux.reads("New cap of 4 runs of hello", "Extends 4 runs")
    tmux.enter()
    await tmux.reads("extended 4 of 4 runs", "Completed", "4/4 scored")
    tmux.type("v")
    await tmux.reads("hello › results", "100.0% [51.0, 100.0]", "Correct")
    results = json.loads(tmux.place.called("results", "hello", "--json").stdout)
    assert results["coverage"] == {"scored": 4, "total": 4}


async def test_many_runs_are_found_picked_and_killed(tmux: Tmux) -> None:
    assert tmux.place.called("apply", "-f", tmux.place.spec(family="slow", tasks=14, active=12)).returncode == 0
    await tmux.place.group_when("hello", going(12))
    tmux.open()
    await tmux.reads("hello", "0/14")
    tmux.enter()
    await tmux.reads("campaigns › hello", "12 going", "2 pending")
    tmux.type("/")
    tmux.text("state:running")
    tmux.enter()
    await tmux.reads("1 of 12")
    tmux.type("a")
    await tmux.reads("12 picked")
    tmux.type("x")
    await tmux.reads("Type 12 to do it", "Cancel", "Kill 12")
    tmux.text("11")
    tmux.type("Enter", "Right", "Enter")
    await tmux.reads("Type 12 above first")
    tmux.text("12")  # In place of what was typed, which is selected.
    tmux.enter()
    await tmux.reads("[ Kill 12 ]")
    tmux.enter()
    await tmux.reads("killed 12")
    tmux.type("Escape")
    await tmux.reads("Cancelled", "2 going")
