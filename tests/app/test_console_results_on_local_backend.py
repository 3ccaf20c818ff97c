"""The console's results and the command line's tell the same of real groups: real store, scheduler, graders; simulated models."""

from pathlib import Path

from console_driver import press, screen_text
from test_console_on_local_backend import until

from local_backend.backend import open_backend
from nodus_tui.app import NodusApp
from nodus_tui.cli.summary import summary_text
from nodus_tui.cli.verbs.compare import comparison_text
from nodus_tui.contract.backend import Backend, BackendOptions
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs
from nodus_tui.statistics.comparing import compared_groups, difference_text, solved_text
from nodus_tui.view_state.campaigns import status_of

CONFIGURATION = """\
models:
  - family: good
    provider: simulated
    name: simulated-good
    price: {inputPerMTok: "10.00", outputPerMTok: "50.00", notional: true}
    simulated: {accuracy: 0.8, outputTokens: 200, latencySeconds: 0.001, seed: 3}
  - family: poor
    provider: simulated
    name: simulated-poor
    price: {inputPerMTok: "10.00", outputPerMTok: "50.00", notional: true}
    simulated: {accuracy: 0.4, outputTokens: 100, latencySeconds: 0.001, seed: 4}
"""
SPEC = """\
apiVersion: nodus.dev/v1
kind: Agent
metadata: {{name: {name}}}
spec:
  system: Answer with one number.
  model: {{families: [{name}], maxTokens: 400}}
  perRunMaxCostUSD: "0.05"
---
apiVersion: nodus.dev/v1
kind: AgentGroup
metadata: {{name: {name}-sums}}
spec:
  agent: {name}
  maxCostUSD: "3.00"
  evaluation: {{environment: nodus/arithmetic-v2@2.0.0, tasks: 6, repetitions: 3, seed: 5, timeout: 5m}}
"""


async def summary_lines(backend: Backend, name: str) -> dict[str, str]:
    """What `results NAME --summary` says, by its names."""
    lines = summary_text(await backend.results(name)).splitlines()
    return {head: said.strip() for head, colon, said in (each.partition(":") for each in lines) if colon}


async def test_console_and_command_line_tell_the_same(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIGURATION, encoding="utf-8")
    async with await open_backend(BackendOptions(home=tmp_path / "home", config=config, role="work")) as backend:
        for name in ("good", "poor"):
            await backend.apply(load_specs([SpecSource(f"{name}.yaml", SPEC.format(name=name).encode(), tmp_path)]))
        app = NodusApp(backend, state_folder=tmp_path)
        async with app.run_test(size=(160, 45)) as pilot:

            def done() -> bool:
                groups = list(app.feed.campaigns.rows.items())
                return len(groups) == 2 and all(status_of(each).phase is GroupPhase.COMPLETED for each in groups)

            await until(app, pilot, done, "both groups end")
            for name in ("good", "poor"):
                await press(app, pilot, "slash", *f"{name}-sums", "enter", "v")
                await until(app, pilot, lambda: "sum-" in screen_text(app), "the answers")
                shown, told = screen_text(app), await summary_lines(backend, f"{name}-sums")
                assert told["Pass rate"] in shown
                assert told["95% interval"] in shown
                assert f"mean reward {told['Mean reward']}" in shown
                assert told["Cost each"] in shown
                assert told["Cost"].partition(";")[0] in shown
                for case in (await backend.results(f"{name}-sums")).results:
                    assert case.task_id in shown
                await press(app, pilot, "escape", "slash", "escape")
            await press(app, pilot, "slash", *"good-sums", "enter", "v", "c", *"poor", "enter")
            await until(app, pilot, lambda: "good-sums − poor-sums" in screen_text(app), "the comparison")
            difference = compared_groups(await backend.results("good-sums"), await backend.results("poor-sums"))
            shown = screen_text(app)
        # Not while the console has the terminal: a table is cut to its width.
        told_text = comparison_text([difference], "table")
        assert difference.tasks == 6
        for words in (difference_text(difference), solved_text(difference), *difference.notes):
            assert words in told_text
            assert words in shown
