"""The console on a recording: the same screens as when it was recorded, its own keys, and nothing that can be done."""

import asyncio
import json
import re
from collections.abc import Callable
from datetime import timedelta
from math import inf
from pathlib import Path

from console_driver import press, screen_lines, screen_text, settled, wire_text
from recording_place import BEGAN, Steady, recorded, replayed, watched_campaign
from textual.pilot import Pilot
from ways import spec

from nodus_tui.app import NodusApp
from nodus_tui.recording.replay_backend import ReplayBackend

NOW = BEGAN + timedelta(minutes=5)


async def until(app: NodusApp, pilot: Pilot[int], holds: Callable[[], bool]) -> None:
    """Let the loop turn until something holds; the test's own time limit is the end of patience."""
    async with asyncio.timeout(30):
        while not holds():
            await settled(app, pilot)


def own_lines(app: NodusApp) -> list[str]:
    """The screen without what is told of the recording and of what has just happened: the line of status, and how much is new.

    A column keeps the width of what stood in it meanwhile, which a replay at full speed never shows: how wide a gap is counts for nothing.
    """
    lines = screen_lines(app)[: app.screen.query_one("#status").region.y]
    lines = [line for line in lines if line[1:2] not in ("►", "■", "‖")]
    lines = [re.sub(r"\s+(N \d+ new · )?", " ", lines[0]), *(line for line in lines[1:] if line)]
    return [re.sub(r" {2,}", " ", line) for line in lines]


async def tour(app: NodusApp, pilot: Pilot[int]) -> list[list[str]]:
    """The campaigns, the group, its first run: what each screen shows."""
    screens = []
    await until(app, pilot, lambda: "● Completed" in screen_text(app))
    screens.append(own_lines(app))
    await press(app, pilot, "enter")
    await until(app, pilot, lambda: screen_text(app).count("● Succeeded") == 3)
    screens.append(own_lines(app))
    await press(app, pilot, "enter")
    await until(app, pilot, lambda: "assistant · call 1" in screen_text(app))
    screens.append(own_lines(app))
    return screens


