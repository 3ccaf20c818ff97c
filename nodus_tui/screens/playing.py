"""Moving about in a recording: what its keys do, the same in every view."""

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.playback import Replayed, place_text
from nodus_tui.screens.base import ViewScreen
from nodus_tui.view_state.cells import Tone, line
from nodus_tui.view_state.playback_words import next_speed, place_of, speed_text, step_of
from nodus_tui.widgets.dialogs import PromptDialog


async def play(screen: ViewScreen, action_id: str) -> None:
    """Do one of the actions that exist in a recording only."""
    backend = screen.services.backend
    if not isinstance(backend, Replayed):
        raise TypeError("this backend shows no recording")
    playback = backend.playback
    if action_id == "pause":
        if playback.ended and not playback.paused:
            await move_to(screen, 0.0)
        else:
            backend.pause(paused=not playback.paused)
    elif action_id in {"faster", "slower"}:
        backend.set_speed(next_speed(playback.speed, 1 if action_id == "faster" else -1))
        screen.notice(f"Speed: {speed_text(backend.playback.speed)}", Tone.MUTED)
    elif action_id in {"ahead", "behind"}:
        await move_to(screen, playback.place + step_of(playback) * (1 if action_id == "ahead" else -1))
    else:
        await _ask_for_place(screen, backend)
    screen.show()


async def _ask_for_place(screen: ViewScreen, backend: Replayed) -> None:
    length = backend.playback.length

    def problem(typed: str) -> str:
        if place_of(typed, length) is not None:
            return ""
        return f"Type a place up to {place_text(length)}, such as 90, 1:30 or 50%."

    lines = (line(f"The recording is {place_text(length)} long and stands at {place_text(backend.playback.place)}."),)
    answer = await screen.app.push_screen_wait(
        PromptDialog("Go to which place?", lines, value=place_text(backend.playback.place), problem=problem)
    )
    place = place_of(answer[0], length) if answer is not None else None
    if place is not None:
        await move_to(screen, place)


async def move_to(screen: ViewScreen, place: float) -> None:
    """Show what was at a place, in all views that are open."""
    backend = screen.services.backend
    if not isinstance(backend, Replayed):
        raise TypeError("this backend shows no recording")
    backend.jump(place)
    try:
        await screen.services.feed.reload()
    except NodusError as error:
        screen.notice(f"! {error.detail}", Tone.BAD)
        return
    for each in screen.app.screen_stack:
        if isinstance(each, ViewScreen):
            each.reread()
    screen.show()
