"""The line that tells how a recording stands, and the places that a person types."""

from math import inf

import pytest

from nodus_tui.contract.playback import Playback, place_text
from nodus_tui.view_state.cells import line_width, plain
from nodus_tui.view_state.playback_words import next_speed, place_of, playback_line, step_of


def playback(place: float = 42, *, length: float = 190, speed: float = 4, paused: bool = False, loops: bool = False) -> Playback:
    return Playback(of="local at /here", place=place, length=length, speed=speed, paused=paused, loops=loops)


def test_the_line_says_sign_place_bar_speed_and_of_what_as_far_as_they_fit() -> None:
    assert plain(playback_line(playback(), 120)) == " ►  0:42 / 3:10 ████▍░░░░░░░░░░░░░░░  4×  recording of local at /here"
    assert plain(playback_line(playback(paused=True), 120)).startswith(" ‖ paused  0:42")
    assert plain(playback_line(playback(190), 120)).startswith(" ■ ended  3:10 / 3:10 ████████████████████ ")
    assert "4×, again and again" in plain(playback_line(playback(190, loops=True), 120))
    assert "as fast as it goes" in plain(playback_line(playback(speed=inf), 120))
    for width in range(60, 120):
        assert line_width(playback_line(playback(), width)) <= width
    assert plain(playback_line(playback(0, length=0), 80)).startswith(" ■ ended  0:00 / 0:00")


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        *(("90", 90), ("1:30", 90), (" 0:00:10 ", 10), ("50%", 95), ("100%", 190), ("0.5", 0.5)),
        *((nonsense, None) for nonsense in ("3:11", "-1", "x", "", "nan", "inf", "1:x", "%")),
    ],
)
def test_a_place_is_typed_as_people_write_it(typed: str, place: float | None) -> None:
    assert place_of(typed, 190) == place


def test_speeds_have_ends_and_steps_suit_the_length() -> None:
    assert [next_speed(1, 1), next_speed(1, -1), next_speed(3, 1), next_speed(3, -1)] == [2, 0.5, 4, 2]
    assert [next_speed(64, 1), next_speed(inf, 1), next_speed(inf, -1), next_speed(0.25, -1)] == [inf, inf, 64, 0.25]
    assert [step_of(playback()), step_of(playback(length=4000))] == [5, 100]
    assert [place_text(seconds) for seconds in (0, 59.9, 61, 3661)] == ["0:00", "0:59", "1:01", "1:01:01"]
