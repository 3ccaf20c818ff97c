"""A sweep in the console on the embedded backend: launched, stalled at its cap, extended, compared; only the model is simulated."""

from pathlib import Path

from console_driver import press, screen_lines, screen_text
from test_console_on_local_backend import CONFIGURATION, SPEC, until

from local_backend.backend import open_backend
from nodus_tui.app import NodusApp
from nodus_tui.contract.backend import BackendOptions
from nodus_tui.screens.sweep import SweepScreen

SWEEP = """\
---
apiVersion: nodus.dev/v1
kind: Sweep
metadata: {name: grid}
spec:
  maxCostUSD: "0.50"
  maxParallel: 2
  template:
    kind: AgentGroup
    spec: {agent: adder, maxCostUSD: "0.40", evaluation: {environment: nodus/arithmetic-v2@2.0.0, tasks: 4, seed: 5}}
  matrix: {agents: [adder, second], shards: 2}
"""


async def test_a_sweep_from_its_estimate_to_a_comparison(tmp_path: Path) -> None:
    config, spec = tmp_path / "config.yaml", tmp_path / "grid.yaml"
    config.write_text(CONFIGURATION, encoding="utf-8")
    agent = SPEC.partition("---\n")[0]
    spec.write_text(f"{agent}---\n{agent.replace('adder', 'second')}{SWEEP}", encoding="utf-8")
    async with await open_backend(BackendOptions(home=tmp_path / "home", config=config, role="work")) as backend:
        app = NodusApp(backend, state_folder=tmp_path)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(app, pilot, lambda: "No campaigns yet." in screen_text(app), "the empty workspace")
            await press(app, pilot, "l")
            app.screen.query_one("#path").value = str(spec)
            await press(app, pilot, "enter")
            await until(app, pilot, lambda: "sure to start: 1" in screen_text(app), "the estimate")
            await press(app, pilot, "enter")
            await until(app, pilot, lambda: isinstance(app.screen, SweepScreen), "the sweep opens")
            await until(app, pilot, lambda: "SHARD" in screen_text(app), "its grid")
            await until(app, pilot, lambda: "‖ Stalled" in screen_lines(app)[0], "no other cell fits under what is left")
            await press(app, pilot, "E")
            assert "New cap of sweep grid" in screen_text(app)
            for _ in range(10):
                await pilot.press("backspace")
            await press(app, pilot, *"5.00", "enter")
            await until(app, pilot, lambda: "● Completed" in screen_lines(app)[0], "every cell ends")
            assert screen_text(app).count("4/4") >= 4
            await press(app, pilot, "m", "down", "c")
            await until(app, pilot, lambda: "agent adder − agent second: " in screen_text(app), "the comparison, whole")
            text = " ".join(screen_text(app).split())
            assert "grid-1 − grid-2: " in text
            assert "on 4 tasks" in text
            await press(app, pilot, "escape")
