"""Regenerate screenshots/ from the running console: `python scripts/screenshots.py [FOLDER]`.

The console runs on the embedded backend with the simulated demonstration campaign, in a state folder that is thrown away. Each view is
shown at 80×24 and at 120×40: the group while it runs, with its queue, its timeline and what-if, and when it has stalled at its caps, which
takes about a minute, the latter once in each theme. Then a sweep over two
simulated models is shown as a grid, as a table, and with two of its cells compared. Last a few agents work with tools in sandboxes of this
machine, beside two Sandboxes on their own, so that those, a run with tool calls and its files can be shown.
"""

import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.color import Color
from rich.terminal_theme import SVG_EXPORT_THEME, TerminalTheme
from textual.pilot import Pilot

from local_backend.backend import open_backend
from local_backend.demo import prepare_demo
from nodus_tui.app import NodusApp
from nodus_tui.contract.backend import Backend, BackendOptions
from nodus_tui.contract.demo import DemoRequest
from nodus_tui.contract.phases import GroupPhase, RunPhase
from nodus_tui.contract.sandbox_exec import ExecRequest
from nodus_tui.contract.spec_loading.files import read_sources
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs
from nodus_tui.screens.boxes import SandboxesScreen
from nodus_tui.theming import DEFAULT_THEME
from nodus_tui.view_state.boxes import box_status
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.run_columns import run_status
from nodus_tui.view_state.sweeps import sweep_status
from nodus_tui.widgets.line_table import LineTable

SIZES = ((80, 24), (120, 40))
GROUP = "every-state"
PATIENCE_SECONDS = 180

TOOLS_GROUP = "repairs"
_SCRIPT = (
    {
        "text": "I look at what there is to work with.",
        "tools": [{"name": "bash", "arguments": {"command": "python3 --version; ls /usr/lib/python3*"}}],
    },
    {"tools": [{"name": "write", "arguments": {"path": "notes.md", "content": "Edge cases first.\n"}}]},
    {
        "text": "First a guess, to see it fail.",
        "tools": [{"name": "bash", "arguments": {"command": "python3 -m pytest -q -p no:cacheprovider"}}],
    },
)
_TOOLS_CONFIGURATION = {
    "models": [
        {
            "family": "sim",
            "provider": "simulated",
            "name": "simulated-1",
            "price": {"inputPerMTok": "1.00", "outputPerMTok": "5.00", "notional": True},
            "simulated": {"accuracy": 0.8, "outputTokens": 90, "latencySeconds": 0.1, "seed": 3, "script": _SCRIPT},
        }
    ]
}
_TOOLS_SPEC = f"""\
apiVersion: nodus.dev/v1
kind: Agent
metadata: {{name: coder}}
spec:
  system: Work in your folder, then submit.
  model: {{families: [sim], maxTokens: 400}}
  perRunMaxCostUSD: "0.20"
  tools: [bash, read, write, edit, submit]
---
apiVersion: nodus.dev/v1
kind: AgentGroup
metadata: {{name: {TOOLS_GROUP}}}
spec:
  agent: coder
  maxActive: 4
  maxCostUSD: "2.00"
  evaluation: {{environment: nodus/code-v1@1.0.0, split: train, tasks: 6, seed: 7}}
"""

_SANDBOXES_SPEC = """\
---
apiVersion: nodus.dev/v1
kind: Sandbox
metadata: {name: scratch}
spec: {memoryGiB: 0.5, diskGiB: 0.1, idleTimeout: 10m, maxLifetime: 2h, maxCostUSD: "0.01"}
---
apiVersion: nodus.dev/v1
kind: Sandbox
metadata: {name: build}
spec: {memoryGiB: 0.5, diskGiB: 0.1, network: true, idleTimeout: 5m, maxCostUSD: "0.0001", env: {MODE: release}}
"""

SWEEP = "models-by-shard"
_SWEEP_CONFIGURATION = {
    "models": [
        {
            "family": family,
            "provider": "simulated",
            "name": f"simulated-{family}",
            "price": {"inputPerMTok": price, "outputPerMTok": price, "notional": True},
            "simulated": {"accuracy": accuracy, "outputTokens": 60, "latencySeconds": 0.15, "seed": 3},
        }
        for family, price, accuracy in (("small", "1.00", 0.6), ("large", "5.00", 0.85))
    ]
}
_SWEEP_SPEC = (
    "".join(
        f"""\
apiVersion: nodus.dev/v1
kind: Agent
metadata: {{name: {name}}}
spec: {{system: Calculate., model: {{families: [{name}], maxTokens: 200}}, perRunMaxCostUSD: "0.02"}}
---
"""
        for name in ("small", "large")
    )
    + f"""\
apiVersion: nodus.dev/v1
kind: Sweep
metadata: {{name: {SWEEP}}}
spec:
  maxCostUSD: "2.00"
  maxParallel: 3
  template:
    kind: AgentGroup
    spec:
      agent: small
      maxActive: 4
      maxCostUSD: "0.40"
      evaluation: {{environment: nodus/arithmetic-v2@2.0.0, tasks: 20, seed: 7}}
  matrix: {{agents: [small, large], shards: 5}}
"""
)


