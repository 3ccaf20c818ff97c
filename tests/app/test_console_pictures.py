"""Every view and dialog as pictures at 80×24, 120×40 and 200×60, and every theme once, compared with what a person found good.

`NODUS_UPDATE_GOLDEN=1 pytest tests/app/test_console_pictures.py` makes them anew: look at the difference before committing it, and at
`python scripts/screenshots.py` for how it looks to the eye.
"""

import asyncio
import os
from pathlib import Path

import pytest
from console_driver import console, press, settled
from console_records import NOW
from console_stops import STOPS, Stop, go_to
from draft_files import left_answers, left_draft
from pictures import picture
from scripted_backend import ScriptedBackend
from shots import slug
from spec_workspace import spec_workspace

from nodus_tui.authoring.drafts import Draft
from nodus_tui.authoring.form import DEFAULT_ANSWERS
from nodus_tui.authoring.text_file import NO_FILE
from nodus_tui.contract.console_configuration import ConsoleSettings
from nodus_tui.recording.clock import ReplayClock
from nodus_tui.recording.file import RecordingFile
from nodus_tui.recording.lines import Header
from nodus_tui.recording.reading import RecordingReader
from nodus_tui.recording.recording_backend import recording
from nodus_tui.recording.replay_backend import ReplayBackend
from nodus_tui.screens.choice_list import ChoiceList
from nodus_tui.theme_shelf import ThemeShelf, packaged_folder
from nodus_tui.view_state.views import View

FOLDER = Path(__file__).parent / "pictures"
PLACES = list(STOPS)
SIZES = ((80, 24), (120, 40), (200, 60))
THEMES = sorted(_shelf.themes) if (_shelf := ThemeShelf((packaged_folder(),))).read() else []
KEPT = {"specs-draft": ("j", "enter"), "specs-answers": ("c", "enter")}
"""Questions about what was typed and not saved, and the keys in the list of specs that lead to each."""
RECORDED = {"recording": ("j", "enter"), "recording-place": ("at",)}
"""Places in a recording, and the keys from its first view that lead to each."""
_UPDATES = bool(os.environ.get("NODUS_UPDATE_GOLDEN"))


def compare(name: str, shown: str) -> None:
    path = FOLDER / f"{name}.txt"
    if _UPDATES:
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert path.exists(), f"no picture of {name} yet: see the first lines of this file"
    assert shown == path.read_text(encoding="utf-8"), name


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the console is started, with a few spec files in it: the same on every machine."""
    made = spec_workspace(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setattr("nodus_tui.authoring.finding.examples_folder", lambda: made.examples)
    monkeypatch.chdir(made.folder)
    return made.folder


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("stop", PLACES)
async def test_each_place_looks_as_agreed(stop: str, size: tuple[int, int], tmp_path: Path) -> None:
    # With a folder for what is typed: without, its editor warns after a second, which some machines need to come to the picture.
    async with console(STOPS[stop].world(), size=size, state_folder=tmp_path / "state") as (app, pilot):
        await go_to(app, pilot, STOPS[stop])
        compare(f"{slug(stop)}-{size[0]}x{size[1]}", picture(app))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", KEPT)
async def test_what_was_kept_is_offered_as_agreed(name: str, size: tuple[int, int], workspace: Path, tmp_path: Path) -> None:
    file = workspace / "budgets" / "month.yaml"
    left_draft(tmp_path / "drafts", Draft(file, file.read_text(encoding="utf-8").replace("100.00", "250.00"), NO_FILE))
    left_answers(tmp_path / "drafts", {**DEFAULT_ANSWERS, "name": "sums"})
    async with console(ScriptedBackend(), size=size, state_folder=tmp_path) as (app, pilot):
        await go_to(app, pilot, Stop(ScriptedBackend, ("F",), View.SPECS))
        await press(app, pilot, *KEPT[name])
        async with asyncio.timeout(30):
            while not isinstance(app.screen, ChoiceList) or app.screen.typed:
                await pilot.pause(0.01)
        await settled(app, pilot)
        compare(f"{name}-{size[0]}x{size[1]}", picture(app))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", RECORDED)
async def test_a_recording_looks_as_agreed(name: str, size: tuple[int, int], tmp_path: Path) -> None:
    at = iter((0.0, 0.0, 90.0))
    file = RecordingFile(tmp_path / "recording", Header(started_at=NOW, program="0.1.0", of="local at /here"), clock=lambda: next(at, 90.0))
    recorded = recording(STOPS["group"].world(), file)
    await recorded.snapshot()
    await recorded.snapshot()
    file.close()
    reader = RecordingReader(tmp_path / "recording")
    async with (
        ReplayBackend(reader, ReplayClock(reader.length, speed=1.0, steady=lambda: 0.0)) as backend,
        console(backend, size=size) as (app, pilot),
    ):
        await press(app, pilot, *RECORDED[name])
        compare(f"{name}-{size[0]}x{size[1]}", picture(app))


@pytest.mark.parametrize("theme", THEMES)
async def test_each_theme_looks_as_agreed(theme: str) -> None:
    group: Stop = STOPS["group"]
    async with console(group.world(), size=(120, 40), settings=ConsoleSettings(theme=theme)) as (app, pilot):
        await go_to(app, pilot, group)
        compare(f"theme-{slug(theme)}", picture(app))


def test_no_picture_is_left_of_what_is_gone() -> None:
    wanted = {f"{slug(stop)}-{width}x{height}" for stop in (*PLACES, *KEPT, *RECORDED) for width, height in SIZES} | {
        f"theme-{slug(theme)}" for theme in THEMES
    }
    assert {path.stem for path in FOLDER.iterdir()} == wanted