async def test_a_recorded_console_and_its_replay_show_the_same_screens(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        app = NodusApp(place.backend, clock=lambda: NOW)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(app, pilot, lambda: "No campaigns yet." in screen_text(app))
            place.steady.seconds = 10
            await place.backend.apply(spec(tasks=3))
            live = await tour(app, pilot)
            await until(app, pilot, lambda: "● recording, " in screen_text(app))
            place.steady.seconds = 60
        place.backend.file.close()
        async with replayed(place.path, speed=inf) as backend:
            again = NodusApp(backend, clock=lambda: NOW)
            async with again.run_test(size=(120, 40)) as pilot:
                assert await tour(again, pilot) == live
                assert "■ ended  1:00 / 1:00" in screen_text(again)
                assert "recording of local at /here, 2026-03-01" in screen_text(again)


async def go_to(app: NodusApp, pilot: Pilot[int], place: str) -> None:
    await press(app, pilot, "at")
    assert "Go to which place?" in screen_text(app)
    app.screen.query_one("#value").value = place
    await press(app, pilot, "enter")


async def test_it_stops_goes_faster_and_back_and_every_view_follows(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        await watched_campaign(place, tasks=3, active=1)
        await place.backend.transcript("hello-c001")
        length = place.steady.seconds = int(place.steady.seconds) + 100
        await place.backend.info()
    steady = Steady()
    async with replayed(place.path, steady=steady, speed=1) as backend:
        app = NodusApp(backend, start_at="hello")
        async with app.run_test(size=(120, 40)) as pilot:
            await until(app, pilot, lambda: "There is no group hello any more" in screen_text(app))
            assert f"►  0:00 / {length // 60}:{length % 60:02}" in screen_text(app)
            await press(app, pilot, "P", "greater_than_sign", "greater_than_sign", "less_than_sign")
            await until(app, pilot, lambda: "‖ paused" in screen_text(app))
            assert "2×" in screen_text(app)
            await go_to(app, pilot, "100%")
            await until(app, pilot, lambda: "● Completed" in screen_lines(app)[0])
            await press(app, pilot, "enter")
            await until(app, pilot, lambda: "assistant · call 1" in screen_text(app))
            await press(app, pilot, "left")
            assert backend.playback.place == length - 5
            await go_to(app, pilot, "0:00")
            await until(app, pilot, lambda: "the recording holds the conversation of hello-c001 from" in screen_text(app))
            await press(app, pilot, "P")
            steady.seconds = 1000
            await until(app, pilot, lambda: "■ ended" in screen_text(app))
            await until(app, pilot, lambda: "assistant · call 1" in screen_text(app))
            assert app.clock() == backend.now()


async def test_at_its_end_it_begins_again_where_that_was_wished(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        await watched_campaign(place, tasks=1)
    steady = Steady()
    async with replayed(place.path, steady=steady, speed=1) as backend:
        backend.loops = True
        app = NodusApp(backend)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(app, pilot, lambda: "again and again" in screen_text(app))
            steady.seconds = 500
            app._tick()
            await until(app, pilot, lambda: "►  0:00 /" in screen_text(app))


async def test_no_key_does_anything_in_a_recording(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        await watched_campaign(place, tasks=1)
    async with replayed(place.path) as backend:
        app = NodusApp(backend)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(app, pilot, lambda: "● Completed" in screen_text(app))
            for key in ("x", "e", "r", "l", "u"):
                await press(app, pilot, key)
                assert "This is a recording of local at /here" in screen_text(app)
                assert len(app.screen_stack) == 2, "no dialog opens"
            footer = screen_lines(app)[-1]
            assert "P pause" in footer
            assert "kill" not in footer
            await press(app, pilot, "question_mark")
            help_text = screen_text(app)
            assert "kill" not in help_text.lower().split("signs")[0]
            await press(app, pilot, "escape", "q")
        assert app.return_value == 0


async def test_what_of_a_recording_is_damaged_is_told_when_it_is_opened(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        await watched_campaign(place, tasks=1)
    place.path.write_bytes(place.path.read_bytes()[:-10])
    async with replayed(place.path) as backend:
        app = NodusApp(backend)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(app, pilot, lambda: "the file is cut off within this line" in " ".join(screen_text(app).split()))


async def test_elsewhere_the_keys_of_a_recording_do_nothing(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        app = NodusApp(place.local)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(app, pilot, lambda: "No campaigns yet." in screen_text(app))
            before = screen_text(app)
            await press(app, pilot, "P", "right", "at")
            assert screen_text(app) == before
            assert not isinstance(app.backend, ReplayBackend)


async def test_foreign_text_of_a_recording_is_text(tmp_path: Path) -> None:
    lines: tuple[dict[str, object], ...] = (
        {"recording": "nodus-tui", "format": 1, "startedAt": BEGAN.isoformat(), "program": "1", "of": "\x1b[31mred\x1b]0;x\x07\u202e[b]"},
        {"t": 0, "what": "snapshot", "answer": {"cursor": 1, "groups": [{"metadata": {"name": "\x1b"}}, 7], "jobs": "\x1b"}},
        {"t": 1, "what": "end", "why": "\x1b"},
    )
    path = tmp_path / "hostile"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="ascii")
    async with replayed(path) as backend:
        app = NodusApp(backend)
        async with app.run_test(size=(120, 30)) as pilot:
            await until(app, pilot, lambda: "No campaigns yet." in screen_text(app))
            assert "estimates a spec file" not in screen_text(app)
            await press(app, pilot, "x")
            assert "recording of ␛[31mred␛]0;x␇<U+202E>[b]" in screen_text(app)
            assert not {"\x1b", "\x07", "\u202e"} & set(wire_text(app))


async def test_a_conversation_that_was_not_recorded_is_neither_asked_for_again_nor_told_to_be_empty(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        await watched_campaign(place, tasks=1)
    async with replayed(place.path, speed=inf) as backend:
        app = NodusApp(backend, start_at="hello", clock=lambda: NOW)
        async with app.run_test(size=(160, 45)) as pilot:
            await until(app, pilot, lambda: "● Completed" in screen_text(app))
            await press(app, pilot, "enter")
            await until(app, pilot, lambda: "so the recording does not hold it." in " ".join(screen_text(app).split()))
            shown = screen_text(app)
            assert "asked for again" not in shown
            assert "Known with the conversation." in shown
            assert "No model call" not in shown
            assert "other" not in shown