async def _until_worth_seeing(app: NodusApp, pilot: Pilot[int], *, stalled: bool) -> None:
    """Wait until every state is on the screen: first while runs are going, then at rest at the caps."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            await pilot.pause(0.3)
            group = app.feed.campaigns.rows.find(GROUP)
            state = app.feed.groups.get(GROUP)
            if group is None or state is None:
                continue
            if stalled and status_of(group).phase is GroupPhase.STALLED:
                return
            if not stalled and status_of(group).coverage.scored >= 20 and state.phases[RunPhase.WAITING] and status_of(group).going:
                return


_XTERM = TerminalTheme(
    (0, 0, 0),
    (229, 229, 229),
    [(0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229)],
    [(127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255), (255, 255, 255)],
)
"""What the sixteen colours are in a terminal where nobody changed them."""


def _colours(theme: TerminalTheme) -> list[str]:
    sixteen = (Color.from_ansi(number).get_truecolor(theme) for number in range(16))
    return [triplet.hex for triplet in (*sixteen, theme.foreground_color, theme.background_color)]


_AS_IN_A_TERMINAL = dict(zip(_colours(SVG_EXPORT_THEME), _colours(_XTERM), strict=True))


def _save(app: NodusApp, path: Path) -> None:
    """The screen as a picture, its sixteen colours those of a terminal and not those of the library that draws."""
    drawn = re.sub("#[0-9a-f]{6}", lambda found: _AS_IN_A_TERMINAL.get(found[0], found[0]), app.export_screenshot())
    # Without this some viewers draw several spaces as one, and columns do not stand below each other.
    path.write_text(drawn.replace("<svg ", '<svg xml:space="preserve" ', 1), encoding="utf-8")
    print(path)


async def _shoot(app: NodusApp, pilot: Pilot[int], folder: Path, view: str, *keys: str) -> None:
    """Take the pictures of a view; the keys are pressed once it has its size."""
    for width, height in SIZES:
        await pilot.resize_terminal(width, height)
        await pilot.pause(0.2)
        await pilot.press(*keys)
        await pilot.pause(0.2)
        _save(app, folder / f"{view}-{width}x{height}.svg")


async def _shoot_themes(app: NodusApp, pilot: Pilot[int], folder: Path) -> None:
    """The view that is open, once in each theme but the one of all other pictures."""
    await pilot.resize_terminal(*SIZES[0])
    for choice in app.looks.choices():
        if choice.name != DEFAULT_THEME:
            app.show_theme(choice.name)
            await pilot.pause(0.2)
            _save(app, folder / f"theme-{choice.name.removeprefix('nodus-')}.svg")
    app.show_theme(DEFAULT_THEME)


async def _select_waiting(app: NodusApp, pilot: Pilot[int]) -> None:
    """The cursor goes to a run that waits at its cap: the state that this console is about."""
    state = app.feed.groups[GROUP]
    waiting = next(run for run in state.rows.items() if run_status(run).phase is RunPhase.WAITING)
    app.screen.query_one("#rows", LineTable).select(waiting.name)
    await pilot.pause()


async def _show(backend: Backend, folder: Path) -> None:
    app = NodusApp(backend, start_at=GROUP)
    async with app.run_test(size=SIZES[-1]) as pilot:
        await _until_worth_seeing(app, pilot, stalled=False)
        await _shoot(app, pilot, folder, "group")
        for key, view in (("w", "queue"), ("T", "timeline"), ("M", "what-if")):
            await pilot.press(key)
            await pilot.pause(0.5)
            await _shoot(app, pilot, folder, view)
        await pilot.press("escape", "escape", "escape")
        await _until_worth_seeing(app, pilot, stalled=True)
        await _select_waiting(app, pilot)
        await _shoot(app, pilot, folder, "group-stalled")
        await _shoot_themes(app, pilot, folder)
        await pilot.press("e")
        await pilot.pause()
        await _shoot(app, pilot, folder, "extend-cap")
        await pilot.press("escape", "enter")
        await pilot.pause(0.3)
        await _shoot(app, pilot, folder, "run")
        await pilot.press("escape", "v")
        await pilot.pause(0.3)
        await _shoot(app, pilot, folder, "results")
        await pilot.press("escape", "escape")
        await pilot.pause(0.3)
        await _shoot(app, pilot, folder, "campaigns")


def _all_mine(screen: SandboxesScreen) -> bool:
    return all(fact.mine for fact in screen.running.rows.items())


async def _show_sandboxes(app: NodusApp, pilot: Pilot[int], folder: Path) -> None:
    """Both Sandboxes, one with a command in it, and those of runs below; nobody else's, for a picture is to be made again elsewhere."""
    while any(box_status(box).phase == "Pending" for box in app.feed.boxes.rows.items()) or not len(app.feed.boxes.rows):
        await pilot.pause(0.1)
    await app.backend.exec_start("build", ExecRequest(command=("sleep", "600")))
    await pilot.press("b")
    while not (isinstance(screen := app.screen, SandboxesScreen) and len(screen.running.rows) and _all_mine(screen)):
        await pilot.pause(0.1)
    await _shoot(app, pilot, folder, "sandboxes")
    await pilot.press("enter")
    await _shoot(app, pilot, folder, "sandbox")
    await pilot.press("escape", "escape")


