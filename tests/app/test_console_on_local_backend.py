"""The console on the embedded backend: real store, real scheduler, real grader processes; only the model is simulated."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from console_driver import press, screen_lines, screen_text, settled

from local_backend.backend import open_backend
from nodus_tui.app import NodusApp
from nodus_tui.contract.backend import BackendOptions
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs

CONFIGURATION = """\
models:
  - family: quick
    provider: simulated
    name: simulated-quick
    price: {inputPerMTok: "10.00", outputPerMTok: "50.00", notional: true}
    simulated: {accuracy: 0.8, outputTokens: 200, latencySeconds: 0.01, seed: 3}
"""
SPEC = """\
apiVersion: nodus.dev/v1
kind: Agent
metadata: {name: adder}
spec:
  system: Answer with one number.
  model: {families: [quick], maxTokens: 400}
  perRunMaxCostUSD: "0.05"
---
apiVersion: nodus.dev/v1
kind: AgentGroup
metadata: {name: sums}
spec:
  agent: adder
  maxActive: 2
  maxCostUSD: "0.06"
  evaluation: {environment: nodus/arithmetic-v2@2.0.0, tasks: 8, seed: 5, timeout: 5m}
"""


async def until(app: NodusApp, pilot, holds: Callable[[], bool], what: str) -> None:
    """Let the loop turn until something holds; the test's own time limit is the end of patience."""
    async with asyncio.timeout(60):
        while not holds():
            await pilot.pause(0.01)
            await settled(app, pilot)
    assert holds(), what


async def test_from_a_spec_file_to_verdicts_in_one_terminal(tmp_path: Path) -> None:
    config, spec = tmp_path / "config.yaml", tmp_path / "sums.yaml"
    config.write_text(CONFIGURATION, encoding="utf-8")
    spec.write_text(SPEC, encoding="utf-8")
    async with await open_backend(BackendOptions(home=tmp_path / "home", config=config, role="work")) as backend:
        app = NodusApp(backend, state_folder=tmp_path)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(app, pilot, lambda: "No campaigns yet." in screen_text(app), "the empty workspace")
            await press(app, pilot, "l")
            app.screen.query_one("#path").value = str(spec)
            await press(app, pilot, "enter")
            await until(app, pilot, lambda: "sure to start: 1 of 8 cases" in screen_text(app), "the estimate")
            await press(app, pilot, "enter")
            await until(app, pilot, lambda: "campaigns › sums" in screen_lines(app)[0], "the group opens")
            await until(app, pilot, lambda: "‖ Stalled" in screen_lines(app)[0], "the group stalls at its cap")
            assert "simulated" in screen_text(app)
            await press(app, pilot, "E")
            assert "New cap of group sums" in screen_text(app)
            for _ in range(10):
                await pilot.press("backspace")
            await press(app, pilot, *"1.00", "enter")
            await until(app, pilot, lambda: "● Completed" in screen_lines(app)[0], "every case ends")
            assert "8/8 scored" in screen_text(app)
            assert screen_text(app).count("● Succeeded") == 8
            await press(app, pilot, "enter")
            await until(app, pilot, lambda: "assistant · call 1" in screen_text(app), "the conversation")
            assert "Settled" in screen_text(app)
            await press(app, pilot, "x")
            assert "there is nothing to kill" in screen_text(app)


BOXED = """\
  - family: boxed
    provider: simulated
    name: simulated-boxed
    price: {inputPerMTok: "1.00", outputPerMTok: "5.00", notional: true}
    simulated:
      accuracy: 1.0
      outputTokens: 20
      script:
        - text: I make a file.
          tools: [{name: bash, arguments: {command: "printf 42 > answer.txt; seq 50; exit 3"}}]
"""


async def test_an_agent_with_tools_is_read_and_its_file_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODUS_SANDBOX_ENGINE", "bubblewrap")
    monkeypatch.chdir(tmp_path)
    config, spec = tmp_path / "config.yaml", tmp_path / "boxed.yaml"
    config.write_text(CONFIGURATION + BOXED, encoding="utf-8")
    text = SPEC.replace("[quick]", "[boxed]").replace('"0.06"', '"1.00"').replace("tasks: 8", "tasks: 2")
    spec.write_text(text.replace('perRunMaxCostUSD: "0.05"', 'perRunMaxCostUSD: "0.05"\n  tools: [bash, submit]'), encoding="utf-8")
    async with await open_backend(BackendOptions(home=tmp_path / "home", config=config, role="work")) as backend:
        await backend.apply(load_specs([SpecSource("boxed.yaml", spec.read_bytes(), tmp_path)]))
        app = NodusApp(backend, state_folder=tmp_path, start_at="sums")
        async with app.run_test(size=(120, 40)) as pilot:
            await until(app, pilot, lambda: "● Completed" in screen_lines(app)[0], "every case ends")
            assert "sandboxes" in screen_text(app)
            await press(app, pilot, "enter")
            await until(app, pilot, lambda: "▸ bash  printf 42" in screen_text(app), "the tool call")
            assert "sandbox bubblewrap · ■" in screen_text(app)
            assert "! exit 3" in screen_text(app)
            assert "prep " in next(text for text in screen_lines(app) if text.startswith(" time "))
            assert "│ 2\n" not in screen_text(app)
            await press(app, pilot, "enter")
            assert "│ 2\n" in screen_text(app)
            await press(app, pilot, "f")
            await until(app, pilot, lambda: "Files of " in screen_text(app), "the files")
            await press(app, pilot, "enter")
            await until(app, pilot, lambda: "Save answer.txt" in screen_text(app), "the question where to")
            await press(app, pilot, "enter")
            await until(app, pilot, lambda: "Saved" in screen_text(app), "the file")
    assert (tmp_path / "answer.txt").read_text() == "42"


async def test_a_budget_that_blocks_is_raised_in_its_view(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIGURATION, encoding="utf-8")
    budget = 'apiVersion: nodus.dev/v1\nkind: Budget\nmetadata: {name: small}\nspec: {limitUSD: "0.0001"}\n---\n'
    spec = budget + SPEC.replace('"0.06"', '"2.00"').replace("tasks: 8", "tasks: 2")
    async with await open_backend(BackendOptions(home=tmp_path / "home", config=config, role="work")) as backend:
        await backend.apply(load_specs([SpecSource("sums.yaml", spec.encode())]))
        app = NodusApp(backend, state_folder=tmp_path)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(app, pilot, lambda: "1 budget blocks" in screen_text(app), "the budget blocks")
            await press(app, pilot, "B")
            await until(app, pilot, lambda: "stops 1 group: sums" in screen_text(app), "the group that it stops")
            await press(app, pilot, "e", "end", "ctrl+u", "5", "enter")
            assert "Goes on again: 1 group: sums, with 2 cases that have not ended" in screen_text(app)
            await press(app, pilot, "tab", "enter")
            await until(app, pilot, lambda: "/$5.00" in screen_text(app) and "1 open" in screen_text(app), "it blocks no more")
