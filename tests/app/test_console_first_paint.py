"""What the console has loaded when its first view stands on the screen, and that the rest comes by itself before it is asked for."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from console_records import every_kind_of_run, group
from scripted_backend import ScriptedBackend

from nodus_tui.app import NodusApp
from nodus_tui.screens.preloading import LIKELY_NEXT, WITH_DATA, load

_SHOW_MODULES = """
import asyncio, json, sys
from pathlib import Path
from nodus_tui.opening import NodusApp

class Silent:
    async def never(self, *_args, **_named):
        await asyncio.Event().wait()
    info = snapshot = never

class Stops(NodusApp):
    def painted_first(self):
        lines = [self.screen.part(name, object).lines for name in ("crumbs", "keys")]
        words = ["".join(span.text for span in line) for shown in lines for line in shown]
        self.exit()
        print("FOUND " + json.dumps({"modules": sorted(sys.modules), "words": words}))

app = Stops(Silent(), state_folder=Path(sys.argv[1]))
asyncio.run(app.run_async(headless=True, size=(120, 40)))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder = str(tmp_path_factory.mktemp("state"))
    done = subprocess.run([sys.executable, "-c", _SHOW_MODULES, folder], capture_output=True, text=True, check=False, timeout=60)
    assert "FOUND " in done.stdout, done.stderr
    told: dict[str, list[str]] = json.loads(done.stdout.partition("FOUND ")[2].splitlines()[0])
    return told


def test_the_first_paint_is_the_first_view_with_its_keys(found: dict[str, list[str]]) -> None:
    assert "campaigns" in found["words"][0]
    assert "quit" in found["words"][1]


def test_the_first_paint_loads_the_screen_of_the_first_view_and_no_other(found: dict[str, list[str]]) -> None:
    others = {f"nodus_tui.screens.{path.stem}" for path in (Path(__file__).parents[2] / "nodus_tui" / "screens").glob("*.py")} - {
        f"nodus_tui.screens.{name}"
        for name in (
            "__init__",
            "base",
            "campaigns",
            "catalogue",
            "copying_text",
            "dialog_styles",
            "feed",
            "filter_bar",
            "place_keeper",
            "preloading",
            "room",
            "services",
            "table_screen",
            "theme_desk",
            "who_works",
        )
    }
    assert not others & set(found["modules"])


def test_the_first_paint_loads_no_kind_but_that_of_its_rows(found: dict[str, list[str]]) -> None:
    kinds = {"agent_run", "budget", "environment", "job", "sweep", "training_job"}
    assert not {f"nodus_tui.contract.resources.{kind}" for kind in kinds} & set(found["modules"])
    states = {"jobs", "notices", "results", "group", "run", "availability", "proposals", "folding"}
    assert not {f"nodus_tui.view_state.{state}" for state in states} & set(found["modules"])


def test_the_first_paint_loads_no_library_that_it_does_not_draw_with(found: dict[str, list[str]]) -> None:
    heavy = {
        "aiohttp",
        "fastapi",
        "genai_prices",
        "httpx2",
        "markdown_it",
        "numpy",
        "psutil",
        "pygments",
        "rapidfuzz",
        "sqlite3",
        "tree_sitter",
        "yaml",
    }
    assert not (heavy | {"local_backend", "nodus_tui.authoring", "nodus_tui.contract.configuration"}) & set(found["modules"])


def test_what_is_loaded_behind_the_first_paint_is_there_and_was_not_loaded_before(found: dict[str, list[str]]) -> None:
    assert not {*WITH_DATA, *LIKELY_NEXT} & set(found["modules"])


async def test_between_two_modules_keys_go_first() -> None:
    """Each module waits for the keys."""
    waited: list[bool] = []

    async def keys() -> None:
        waited.append(True)

    await load((*WITH_DATA, *LIKELY_NEXT), keys)
    assert len(waited) == len(WITH_DATA) + len(LIKELY_NEXT)
    assert {*WITH_DATA, *LIKELY_NEXT} <= set(sys.modules)


async def test_data_comes_although_the_first_view_is_left_in_its_first_frame() -> None:
    class Hasty(NodusApp):
        hurried = False

        def _display(self, screen, renderable) -> None:
            super()._display(screen, renderable)
            if self._painted and not self.hurried:
                self.hurried = True
                self.action_go_to("budgets")

    app = Hasty(ScriptedBackend([group()], every_kind_of_run()))
    async with app.run_test(size=(80, 24)) as pilot, asyncio.timeout(30):
        while not app.feed.campaigns.loaded:
            await pilot.pause(0.01)
        assert app.screen_stack[-1] is not app.screen_stack[0]