async def _show_tools(backend: Backend, folder: Path) -> None:
    app = NodusApp(backend, start_at=TOOLS_GROUP)
    async with app.run_test(size=SIZES[-1]) as pilot, asyncio.timeout(PATIENCE_SECONDS):
        await _show_sandboxes(app, pilot, folder)
        while (group := app.feed.campaigns.rows.find(TOOLS_GROUP)) is None or not status_of(group).phase.ended:
            await pilot.pause(0.3)
        await pilot.press("enter")
        await pilot.pause(0.5)
        await _shoot(app, pilot, folder, "run-with-tools", "end")
        await pilot.press("f")
        await pilot.pause(0.5)
        await _shoot(app, pilot, folder, "files")


async def _show_sweep(backend: Backend, folder: Path) -> None:
    app = NodusApp(backend, first_view=f"sweep/{SWEEP}")
    async with app.run_test(size=SIZES[-1]) as pilot, asyncio.timeout(PATIENCE_SECONDS):
        while (sweep := app.feed.sweeps.rows.find(SWEEP)) is None or sweep_status(sweep).ended < 4:
            await pilot.pause(0.1)
        await pilot.press("down", "down")
        await _shoot(app, pilot, folder, "sweep")
        await pilot.press("tab")
        await _shoot(app, pilot, folder, "sweep-table")
        while not sweep_status(app.feed.sweeps.rows.item(SWEEP)).phase.ended:
            await pilot.pause(0.1)
        await pilot.press("tab", "home", "m", "right", "m")
        await pilot.pause(2.5)  # The cells of an ended sweep are read once more.
        await _shoot(app, pilot, folder, "sweep-ended")
        await pilot.press("c")
        await pilot.pause(0.5)
        await _shoot(app, pilot, folder, "sweep-compared")
        await pilot.press("escape", "v", "c", "enter")
        await pilot.pause(1.0)
        await _shoot(app, pilot, folder, "compared")
        await pilot.press("escape", "escape", "W")
        await pilot.pause(0.5)
        await _shoot(app, pilot, folder, "sweeps")


async def _with_own_models(folder: Path, configuration: object, spec: str, show: Callable[[Backend, Path], Awaitable[None]]) -> None:
    """A campaign with models of its own, in a workspace of its own."""
    with tempfile.TemporaryDirectory() as home:
        config = Path(home) / "config.yaml"
        config.write_text(json.dumps(configuration), encoding="utf-8")
        async with await open_backend(BackendOptions(home=Path(home), config=config, role="work")) as backend:
            await backend.apply(load_specs([SpecSource("spec.yaml", spec.encode())]))
            await show(backend, folder)


async def main(folder: Path) -> None:
    """Run the campaigns and take the pictures."""
    with tempfile.TemporaryDirectory() as home:
        kit = await prepare_demo(DemoRequest(home=Path(home), campaigns=frozenset({"simulated"}), size="full"))
        try:
            async with await open_backend(BackendOptions(home=kit.home, config=kit.config, role="work")) as backend:
                for campaign in kit.campaigns:
                    await backend.apply(load_specs(read_sources((str(campaign.spec),), sys.stdin.buffer)))
                await _show(backend, folder)
                await backend.stop_work(grace_seconds=0)
        finally:
            await kit.aclose()
    await _with_own_models(folder, _SWEEP_CONFIGURATION, _SWEEP_SPEC, _show_sweep)
    await _with_own_models(folder, _TOOLS_CONFIGURATION, _TOOLS_SPEC + _SANDBOXES_SPEC, _show_tools)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "screenshots"
    target.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(target))
