"""What a scheduler is needed for is named: a stalled group as well as one at work, and no more than a few by name."""

from box_records import box
from console_records import group

from nodus_tui.contract.phases import GroupPhase
from nodus_tui.remote.holding import Held, held_words


def test_a_stalled_group_and_a_sandbox_hold_it_and_what_is_at_rest_does_not() -> None:
    groups = (
        group("capped", phase=GroupPhase.STALLED),
        group("done", phase=GroupPhase.COMPLETED),
        group("rests", phase=GroupPhase.INTERRUPTED),
    )
    held = Held(groups, (box(), box("old", phase="Stopped"))).names
    assert held == ["group capped (Stalled)", f"sandbox {box().name} (Running)"]
    assert held_words(held) == f"group capped (Stalled), sandbox {box().name} (Running)"
    assert held_words([*held, *held]).endswith(" and 1 more")
